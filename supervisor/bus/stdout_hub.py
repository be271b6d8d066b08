"""The supervisor's end of the bus over the agent step's stdout (a growing file) and stdin (a FIFO)."""

import asyncio
import contextlib
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from supervisor.bus.asks import Ask
from supervisor.bus.codec import Addressed, decode_from_agent, encode_within_cap
from supervisor.bus.hub_inbox import HubInbox
from supervisor.bus.lines import LineBuffer, Parts
from supervisor.bus.tasks import end_task, failure
from supervisor.errors import BrokerFailed, PayloadRefused
from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.wire import FromAgent, Status, ToAgent

OUT_NAME: Final = "agents.out"
"""Where the agent step's stdout goes, opened for appending by its shell."""
IN_NAME: Final = "agents.in"
"""The FIFO that is the agent step's stdin; its shell holds it open for reading and writing."""

_POLL_S: Final = 0.05
_READ_BYTES: Final = 1 << 20
_HISTORY_BYTES: Final = 1 << 20
_TRUNCATE_BYTES: Final = 8 << 20
_LIFE_EVERY_S: Final = 3.0
"""An empty line says to the agents that their supervisor lives."""
_COMMAND_S: Final = 5.0
_RETRY_S: Final = 0.05
_PRIVATE: Final = 0o600


def prepare(folder: Path) -> None:
    """Make the FIFO and the file that the agent step is started with. Raises `BrokerFailed`."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / OUT_NAME).touch(mode=_PRIVATE)
        with contextlib.suppress(FileExistsError):
            os.mkfifo(folder / IN_NAME, _PRIVATE)
    except OSError as exc:
        raise BrokerFailed(f"{folder} cannot hold the agents' pipes ({exc.strerror}): free space on this node") from exc


class StdoutHubLink:
    """See `HubLink`; made by `supervisor.bus.stdout.hub_link`. `refused` counts lines that were dropped as wrong."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inbox = HubInbox()
        self._buffer = LineBuffer()
        self._parts = Parts()
        self._file = -1
        self._fifo = -1
        self._offset = 0
        self._is_torn = True  # whoever wrote before us may have been killed amid a line
        self._writing = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._again: set[asyncio.Task[None]] = set()

    @property
    def refused(self) -> int:
        """Lines that were dropped because they were not what they should be."""
        return self._inbox.refused

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(prepare, self._folder)
        self._file = os.open(self._folder / OUT_NAME, os.O_RDWR | os.O_CLOEXEC)
        self._read_history()
        self._tasks = [
            asyncio.create_task(self._follow(), name="bus-read[hub]"),
            asyncio.create_task(self._show_life(), name="bus-life[hub]"),
        ]
        for task in self._tasks:
            task.add_done_callback(lambda _: self._inbox.close())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in (*self._tasks, *self._again):
            await end_task(task)
        for descriptor in (self._file, self._fifo):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._fifo = -1

    async def received(self) -> AsyncIterator[FromAgent]:
        """What agents say, until the link is left."""
        async for message in self._inbox.messages():
            yield message
        for error in filter(None, map(failure, self._tasks)):
            raise error

    async def command(self, node: NodeName | None, message: ToAgent, *, attempt: AttemptNo) -> None:
        """Send to one node or to all (None); raises `BrokerFailed` where no agent step reads within 5 s."""
        ask = Ask(node, message, attempt)
        try:
            line = encode_within_cap(Addressed(node=ask.address, command=message)) + b"\n"
        except PayloadRefused as exc:
            raise BrokerFailed(f"the command cannot be said: {exc}") from exc
        self._inbox.asked(ask)
        try:
            async with asyncio.timeout(_COMMAND_S), self._writing:
                await self._say(line)
        except TimeoutError:
            why = f"no agent step has read {self._folder / IN_NAME} for {_COMMAND_S:.0f} s: is it running?"
            raise BrokerFailed(why) from None

    async def _say(self, line: bytes) -> None:
        rest = b"\n" + line if self._is_torn else line
        self._is_torn = True  # until it is whole: this may be cut short at any wait
        while rest:
            written = self._try_write(rest)
            rest = b"\n" + line if written is None else rest[written:]
            if rest:
                await asyncio.sleep(_RETRY_S)
        self._is_torn = False

    def _try_write(self, data: bytes) -> int | None:
        """How many bytes the pipe took, 0 where it is full, None where nobody reads it."""
        try:
            if self._fifo < 0:
                self._fifo = os.open(self._folder / IN_NAME, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            return os.write(self._fifo, data)
        except BlockingIOError:
            return 0
        except OSError as exc:
            if exc.errno not in (errno.ENXIO, errno.EPIPE, errno.ENOENT):
                raise BrokerFailed(f"{self._folder / IN_NAME} cannot be written: {exc.strerror}") from exc
            self._forget_fifo()
            return None

    def _forget_fifo(self) -> None:
        if self._fifo >= 0:
            os.close(self._fifo)
        self._fifo = -1

    async def _show_life(self) -> None:
        while True:
            if not self._writing.locked():
                with contextlib.suppress(BrokerFailed):
                    self._try_write(b"\n")
            await asyncio.sleep(_LIFE_EVERY_S)

    async def _follow(self) -> None:
        while True:
            data = self._read_on()
            for line in self._buffer.feed(data):
                self._take(line)
            await asyncio.sleep(0 if data else _POLL_S)

    def _read_on(self) -> bytes:
        size = os.fstat(self._file).st_size
        if size < self._offset:
            self._offset = 0
        data = os.pread(self._file, _READ_BYTES, self._offset) if size > self._offset else b""
        self._offset += len(data)
        if self._offset >= _TRUNCATE_BYTES and os.fstat(self._file).st_size == self._offset:
            # Whoever appends goes on at the new end. What comes in this very moment is lost: beats come again,
            # and everything else is said three times.
            os.ftruncate(self._file, 0)
            self._offset = 0
        return data

    def _read_history(self) -> None:
        """Of what was said before only who is up: the rest was for the supervisor of then."""
        size = os.fstat(self._file).st_size
        start = max(0, size - _HISTORY_BYTES)
        if start:
            self._buffer.skip_to_newline()
        for line in self._buffer.feed(os.pread(self._file, size - start, start)):
            with contextlib.suppress(PayloadRefused):
                message = decode_from_agent(self._parts.take(line) or b"")
                if isinstance(message, Status):
                    self._inbox.accept(message)
        self._offset = size

    def _take(self, line: bytes) -> None:
        payload = self._parts.take(line)
        if payload is None:
            return
        try:
            message = decode_from_agent(payload)
        except PayloadRefused:
            self._inbox.refused += 1
            return
        for ask in self._inbox.accept(message):
            self._repeat(ask.to(message.node))

    def _repeat(self, ask: Ask) -> None:
        task = asyncio.create_task(self._hand_over_again(ask), name="bus-repeat[hub]")
        self._again.add(task)
        task.add_done_callback(self._again.discard)

    async def _hand_over_again(self, ask: Ask) -> None:
        line = encode_within_cap(Addressed(node=ask.address, command=ask.message)) + b"\n"
        with contextlib.suppress(TimeoutError, BrokerFailed):
            async with asyncio.timeout(_COMMAND_S), self._writing:
                await self._say(line)
