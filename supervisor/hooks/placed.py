"""What of ours slurmd and systemd may start as root on this machine: where it lies, and how it is known."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path("/")
"""Where the machine's own files begin."""
_HOOKS: Final = ("etc/slurm/prolog.d/50-supervise", "etc/slurm/epilog.d/50-supervise", "etc/slurm/healthcheck")
"""Where docs/hooks.md puts them."""
_OWN_NAME: Final = "50-supervise"
_MARK: Final = b"-m supervisor.cli.main hook"
"""In each of our hooks. A site's own health check may well speak of supervising."""
_UNIT_FOLDERS: Final = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
_UNIT_PREFIX: Final = "supervise-"
_UNIT_KINDS: Final = frozenset({".service", ".timer"})
_MOST: Final = 1_000_000


def hooks() -> tuple[Path, ...]:
    """Our hooks that are there."""
    return tuple(path for path in (ROOT / name for name in _HOOKS) if is_hook(path))


def is_hook(path: Path) -> bool:
    """It is one of ours. One that we may not read is ours if it is called so: nobody must take it for absent."""
    try:
        with path.open("rb") as file:
            return _MARK in file.read(_MOST)
    except PermissionError:
        return path.name == _OWN_NAME
    except OSError:
        return False


def units() -> tuple[Path, ...]:
    """Our units for systemd, each once: one folder may be a link to another."""
    found = {path.name: path for folder in reversed(_UNIT_FOLDERS) for path in _units_in(ROOT / folder)}
    return tuple(found[name] for name in sorted(found))


def _units_in(folder: Path) -> Iterator[Path]:
    try:
        entries: Iterable[Path] = list(folder.iterdir())
    except OSError:
        return
    yield from (path for path in entries if path.name.startswith(_UNIT_PREFIX) and path.suffix in _UNIT_KINDS)
