"""What the agent costs its node."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from product import packages
from story.example import lay_out, supervise, user_folder
from story.job import Job, submit
from story.waiting import wait_for
from testbed import processes
from testbed.api import Testbed
from testbed.layout import Layout

from bench.measure import Measure

_RANKS = 8
_SETTLE_S, _WATCH_S = 5.0, 20.0
_MARK = b"agent-"
"""Part of the name of the file that an agent is started with."""
_MEGABYTE = 1_000_000
_TRACE_S = 5
_OWN_TO_THE_NODE = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/tmp", "/run", "/bin")  # noqa: S108


def measures(bed: Testbed, python: Path) -> Iterator[Measure]:
    """Core, memory and opens of the agent beside eight ranks."""
    folder = user_folder(bed, "agents")
    lay_out(folder)
    words = ["-N1", f"--ntasks-per-node={_RANKS}", "train.sbatch", "--steps", "100000", "--step-seconds", "0.2"]
    job = submit(bed, folder, supervise(python, ["-q"], words), env={"PYTHON": str(python)})
    try:
        job.wait_output("^step 10 ")
        yield from _core_and_memory(bed)
        yield _opens(bed, job)
    finally:
        job.cancel()


def _agent(bed: Testbed) -> int:
    """The pid of the agent itself: not that of srun, which carries the same words."""

    def found() -> int | None:
        pids = [one.pid for one in processes.all_of(Layout(bed.name)) if _is_agent(one.pid)]
        return pids[0] if pids else None

    return wait_for(found, "an agent", 30)


def _is_agent(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].rpartition(b"/")[2].startswith(b"python") and any(_MARK in word for word in words)


def _core_and_memory(bed: Testbed) -> Iterator[Measure]:
    pid = _agent(bed)
    time.sleep(_SETTLE_S)  # its start is another measure
    began, before = time.monotonic(), _cpu_s(pid)
    time.sleep(_WATCH_S)
    share = (_cpu_s(pid) - before) / (time.monotonic() - began)
    yield Measure(measure=f"agent beside {_RANKS} ranks", value=share * 100, unit="% core", limit=1)
    yield Measure(measure="agent's memory", value=_resident_bytes(pid) / _MEGABYTE, unit="MB", limit=45)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def _resident_bytes(pid: int) -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _opens(bed: Testbed, job: Job) -> Measure:
    """A second agent, started as the first one was, under strace: which files it opens that every node would open."""
    packages.install(["strace"])
    pid = _agent(bed)
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    pairs = [pair for pair in Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0") if "=" in pair]
    trace = job.folder / "trace"
    traced = ["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", str(trace), *words]
    as_user = ["setpriv", "--reuid=alice", "--regid=alice", "--clear-groups", "env", "-i", *pairs]
    bed.exec(job.batch_host(), ["timeout", str(_TRACE_S), *as_user, *traced], check=False)
    opened = [
        match[1] for match in re.finditer(r'open(?:at)?\([^"]*"([^"]+)".* = \d+$', trace.read_text(), re.MULTILINE)
    ]
    shared = [path for path in opened if path.startswith("/") and not path.startswith(_OWN_TO_THE_NODE)]
    return Measure(
        measure="agent's opens of shared files", value=len(shared), unit="", limit=50, beside={"all opens": len(opened)}
    )
