"""Tells persons of interruptions and of the end, beside everything else: no decision waits for it or depends on it."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import structlog

from supervisor.core.instructions import Finish, KeepRecord
from supervisor.core.state import State
from supervisor.daemon.world import World
from supervisor.errors import NotifyFailed
from supervisor.model.base import encode
from supervisor.model.verdict import CANCELS
from supervisor.notify.gate import Kept, passed
from supervisor.notify.message import Message
from supervisor.notify.notifier import Notifier, notifier_for
from supervisor.notify.words import is_wanted, of_end, of_record
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

FILE: Final = "notified.json"
_WAITING: Final = 16
"""Messages that may wait for slow ways; beyond that new ones are dropped and logged."""
_READ_S: Final = 3.0
_SEND_S: Final = 12.0
"""For one message one way: the ways' own deadlines are a little shorter."""
_LEAVE_S: Final = 1.0
"""For what is under way when the job ends: the keeper waits three seconds for all of us."""

Find = Callable[[str], Notifier]


class Teller:
    """Follows the orders that are worth a message. Nothing of it raises, and nothing of it waits in the loop."""

    def __init__(
        self, world: World, urls: Sequence[str], state: Callable[[], State], *, find: Find = notifier_for
    ) -> None:
        """`state`: the machine's, as it is when an order is given."""
        self._world = world
        self._state = state
        self._ways = {url: _Way(url, find) for url in urls}
        self._queue: asyncio.Queue[tuple[Message, str]] = asyncio.Queue(_WAITING)
        self._kept: Kept | None = None
        self._stopped_by = ""

    def tell(self, order: KeepRecord | Finish) -> None:
        """A record is kept, or the job ends."""
        try:
            self._note(order)
        except Exception:  # noqa: BLE001  # a whole component: the run goes on without messages
            _log.exception("notify.broke")

    async def run(self) -> None:
        """Send what was noted, one after the other, for ever."""
        while True:
            message, once = await self._queue.get()
            try:
                await self._send(message, once)
            except Exception:  # noqa: BLE001  # as above
                _log.exception("notify.broke")
            finally:
                self._queue.task_done()

    async def leave(self) -> None:
        """The process ends: what is not sent within a second is not sent."""
        try:
            async with asyncio.timeout(_LEAVE_S):
                await self._queue.join()
        except TimeoutError:
            _log.warning("notify.cut", waiting=self._queue.qsize() + 1)

    def _note(self, order: KeepRecord | Finish) -> None:
        match order:
            case KeepRecord(record=record):
                message, once = of_record(record), f"incident {record.incident} {record.action}"
                if message is not None and message.kind == "stopped":
                    if self._is_cancelled:
                        return  # a cancel in the midst of a recovery: its end is told as that
                    self._stopped_by = message.fingerprint
            case Finish():
                message, once = self._end(order), f"end of {self._world.around.job_id}/{self._world.around.restarts}"
        if message is None or not is_wanted(message.kind, self._world.settings.notify_on):
            return
        try:
            self._queue.put_nowait((message, once))
        except asyncio.QueueFull:
            _log.warning("notify.dropped", reason="too many wait", title=message.title)

    @property
    def _is_cancelled(self) -> bool:
        term = self._state().term
        return term is not None and term.cause in CANCELS

    def _end(self, order: Finish) -> Message:
        return of_end(
            run_id=self._world.run.run_id,
            job_id=self._world.around.job_id,
            at=self._world.clock(),
            is_good=order.code == 0,
            handed_over=order.handed_over,
            is_cancelled=self._is_cancelled,
            reason=order.reason,
            fingerprint=self._stopped_by,
        )

    async def _send(self, message: Message, once: str) -> None:
        path = self._world.folder / FILE
        if self._kept is None:
            self._kept = await _read(path)
        self._kept, told = passed(self._kept, message, once, self._world.clock())
        self._world.writer.write(path, encode(self._kept))
        if told is not None:
            await asyncio.gather(*(way.send(told) for way in self._ways.values()))


class _Way:
    """One URL. While it hangs over one message it gets no other: so many threads hang as there are URLs, at most."""

    def __init__(self, url: str, find: Find) -> None:
        self._url = url
        self._find = find
        self._notifier: Notifier | None = None
        self._is_busy = False

    async def send(self, message: Message) -> None:
        """Whatever goes wrong is logged, without the URL, which may be a secret."""
        scheme = self._url.partition(":")[0]
        if self._is_busy:
            _log.warning("notify.failed", way=scheme, reason="it still hangs over an earlier message")
            return
        self._is_busy = True
        try:
            await aside(partial(self._call, message), deadline_s=_SEND_S, name="notify")
        except NotifyFailed as exc:
            _log.warning("notify.failed", way=scheme, reason=str(exc))
        except TimeoutError:
            _log.warning("notify.failed", way=scheme, reason=f"no answer within {_SEND_S:.0f} s")
        except Exception as exc:  # noqa: BLE001  # a plugin of whoever
            _log.warning("notify.failed", way=scheme, reason=type(exc).__name__)
        else:
            _log.info("notify.sent", way=scheme, kind=message.kind)

    def _call(self, message: Message) -> None:
        """In a thread of its own. Looking for plugins reads the disk, so that is done here, at the first message."""
        try:
            if self._notifier is None:
                self._notifier = self._find(self._url)
            self._notifier.send(message)
        finally:
            self._is_busy = False


async def _read(path: Path) -> Kept:
    """What supervisors before have told; nothing where that cannot be read in time."""
    try:
        data = await aside(path.read_bytes, deadline_s=_READ_S, name="notified")
        return msgspec.json.decode(data, type=Kept)
    except (OSError, msgspec.MsgspecError):  # TimeoutError is one of the first
        return Kept()
