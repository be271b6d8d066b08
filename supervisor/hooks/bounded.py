"""Calls that may hang in the kernel, each in a process of its own that is given up at a deadline.

A thread would not do: one that hangs in the kernel keeps its process from ending.
"""

import gc
import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_MOST_BYTES: Final = 4_000_000
_PIECE: Final = 65536
_DONE, _FAILED = b"=", b"!"
_LENGTH: Final = 8
"""Bytes in front of an answer. Its end cannot be told by the pipe's: a process that hangs in the kernel, and whatever a
library has started, hold the other end open."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave: bytes, or why there are none."""

    value: bytes | None
    complaint: str = ""


@dataclass(slots=True)
class _Child:
    name: str
    pid: int
    reader: int
    told: bytes = b""


def gather(
    calls: Mapping[str, Callable[[], bytes]], *, deadline_s: float, own_group: bool = False
) -> dict[str, Answer]:
    """All answers, within the deadline whatever the calls do. Those that are late are killed and not waited for.

    With `own_group` each call leads a process group, which is killed whole.
    """
    # What was loaded so far is left alone by the children's collectors: their pages stay shared with this process.
    gc.freeze()
    until = time.monotonic() + deadline_s
    children = [_start(name, call, own_group=own_group) for name, call in calls.items()]
    answers: dict[str, Answer] = {}
    with selectors.DefaultSelector() as waiting:
        for child in children:
            waiting.register(child.reader, selectors.EVENT_READ, child)
        while waiting.get_map() and (left_s := until - time.monotonic()) > 0:
            for key, _ in waiting.select(left_s):
                if not _goes_on(key.data):
                    waiting.unregister(key.fd)
                    answers[key.data.name] = _answer(key.data)
    for child in children:
        if child.name not in answers:
            _kill(child.pid, own_group=own_group)
            answers[child.name] = Answer(None, f"no answer within {deadline_s:g} s")
        os.close(child.reader)
        with suppress(ChildProcessError):
            os.waitpid(child.pid, os.WNOHANG)
    return answers


def _start(name: str, call: Callable[[], bytes], *, own_group: bool) -> _Child:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(call, writer, own_group=own_group)
    os.close(writer)
    return _Child(name, pid, reader)


def _be_child(call: Callable[[], bytes], writer: int, *, own_group: bool) -> None:
    """Never returns. Holds none of its parent's pipes: who waits for their end must not wait for a call that hangs."""
    try:
        if own_group:
            os.setpgid(0, 0)
        nothing = os.open("/dev/null", os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        told = _DONE + call()
    except Exception as exc:  # noqa: BLE001 - a reading must not take the hook with it
        told = _FAILED + f"{type(exc).__name__}: {exc}".encode(errors="replace")[:300]
    try:
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(len(told).to_bytes(_LENGTH) + told)
    finally:
        os._exit(0)


def _goes_on(child: _Child) -> bool:
    piece = os.read(child.reader, _PIECE)
    child.told += piece
    return bool(piece) and len(child.told) < min(_LENGTH + _length(child), _MOST_BYTES)


def _length(child: _Child) -> int:
    """What it has announced; unknown before that, and so without end."""
    return int.from_bytes(child.told[:_LENGTH]) if len(child.told) >= _LENGTH else _MOST_BYTES


def _answer(child: _Child) -> Answer:
    mark, told = child.told[_LENGTH : _LENGTH + 1], child.told[_LENGTH + 1 :]
    if mark == _DONE and len(told) + 1 == _length(child) <= _MOST_BYTES:
        return Answer(told)
    if mark == _FAILED:
        return Answer(None, told.decode(errors="replace"))
    # It was ended by a signal (a library's fault), or says more than anybody asked for.
    return Answer(None, "died without an answer" if not mark else "its answer is too large")


def _kill(pid: int, *, own_group: bool) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL) if own_group else os.kill(pid, signal.SIGKILL)
