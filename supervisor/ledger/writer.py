"""The one way files of a run are written: whole or not at all, in a thread of its own, never on the event loop."""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from supervisor.ledger.whole_file import PRIVATE, replace_file

_log = logging.getLogger(__name__)

_WAITING: Final = 10_000
"""Deeds that may wait for a filesystem that gives no answer; beyond that new ones are dropped and counted."""

Deed = Callable[[], None]


class Writer:
    """Carries out deeds on files one after the other. A full or dead filesystem costs the deeds, never the caller."""

    def __init__(self) -> None:
        self._deeds: queue.Queue[Deed | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self.failed = 0
        """Deeds that the filesystem refused, or that found no room to wait."""
        self._last_reason = ""
        self._thread.start()

    def do(self, deed: Deed) -> bool:
        """Carry out this deed after those that wait; never blocks. False: it found no room to wait."""
        try:
            self._deeds.put_nowait(deed)
        except queue.Full:
            self._note("too much waits for the filesystem")
            return False
        return True

    def write(self, path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
        """Replace the file by this content; folders are made as needed."""
        self.do(lambda: replace_file(path, data, mode=mode))

    async def flushed(self, deadline_s: float) -> bool:
        """Whether everything given so far was carried out within the deadline."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(done.set)

        if not self.do(tell):
            return False
        try:
            async with asyncio.timeout(deadline_s):
                await done.wait()
        except TimeoutError:
            return False
        return True

    def close(self, deadline_s: float = 2.0) -> None:
        """Carry out what waits, then end; a thread that hangs on a dead filesystem is left behind."""
        try:
            self._deeds.put(None, timeout=deadline_s)
        except queue.Full:
            return
        self._thread.join(deadline_s)

    def _work(self) -> None:
        while (deed := self._deeds.get()) is not None:
            try:
                deed()
            except Exception as exc:  # noqa: BLE001  # a whole component: one deed must not cost all that come after it
                self._note(str(exc))

    def _note(self, reason: str) -> None:
        self.failed += 1
        if reason != self._last_reason:
            self._last_reason = reason
            _log.warning("writer.failed count=%d reason=%s", self.failed, reason)
