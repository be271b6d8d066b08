"""What a run has done once and for all: `once/<key>/<n>`, the n-th try of one thing, and `<n>.done`, how it ended.

A try is claimed by making its file, which only one caller can. Nothing is ever taken back: whoever finds the last try
failed, or its maker gone, makes the next one.
"""

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from supervisor.ledger.claim import is_made
from supervisor.ledger.whole_file import replace_file
from supervisor.model.base import Fact, encode
from supervisor.model.ids import AttemptNo

FOLDER: Final = "once"
BEAT_S: Final = 2.0
"""How often whoever is at work says so."""
LOOK_S: Final = 0.5
GONE_LOOKS: Final = 60
"""So many looks without a sign of life, and its maker is gone. Looks are counted and not seconds: who waits may have
been suspended together with who works."""
_DONE: Final = ".done"
_SHOWN: Final = 40
_T = TypeVar("_T")


class Try(Fact, frozen=True, kw_only=True):
    """Who is at work."""

    attempt: AttemptNo
    at: float
    host: str


class Done(Fact, frozen=True, kw_only=True):
    """How a try ended."""

    code: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far it is."""

    number: int = 0
    """Of the last try; 0: nobody has tried."""
    attempt: AttemptNo | None = None
    """In which it was made; None where that is not to be read (yet)."""
    code: int | None = None
    """None: nobody has tried, or it is being done."""
    sign: int = 0
    """When its maker gave a sign of life, in nanoseconds of the filesystem's clock."""


def standing(folder: Path) -> Standing:
    """The last try of this thing. Raises `OSError` where the folder cannot be read."""
    try:
        number = max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=0)
    except FileNotFoundError:
        number = 0
    if not number:
        return Standing()
    path = folder / str(number)
    # Opened and not only asked for its times: over NFS that is what makes this node look again.
    with path.open("rb") as file:
        made, sign = _read(file.read(), Try), os.fstat(file.fileno()).st_mtime_ns
    done = None
    with suppress(FileNotFoundError):
        done = _read((folder / f"{number}{_DONE}").read_bytes(), Done)
    return Standing(
        number=number,
        attempt=made.attempt if made else None,
        code=done.code if done else None,
        sign=sign,
    )


def begin(folder: Path, number: int, made: Try) -> bool:
    """Whether this caller does the try of this number. Raises `OSError` where nothing can be written."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return is_made(folder / str(number), encode(made))


def give_sign(folder: Path, number: int) -> None:
    """It is still being done. A folder that cannot be written now may be later."""
    with suppress(OSError):
        os.utime(folder / str(number))


def end(folder: Path, number: int, done: Done) -> None:
    """It ended so. Raises `OSError`: then nobody will know, and the next caller does it again."""
    replace_file(folder / f"{number}{_DONE}", encode(done))


@dataclass(slots=True)
class Wait:
    """One caller's view: whether it is done, to be done by him, or to be waited for. Pure but for what it is told."""

    attempt: AttemptNo
    _first: Standing | None = None
    _last: Standing = Standing()
    _looks: int = 0

    def judge(self, now: Standing) -> int | None:
        """The number of the try that the caller should make; 0: the answer is `now.code`; None: wait and look again."""
        if self._first is None:
            self._first = now
        self._looks = self._looks + 1 if now == self._last else 0
        self._last = now
        if now.code == 0:
            return 0
        if now.code is not None and now != self._first:
            return 0  # it failed while this caller waited for it
        is_free = now.code is not None or not now.number
        is_left = (now.attempt or self.attempt) < self.attempt or self._looks >= GONE_LOOKS
        return now.number + 1 if is_free or is_left else None


def wait_or_do(
    folder: Path, made: Try, do: Callable[[int, Callable[[], None]], int], *, pause: Callable[[float], None]
) -> tuple[int, bool]:
    """The exit code, and whether it was this caller who did it.

    `do` is given the number of its try and what tells the others that it goes on, to be called every `BEAT_S`. Raises
    `OSError` where the folder cannot be used, and then nothing was done.
    """
    wait = Wait(made.attempt)
    while True:
        now = standing(folder)
        number = wait.judge(now)
        if number == 0:
            return now.code or 0, False
        if number is None:
            pause(LOOK_S)
        elif begin(folder, number, made):
            return do(number, functools.partial(give_sign, folder, number)), True


def folder_of(run_folder: Path, key: str) -> Path:
    """Where the tries of this thing lie."""
    return run_folder / FOLDER / key


def key_of(words: Sequence[str], *, name: str, place: str) -> str:
    """A file name for the thing: the name that it was given, else one for the command and the folder it is said in."""
    said = "\0".join((name,) if name else (place, *words)).encode(errors="surrogateescape")
    shown = "".join(char if char.isalnum() else "-" for char in name or Path(words[0]).name)[:_SHOWN]
    return f"{shown}-{hashlib.sha256(said).hexdigest()[:12]}"


def _read(data: bytes, kind: type[_T]) -> _T | None:
    """None where it is torn: then it says nothing."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(data, type=kind)
    return None
