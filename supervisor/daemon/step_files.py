"""What ranks print where it does not come into the job's output: the files that the script's own sruns name.

The sruns are looked for while they run, and the files are read when an incident needs them.
"""

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from supervisor.diagnose.bundle import Log
from supervisor.model.ids import Rank
from supervisor.slurm.step_output import Pattern, by_rank, patterns

LOOKS_S: Final = (0.3, 1.0, 3.0, 10.0, 60.0)
"""Pauses between looks at the script's processes; the last one is repeated."""
_PROCESSES: Final = 500
_PATTERNS: Final = 16
_FILES: Final = 4096
_RANKS: Final = 128
_TAIL_BYTES: Final = 1 << 16
_LINES: Final = 200
_ARGUMENTS_BYTES: Final = 1 << 16
_SKEW_S: Final = 2.0
"""Between this node's clock and the filesystem's."""


@dataclass(slots=True)
class StepFiles:
    """The files of one attempt."""

    began_at: float = 0.0
    """Files that were last written before are of an earlier attempt."""
    _patterns: dict[Pattern, None] = field(default_factory=dict)
    _due_at: float = 0.0
    _looks: int = 0

    def begin(self, now: float) -> None:
        """A new attempt: what earlier ones wrote to is forgotten."""
        self._patterns.clear()
        self.began_at, self._due_at, self._looks = now, now + LOOKS_S[0], 0

    def look(self, script_pid: int, now: float) -> None:
        """Note where the script's living sruns write to, if it is time for that."""
        if not script_pid or now < self._due_at:
            return
        self._looks += 1
        self._due_at = now + LOOKS_S[min(self._looks, len(LOOKS_S) - 1)]
        for argv, cwd in _sruns(script_pid):
            for pattern in patterns(argv, cwd):
                if len(self._patterns) < _PATTERNS:
                    self._patterns.setdefault(pattern)

    @property
    def is_used(self) -> bool:
        """Some srun named files."""
        return bool(self._patterns)

    def logs(self, first: Iterable[Rank]) -> tuple[Log, ...]:
        """The last lines of each rank, these ranks first, and of what all wrote into one file. Blocks."""
        files = by_rank(dict(self._written()))
        shared = files.pop(-1, [])
        order = [int(rank) for rank in dict.fromkeys(first) if rank in files]
        chosen = dict.fromkeys([*order, *sorted(files)][:_RANKS])
        ranks = [
            Log(name=f"ranks/{rank}.log", lines=lines, kind="ranks", rank=Rank(rank))
            for rank in chosen
            if (lines := _last_lines(files[rank]))
        ]
        together = _last_lines(shared)
        return (*ranks, *([Log(name="step.log", lines=together)] if together else []))

    def _written(self) -> Iterator[tuple[str, Pattern]]:
        """In this attempt. The run's own folder is never among them: nobody sends ranks' output there."""
        for pattern in self._patterns:
            for path in glob.glob(pattern.glob)[:_FILES]:  # noqa: PTH207  # texts, as srun has them
                with suppress(OSError):
                    if Path(path).is_file() and Path(path).stat().st_mtime >= self.began_at - _SKEW_S:
                        yield path, pattern


def _last_lines(paths: Iterable[str]) -> tuple[str, ...]:
    lines: list[str] = []
    for path in paths:
        with suppress(OSError), Path(path).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            found = file.read(_TAIL_BYTES).decode(errors="replace").split("\n")
            whole = found[1:] if size > _TAIL_BYTES else found
            lines += [line for line in whole if line][-_LINES:]
    return tuple(lines)


def _sruns(script_pid: int) -> Iterator[tuple[list[str], str]]:
    """Command line and working folder of each srun below the script."""
    todo, seen = [script_pid], 0
    while todo and seen < _PROCESSES:
        pid, seen = todo.pop(), seen + 1
        with suppress(OSError):
            todo += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            line = Path(f"/proc/{pid}/cmdline").read_bytes()[:_ARGUMENTS_BYTES]
            argv = line.decode(errors="surrogateescape").split("\0")
            if argv[0].rpartition("/")[2] == "srun":
                yield argv[:-1], str(Path(f"/proc/{pid}/cwd").readlink())
