"""What `supervise sbatch` promises on stderr once the job is in. Pure."""

import textwrap
from collections.abc import Sequence
from typing import Final

from supervisor.ledger.run_file import RunFile

_WIDTH: Final = 118
_INDENT: Final = " " * len("supervise: ")


def promise(run: RunFile, *, job_id: str, checkpoints: str, notes: Sequence[str] = ()) -> str:
    """The lines: what it will do and what not, the checkpoints, how to watch. `notes` are warnings, last."""
    watched = job_id or run.run_id
    sentences = [
        f"run {run.run_id}; {_acts(run)}",
        *_array(run),
        *([checkpoints] if checkpoints else []),
        f"Watch: supervise status {watched}    Afterwards: supervise why {watched}",
        *notes,
    ]
    lines = [line for sentence in sentences for line in _wrapped(sentence)]
    return "supervise: " + f"\n{_INDENT}".join(lines)


def _wrapped(sentence: str) -> list[str]:
    """Wrapped to the usual width; paths are never broken, and the gap between two hints stays."""
    return textwrap.wrap(
        sentence,
        _WIDTH - len(_INDENT),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


def _acts(run: RunFile) -> str:
    settings = run.settings
    if settings.mode == "observe":
        return "watches and explains, but stops and restarts nothing (--mode observe)."
    limits = [
        f"at most {settings.max_restarts} restarts",
        f"{settings.max_restarts_without_progress} in a row without progress",
        f"at most {settings.max_lost_share:.0%} of the node-hours lost",
    ]
    acts = f"acts on node, network and GPU faults by running the script again from line 1 ({', '.join(limits)})"
    return f"{acts}; stops on faults of the program (one that may be chance gets one more try).{_spares(run)}"


def _spares(run: RunFile) -> str:
    spares = run.settings.spares
    if not spares:
        return ""
    are = "1 node is a spare and waits" if spares == 1 else f"{spares} nodes are spares and wait"
    return f" Of {run.nodes + spares} nodes {are} unused until needed; that costs node-hours."


def _array(run: RunFile) -> list[str]:
    return [f"Each task of the array is a run of its own: {run.run_id}-<task>."] if run.array else []
