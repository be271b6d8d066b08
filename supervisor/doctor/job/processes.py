"""Which processes live on this node, as /proc tells."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from supervisor.doctor.job.answers import Pid

_STARTED: Final = 19
"""Of the fields behind the command's name in /proc/PID/stat."""


def pid_of(number: int) -> Pid | None:
    """The living process of this number; None: there is none, or only a zombie."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        if fields[0] not in "ZX":
            return Pid(pid=number, started=int(fields[_STARTED]))
    return None


def is_alive(process: Pid) -> bool:
    """It, and not another one of its number."""
    return pid_of(process.pid) == process


def has_agent(job_id: str) -> bool:
    """An agent of this job runs on this node."""
    mark = f"agent-{job_id}.json".encode()
    return any(_is_agent(entry, mark) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _is_agent(entry: Path, mark: bytes) -> bool:
    with suppress(OSError):
        words = (entry / "cmdline").read_bytes().split(b"\0")
        # srun has the agent's words among its own.
        return not words[0].endswith(b"srun") and any(word.endswith(mark) for word in words)
    return False
