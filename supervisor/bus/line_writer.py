"""Writes lines to a descriptor that may stand still for any time, without ever holding up the loop or the exit."""

import asyncio
import contextlib
import os
import queue
import select
import threading
from typing import Final

_JOIN_S: Final = 0.5
_ROOM_S: Final = 1.0


class LineWriter:
    """A thread that writes one line after the other; entered and left like a file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        # A daemon, because a write to a pipe that nobody reads cannot be interrupted and must not keep the process.
        self._thread = threading.Thread(target=self._run, name="bus-writer", daemon=True)
        self._thread.start()

    async def write(self, line: bytes) -> None:
        """Returns when the line is in the pipe. Raises `OSError` where nobody can read it any more."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._lines.put((line, written))
        await written

    async def close(self) -> None:
        """No more lines; waits half a second for the thread, which else ends with its last write."""
        self._lines.put(None)
        await asyncio.to_thread(self._thread.join, _JOIN_S)

    def _run(self) -> None:
        while (found := self._lines.get()) is not None:
            line, written = found
            error: OSError | None = None
            try:
                _write_all(self._descriptor, line)
            except OSError as exc:
                error = exc
            with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
                self._loop.call_soon_threadsafe(_settle, written, error)


def _write_all(descriptor: int, line: bytes) -> None:
    while line:
        try:
            line = line[os.write(descriptor, line) :]
        except BlockingIOError:
            select.select([], [descriptor], [], _ROOM_S)


def _settle(written: asyncio.Future[None], error: OSError | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
