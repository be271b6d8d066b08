"""One file as pieces of bytes: plain, gzip or Zstandard; never a pipe, a device or what a link outside leads to."""

import stat
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

import msgspec

from supervisor.errors import PayloadRefused

_PIECE_BYTES: Final = 1 << 20
_UNPACKED_BYTES: Final = 1 << 16
"""At a time: where the file is damaged, what would have come with it is lost."""
_JSON_BYTES: Final = 16 << 20
_GZIP: Final = b"\x1f\x8b"
_WITH_HEADER: Final = 31
"""zlib's number for gzip's own header."""
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_DAMAGED: Final = "the compressed file is damaged, only what comes before that was read"
_CUT: Final = "the compressed file ends too early, what is there was read"
_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
_T = TypeVar("_T")


def check_regular(path: Path) -> None:
    """Raises `PayloadRefused` for what is no file with an end, `OSError` where there is none."""
    mode = path.stat().st_mode
    for is_kind, name in _KINDS:
        if is_kind(mode):
            raise PayloadRefused(f"{path} is {name}; write its output to a file first and name that")


def check_readable(path: Path) -> None:
    """Raises `OSError` for a file that may not be read, `PayloadRefused` where its packing cannot be opened here."""
    with path.open("rb") as file:
        if file.read(len(_ZSTD)) == _ZSTD:
            _zstd(path)


def is_within(path: Path, folder: Path) -> bool:
    """The file lies in the folder, also after links are followed."""
    try:
        return path.resolve(strict=True).is_relative_to(folder.resolve())
    except OSError:
        return False


class Pieces:
    """Opens the file and gives its bytes, uncompressed. A file that still grows is read to its present end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.damage = ""
        """Why a compressed file ended too early, once it was read."""

    def __call__(self) -> Iterator[bytes]:
        """The bytes; of a compressed file that is cut or damaged what comes before that."""
        with self._path.open("rb") as raw:
            head = raw.read(4)
            raw.seek(0)
            if head.startswith(_GZIP):
                yield from self._gunzipped(raw)
            elif head == _ZSTD:
                yield from self._unzstd(raw)
            else:
                yield from _read(raw, self._path.stat().st_size)

    def _gunzipped(self, raw: IO[bytes]) -> Iterator[bytes]:
        """All members of the file."""
        engine = zlib.decompressobj(wbits=_WITH_HEADER)
        data, is_within = b"", False
        while data := data or raw.read(_PIECE_BYTES // 8):
            try:
                yield engine.decompress(data, _PIECE_BYTES)
            except zlib.error:
                self.damage = _DAMAGED
                return
            data, is_within = engine.unconsumed_tail, not engine.eof
            if engine.eof:
                data, engine = engine.unused_data, zlib.decompressobj(wbits=_WITH_HEADER)
        if is_within:
            self.damage = _CUT

    def _unzstd(self, raw: IO[bytes]) -> Iterator[bytes]:
        """All frames of the file."""
        opened, error = _zstd(self._path)
        try:
            file = opened(raw)
            while data := file.read1(_UNPACKED_BYTES):  # what there is: a longer read loses what comes before a damage
                yield data
        except EOFError:
            self.damage = _CUT
        except error:
            self.damage = _DAMAGED


def _read(file: IO[bytes], most: int) -> Iterator[bytes]:
    """Up to so many bytes: a program may write faster than we read, and we would never come to the end."""
    while data := file.read(min(most, _PIECE_BYTES)):
        yield data
        most -= len(data)


def read_json(path: Path, shape: type[_T]) -> _T | None:
    """The file in this shape, None where there is none. Raises `PayloadRefused` for another shape, or a huge file."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            data = file.read(_JSON_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > _JSON_BYTES:
        raise PayloadRefused(f"{path} is larger than {_JSON_BYTES >> 20} MiB")
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as exc:
        raise PayloadRefused(f"{path}: {exc}") from exc


def _zstd(path: Path) -> tuple[Callable[[IO[bytes]], BufferedIOBase], type[Exception]]:
    """What reads such a file, and what it raises for a damaged one."""
    try:
        from compression import zstd  # Python 3.14 has it itself
    except ImportError:
        pass
    else:
        return zstd.ZstdFile, zstd.ZstdError
    try:
        import zstandard  # an extra
    except ImportError as exc:
        raise PayloadRefused(
            f"{path} is compressed with Zstandard: pip install 'slurm-supervise[zstd]', or `zstd -d` it first"
        ) from exc
    engine: Any = zstandard.ZstdDecompressor()
    return lambda raw: cast("BufferedIOBase", engine.stream_reader(raw, read_across_frames=True)), zstandard.ZstdError
