"""Which run folders nobody needs any more: the run is over, and nothing was written for a long time."""

import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supervisor.errors import NoSuchRun, RunFolderUnusable, UsageError
from supervisor.ledger.find_run import list_runs
from supervisor.ledger.removal import taken, why_not_ours
from supervisor.ledger.run_folder import FOLDER, RUN_FILE
from supervisor.report.view import FINISHED, RunView, read_view
from supervisor.report.words import duration
from supervisor.slurm.commands import clean_environment
from supervisor.slurm.submit import queue_query

_DAY_S: Final = 86_400.0
_DAYS: Final = re.compile(r"([1-9]\d{0,4})d")
_ASK_LIMIT_S: Final = 10.0
_NUMBER: Final = re.compile(r"^(\d+)\|", re.MULTILINE)

AskQueue = Callable[[], frozenset[str] | None]
"""As `jobs_in_queue`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One run folder."""

    folder: Path
    why_kept: str
    """Empty: it may go."""
    is_young: bool = False
    """Kept for its age alone."""
    size_bytes: int = 0


def parse_days(text: str) -> float:
    """`30d` in seconds; a day at least. Raises `UsageError`."""
    match = _DAYS.fullmatch(text)
    if match is None:
        raise UsageError(f"--older {text}: a number of days, such as 30d")
    return int(match[1]) * _DAY_S


def folders_of(paths: Sequence[Path]) -> list[Path]:
    """The run folders that these paths mean: a run folder, one that holds some, or one with `.supervise` in it.

    Without paths all that are known here. Raises `UsageError` for a path that is a link or means none.
    """
    if not paths:
        return list_runs(workdir=Path.cwd(), env=os.environ)
    return list(dict.fromkeys(folder for path in paths for folder in _folders_of(path)))


def judged(folder: Path, *, older_s: float, now: float, ask: AskQueue) -> Judged:
    """Whether this folder may go, looked at just now."""
    if why := why_not_ours(folder):
        return Judged(folder=folder, why_kept=why)
    try:
        view, size = read_view(folder), taken(folder)
    except (NoSuchRun, RunFolderUnusable, OSError) as exc:
        return Judged(folder=folder, why_kept=str(exc))
    if now - size.changed_at < older_s:
        why = f"last written {duration(max(0.0, now - size.changed_at))} ago"
        return Judged(folder=folder, why_kept=why, is_young=True, size_bytes=size.size_bytes)
    return Judged(folder=folder, why_kept=_why_not_over(view, ask), size_bytes=size.size_bytes)


def jobs_in_queue() -> frozenset[str] | None:
    """The user's jobs that Slurm has not ended, of arrays their number; None: it gives no answer."""
    try:
        answer = subprocess.run(
            queue_query(), env=clean_environment(os.environ), capture_output=True, timeout=_ASK_LIMIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return frozenset(_NUMBER.findall(answer.stdout.decode(errors="replace")))


def _folders_of(path: Path) -> Iterator[Path]:
    place = path.absolute()
    if place.is_symlink():
        raise UsageError(f"{path} is a link: name the folder itself")
    if (place / RUN_FILE).is_file():
        yield place
        return
    inner = place / FOLDER
    base = inner if inner.is_dir() and not inner.is_symlink() else place
    found = [Path(entry) for entry in _scanned(base) if _is_folder(entry) and (Path(entry) / RUN_FILE).is_file()]
    if not found:
        raise UsageError(f"{path} holds no run folders")
    yield from sorted(found)


def _scanned(base: Path) -> list["os.DirEntry[str]"]:
    try:
        return list(os.scandir(base))
    except OSError as exc:
        raise UsageError(f"{base} cannot be read: {exc.strerror}") from exc


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    return stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode)


def _why_not_over(view: RunView, ask: AskQueue) -> str:
    """Empty where the run has ended for good. What its folder does not tell only Slurm can."""
    if view.status is not None and view.status.stage == FINISHED and not view.expected_job:
        return ""
    jobs = {job.partition("_")[0] for job in (*view.jobs, view.expected_job) if job}
    if not jobs:
        return "its supervisor never told its end, and there is no job to ask Slurm about"
    if view.cluster:
        return f"its supervisor never told its end, and job {max(jobs)} is of cluster {view.cluster}"
    queue = ask()
    if queue is None:
        return f"its supervisor never told its end, and Slurm gives no answer about job {max(jobs)}"
    living = sorted(jobs & queue)
    return f"job {living[0]} is in the queue" if living else ""
