"""Our modules, and those of others that they import, as one tar: what a node reads in one stream."""

import importlib.util
import io
import os
import py_compile
import struct
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
"""The package `supervisor` that this process has loaded."""
_MODULES: Final = (".py", ".so")


def tar_of(files: Iterable[tuple[str, str]]) -> bytes:
    """The tar with each file under its name; the same installation gives the same bytes. Raises `OSError`."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in sorted(files):
            tar.addfile(_entry(name, path), io.BytesIO(Path(path).read_bytes()))
    return content.getvalue()


def own_files(rooms: Iterable[str], *, suffixes: tuple[str, ...] = _MODULES) -> Iterator[tuple[str, str]]:
    """Name in the tar and path of each file of these rooms. A room is a folder of the package, or a module in it."""
    for room in rooms:
        place = PACKAGE / room
        files = _below(str(place), suffixes) if place.is_dir() else [f"{place}.py"]
        yield from _named(files, PACKAGE.parent)


def files_of(modules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The same for modules of others. One that is not installed is left out: whoever misses it says so itself."""
    for module in modules:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        if spec.submodule_search_locations:
            yield from _named(_below(str(origin.parent), _MODULES), origin.parents[1])
        else:
            yield from _named([str(origin)], origin.parent)


def with_compiled(files: Iterable[tuple[str, str]], scratch: Path | None = None) -> Iterator[tuple[str, str]]:
    """Each file, and its compiled form where it is there and fits: compiling 60 modules takes each node 0.5 s.

    `scratch`: a folder for the compiled form of those that have none, as after an installation by uv.
    """
    for number, (name, path) in enumerate(files):
        yield name, path
        if path.endswith(".py"):
            cached = Path(importlib.util.cache_from_source(path))
            compiled = cached if _fits(cached, Path(path)) or scratch is None else scratch / f"{number}.pyc"
            if compiled is not cached:
                with suppress(py_compile.PyCompileError):  # a module for another Python, or a test's
                    py_compile.compile(path, cfile=str(compiled), doraise=True)
            if _fits(compiled, Path(path)):
                yield str(Path(name).parent / "__pycache__" / cached.name), str(compiled)


def _entry(name: str, path: str) -> tarfile.TarInfo:
    facts = Path(path).stat()
    entry = tarfile.TarInfo(name)
    entry.size = facts.st_size
    entry.mtime = int(facts.st_mtime)
    entry.mode = 0o600
    return entry


def _below(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in {"__pycache__", "tests"}]
        for name in names:
            if not suffixes or name.endswith(suffixes):
                yield f"{parent}/{name}"


def _named(paths: Iterable[str], root: Path) -> Iterator[tuple[str, str]]:
    above = len(f"{root}/")
    for path in paths:
        yield path[above:], path


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
