"""The tar that agents run from (see `boot.py`): their modules and what these import, and nothing else."""

import importlib.util
import io
import os
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from supervisor.errors import RunFolderUnusable

_OURS: Final = ("agent", "beat", "bus", "model", "selftest", "telemetry")
_THEIRS: Final = ("aiomqtt", "msgspec", "paho", "pynvml", "typing_extensions")
_SUFFIXES: Final = (".py", ".so")
BOOT: Final = Path(__file__).with_name("boot.py")
"""What a node runs: `python -I -S BOOT TAR CONFIG`."""


def build_runtime(path: Path) -> None:
    """Write the tar. The same installation gives the same bytes. Raises `RunFolderUnusable`.

    Not compressed: reading it is one stream, and unpacking costs no node more than it must. Modules that are not
    installed are left out; the agent then says itself what it misses.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, file in sorted(_files()):
            tar.addfile(_entry(name, file), io.BytesIO(file.read_bytes()))
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(content.getvalue())
        fresh.chmod(0o600)
        fresh.replace(path)
    except OSError as error:
        raise RunFolderUnusable(f"{path} cannot be written ({error.strerror}): agents cannot start from it") from error


def _entry(name: str, file: Path) -> tarfile.TarInfo:
    facts = file.stat()
    entry = tarfile.TarInfo(name)
    entry.size = facts.st_size
    entry.mtime = int(facts.st_mtime)
    entry.mode = 0o600
    return entry


def _files() -> Iterator[tuple[str, Path]]:
    """Each file with its name in the tar."""
    here = Path(__file__).parent.parent
    for file in (here / "__init__.py", here / "errors.py"):
        yield from _with_compiled(file, here.parent)
    for room in _OURS:
        yield from _below(here / room, here.parent)
    for module in _THEIRS:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        if spec.submodule_search_locations:
            yield from _below(origin.parent, origin.parent.parent)
        else:
            yield from _with_compiled(origin, origin.parent)


def _below(folder: Path, root: Path) -> Iterator[tuple[str, Path]]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in {"__pycache__", "tests"}]
        for name in names:
            if name.endswith(_SUFFIXES):
                yield from _with_compiled(Path(parent) / name, root)


def _with_compiled(file: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """The file, and its compiled form where it is there and fits: compiling 60 modules takes each node 0.5 s."""
    yield str(file.relative_to(root)), file
    if file.suffix == ".py":
        compiled = Path(importlib.util.cache_from_source(str(file)))
        if _fits(compiled, file):
            yield str(compiled.relative_to(root)), compiled


def _fits(compiled: Path, source: Path) -> bool:
    """Whether Python would believe the compiled file: it names its source's time and size."""
    try:
        with compiled.open("rb") as file:
            magic, flags, at, size = struct.unpack("<4sIII", file.read(16))
    except (OSError, struct.error):
        return False
    facts = source.stat()
    is_of_source = (at, size) == (int(facts.st_mtime) & 0xFFFFFFFF, facts.st_size & 0xFFFFFFFF)
    return bool(magic == importlib.util.MAGIC_NUMBER and flags == 0 and is_of_source)
