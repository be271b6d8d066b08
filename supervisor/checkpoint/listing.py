"""Which entries of a folder are checkpoints, by their names."""

from collections.abc import Iterable
from dataclasses import dataclass

from supervisor.checkpoint.names import is_aside, is_unfinished, step_of
from supervisor.checkpoint.store import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What bears one step's name: a folder, a file, or one file per rank."""

    step: int
    entries: tuple[Entry, ...]
    is_unfinished: bool = False
    """Its name says that it was being written."""

    @property
    def path(self) -> str:
        """What the script is told."""
        return self.entries[0].path


def candidates(entries: Iterable[Entry]) -> list[Candidate]:
    """All of them, newest step first; a finished one before an unfinished one of the same step."""
    groups: dict[tuple[int, bool], list[Entry]] = {}
    for entry in entries:
        step = step_of(entry.name)
        if step is None or (is_aside(entry.name) and not entry.is_folder):
            continue
        groups.setdefault((step, is_unfinished(entry.name)), []).append(entry)
    found = [_candidate(step, group, unfinished=unfinished) for (step, unfinished), group in groups.items()]
    return sorted(found, key=lambda one: (-one.step, one.is_unfinished))


def _candidate(step: int, group: list[Entry], *, unfinished: bool) -> Candidate:
    """A folder of a step counts before files of the same step."""
    folders = [entry for entry in group if entry.is_folder]
    entries = sorted(folders[:1] or group, key=lambda entry: entry.name)
    return Candidate(step=step, entries=tuple(entries), is_unfinished=unfinished)
