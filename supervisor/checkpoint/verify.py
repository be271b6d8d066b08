"""Whether one candidate is whole."""

from dataclasses import dataclass
from typing import Final

from supervisor.checkpoint.folders import check_folder
from supervisor.checkpoint.formats import check_file
from supervisor.checkpoint.listing import Candidate
from supervisor.checkpoint.store import Broken, Deadline, Entry, Store
from supervisor.errors import CheckpointsUnreadable
from supervisor.model.facts import Checkpoint

_FRESH_S: Final = 5.0
"""A file without an end of its own that changed this recently may still be growing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A candidate's verdict and what it was made of."""

    checkpoint: Checkpoint
    files: int = 0
    is_proven: bool = False
    """Its format shows its own end; otherwise only size and age were looked at."""


def verify(store: Store, candidate: Candidate, *, now: float, deadline: Deadline) -> Checked:
    """Look at one candidate. Never raises for what it finds there, only when the time is over."""
    if candidate.is_unfinished:
        return _checked(store, candidate, "being_written", why="its name says that it was being written")
    try:
        kind, files, is_proven = _look(store, candidate, deadline)
    except Broken as exc:
        return _checked(store, candidate, exc.verdict, why=str(exc))
    except FileNotFoundError:
        return _checked(store, candidate, "gone", why="it vanished while it was looked at")
    except CheckpointsUnreadable as exc:
        deadline()
        return _checked(store, candidate, "unreadable", why=str(exc))
    age = _age(files, now)
    if not is_proven and age is not None and age < _FRESH_S:
        return _checked(store, candidate, "being_written", kind, files, why=f"changed {age:.1f} s ago")
    return _checked(store, candidate, "whole", kind, files, is_proven=is_proven)


def _look(store: Store, candidate: Candidate, deadline: Deadline) -> tuple[str, list[Entry], bool]:
    first = candidate.entries[0]
    if first.is_folder:
        kind, files = check_folder(store, first.path, deadline)
        return kind, files, kind == "dcp"
    found = [check_file(store, entry, deadline) for entry in candidate.entries]
    return found[0][0], list(candidate.entries), all(is_proven for _, is_proven in found)


def _age(files: list[Entry], now: float) -> float | None:
    """Seconds since the last change; a store whose clock is ahead makes it 0."""
    times = [file.modified for file in files if file.modified is not None]
    return max(0.0, now - max(times)) if times else None


def _checked(
    store: Store,
    candidate: Candidate,
    verdict: str,
    kind: str = "",
    files: list[Entry] | None = None,
    *,
    why: str = "",
    is_proven: bool = False,
) -> Checked:
    files = files or []
    checkpoint = Checkpoint(
        path=store.address(candidate.path),
        step=candidate.step,
        kind=kind or ("folder" if candidate.entries[0].is_folder else "file"),
        verdict=verdict,  # type: ignore[arg-type]  # Broken carries one of its words
        why=why,
        size_bytes=sum(file.size for file in files),
    )
    return Checked(checkpoint=checkpoint, files=len(files), is_proven=is_proven)
