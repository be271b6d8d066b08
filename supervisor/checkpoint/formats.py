"""Checks of single files: is what the format promises there. Nothing is unpickled, nothing is loaded into memory."""

import json
import struct
import zipfile
import zlib
from typing import IO, Final

from supervisor.checkpoint.store import Broken, Deadline, Entry, Store

_CRC_BYTES: Final = 64 << 20
"""Archives up to this size have their checksums verified; larger ones only their end record and sizes."""
_HEADER_BYTES: Final = 100 << 20
"""The format's own limit."""
_CHUNK_BYTES: Final = 1 << 20
_ZIP: Final = b"PK\x03\x04"
_LOCAL_HEADER_BYTES: Final = 30
_TORCH: Final = (".pt", ".pth", ".bin", ".ckpt")


def check_file(store: Store, entry: Entry, deadline: Deadline) -> tuple[str, bool]:
    """The kind (torch, safetensors or file), and whether the format shows that the file has its end.

    Raises `Broken` for a file that is not whole.
    """
    deadline()
    if entry.size == 0:
        raise Broken("incomplete", f"{entry.name} is empty")
    with store.open(entry.path) as file:
        if entry.name.endswith(".safetensors"):
            _check_safetensors(file, entry)
            return "safetensors", True
        if file.read(len(_ZIP)) == _ZIP:
            return _check_zip(file, entry, deadline), True
    if entry.name.endswith(".npz"):
        raise Broken("corrupt", f"{entry.name} is no zip archive")
    return "torch" if entry.name.endswith(_TORCH) else "file", False


def is_checkable(name: str) -> bool:
    """A file that `check_file` knows more about than its size."""
    return name.endswith((".safetensors", ".npz", *_TORCH))


def _check_safetensors(file: IO[bytes], entry: Entry) -> None:
    """Header and data together are exactly as long as the file."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > entry.size - 8:  # noqa: PLR2004 - the length stands in 8 bytes
        raise Broken("incomplete", f"{entry.name} ends within its header")
    if length > _HEADER_BYTES:
        raise Broken("corrupt", f"{entry.name} has a header of {length} bytes")
    try:
        header = json.loads(file.read(length))
        end = max((one["data_offsets"][1] for key, one in header.items() if key != "__metadata__"), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as exc:
        raise Broken("corrupt", f"{entry.name} has a header that is no JSON of tensors") from exc
    if 8 + length + end != entry.size:
        verdict = "incomplete" if 8 + length + end > entry.size else "corrupt"
        raise Broken(verdict, f"{entry.name} has {entry.size} bytes instead of {8 + length + end}")


def _check_zip(file: IO[bytes], entry: Entry, deadline: Deadline) -> str:
    """The end record is there, all members lie within the file and, in a small archive, have their checksums."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            for member in members:
                if member.header_offset + _LOCAL_HEADER_BYTES + member.compress_size > archive.start_dir:
                    raise Broken("corrupt", f"{entry.name}: member {member.filename} does not fit into the file")
            if not members:
                raise Broken("incomplete", f"{entry.name} has no members")
            if max(entry.size, sum(member.file_size for member in members)) <= _CRC_BYTES:
                _check_sums(archive, members, entry, deadline)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as exc:
        raise Broken("incomplete", f"{entry.name} has no end record") from exc
    is_torch = any(member.filename.endswith("data.pkl") for member in members)
    return "torch" if is_torch else "file"


def _check_sums(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], entry: Entry, deadline: Deadline) -> None:
    for member in members:
        deadline()
        try:
            with archive.open(member) as data:
                while data.read(_CHUNK_BYTES):
                    pass
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as exc:
            raise Broken("corrupt", f"{entry.name}: member {member.filename}: {exc}") from exc
