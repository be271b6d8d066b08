"""Follows files that the job writes: bytes in, nothing written, nothing held back on the event loop."""

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from supervisor.ledger.run_folder import OUTPUT_FILES

_CHUNK_BYTES = 1 << 20
_DESCRIPTORS = (1, 2)


@dataclass(slots=True)
class Tail:
    """One growing file, read on from `offset`."""

    path: Path
    offset: int = 0
    is_behind: bool = False
    """The last read was full: there is more already."""

    def read(self) -> bytes:
        """What was added since, at most 1 MiB; empty where there is nothing or the file cannot be read.

        A file that became shorter was truncated and is read from its start.
        """
        self.is_behind = False
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self.offset:
                    self.offset = 0
                file.seek(self.offset)
                data = file.read(_CHUNK_BYTES)
        except OSError:
            return b""
        self.offset += len(data)
        self.is_behind = len(data) == _CHUNK_BYTES
        return data

    def to_end(self) -> None:
        """Pass over what is there already."""
        with contextlib.suppress(OSError):
            self.offset = self.path.stat().st_size


def job_output(folder: Path) -> list[Path]:
    """The job's own output: the regular files behind this process's stdout and stderr, as Slurm opened them.

    What goes to a terminal or into a pipe `supervise run` keeps in the run folder.
    """
    found: dict[tuple[int, int], Path] = {}
    kept = [folder / name for name in OUTPUT_FILES]
    for descriptor in _DESCRIPTORS:
        with contextlib.suppress(OSError):
            what = os.fstat(descriptor)
            if stat.S_ISREG(what.st_mode):
                path = Path(f"/proc/self/fd/{descriptor}").readlink()
                found.setdefault((what.st_dev, what.st_ino), path)
    return [*found.values(), *(path for path in kept if path.exists())]
