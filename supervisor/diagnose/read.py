"""Reads an evidence bundle (a folder) or a plain log into values: of a large file its beginning and its end."""

import contextlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from supervisor.diagnose.bundle import Bundle, Facts, Log, Place, short_pci
from supervisor.diagnose.signatures import Kind
from supervisor.errors import PayloadRefused
from supervisor.model.ids import NodeName, Rank

_HEAD_BYTES: Final = 4 << 20
_TAIL_BYTES: Final = 32 << 20
_CHUNK_BYTES: Final = 1 << 20
_JSON_BYTES: Final = 16 << 20
_FILES: Final = 20_000
_T = TypeVar("_T")
_FOLDERS: Final[dict[str, Kind]] = {"ranks": "ranks", "kernel": "kernel"}


def read_bundle(path: Path) -> Bundle:
    """The evidence in this folder, or in this file as the one log.

    Raises `PayloadRefused` for a JSON part of the wrong shape, `OSError` for what cannot be read.
    """
    if not path.is_dir():
        return Bundle(logs=tuple(_logs(path, name=path.name, kind="any")))
    logs = [log for folder, kind in _FOLDERS.items() for log in _folder_logs(path / folder, kind)]
    for file in sorted(path.glob("*.log")):
        logs += _logs(file, name=file.name, kind="slurm" if file.name == "slurm.log" else "any")
    return Bundle(logs=tuple(logs), facts=_facts(path), places=_places(path / "job.json"), gpus=_gpus(path / "nvml"))


def _folder_logs(folder: Path, kind: Kind) -> Iterator[Log]:
    for file in islice(sorted(folder.glob("*.log"), key=lambda one: (len(one.name), one.name)), _FILES):
        rank = Rank(int(file.stem)) if kind == "ranks" and file.stem.isdigit() else None
        node = NodeName(file.stem) if kind == "kernel" else None
        yield from _logs(file, name=f"{folder.name}/{file.name}", kind=kind, rank=rank, node=node)


def _logs(path: Path, *, name: str, kind: Kind, rank: Rank | None = None, node: NodeName | None = None) -> list[Log]:
    """The file as one log, or its first and last part as two."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        if size <= _HEAD_BYTES + _TAIL_BYTES:
            parts = [(1, file.read())]
        else:
            head = file.read(_HEAD_BYTES).rpartition(b"\n")[0]
            before = head.count(b"\n") + 1 + _newlines(file, len(head) + 1, size - _TAIL_BYTES)
            # The first line of the tail is cut somewhere: it goes.
            parts = [(1, head), (before + 2, file.read(_TAIL_BYTES).partition(b"\n")[2])]
    return [
        Log(name=name, lines=tuple(_lines(data)), first=first, kind=kind, rank=rank, node=node) for first, data in parts
    ]


def _newlines(file: BinaryIO, start: int, end: int) -> int:
    """How many lines end between two positions; leaves the file at the second."""
    file.seek(start)
    count, left = 0, end - start
    while left > 0 and (data := file.read(min(_CHUNK_BYTES, left))):
        count += data.count(b"\n")
        left -= len(data)
    return count


def _lines(data: bytes) -> list[str]:
    lines = data.decode(errors="replace").split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def _facts(folder: Path) -> Facts:
    """`facts.json`, completed by `slurm.json`."""
    facts = _json(folder / "facts.json", Facts) or Facts()
    slurm = _json(folder / "slurm.json", dict[str, Any]) or {}
    code, signal = _exit(str(slurm.get("exit_code", "")))
    return msgspec.structs.replace(
        facts,
        job_state=facts.job_state or str(slurm.get("state", "")),
        job_reason=facts.job_reason or str(slurm.get("reason", "")),
        exit_code=code if facts.exit_code is None and facts.exit_signal is None else facts.exit_code,
        exit_signal=signal if facts.exit_code is None and facts.exit_signal is None else facts.exit_signal,
    )


def _exit(text: str) -> tuple[int | None, int | None]:
    """Slurm's `code:signal`; a signal makes the code meaningless."""
    code, _, signal = text.partition(":")
    if signal.isdigit() and int(signal):
        return None, int(signal)
    return (int(code) if code.isdigit() else None), None


def _places(path: Path) -> dict[Rank, Place]:
    job = _json(path, dict[str, Any]) or {}
    with contextlib.suppress(msgspec.ValidationError):
        return {
            Rank(rank): place
            for rank, place in msgspec.convert(job.get("ranks", {}), dict[int, Place], strict=False).items()
        }
    return {}


def _gpus(folder: Path) -> dict[tuple[NodeName, str], int]:
    found: dict[tuple[NodeName, str], int] = {}
    for path in islice(sorted(folder.glob("*.json")), _FILES):
        gpus = (_json(path, dict[str, Any]) or {}).get("gpus")
        for index, gpu in gpus.items() if isinstance(gpus, dict) else ():
            if index.isdigit() and isinstance(gpu, dict) and isinstance(gpu.get("pci"), str):
                found[NodeName(path.stem), short_pci(gpu["pci"])] = int(index)
    return found


def _json(path: Path, shape: type[_T]) -> _T | None:
    """The file in this shape, None where there is none."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_JSON_BYTES), type=shape)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, msgspec.ValidationError) as exc:
        raise PayloadRefused(f"{path}: {exc}") from exc
