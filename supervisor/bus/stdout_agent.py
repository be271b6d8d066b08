"""An agent's end of the bus over its own stdin and stdout."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Final, Self

from supervisor.bus.asks import Recent, fingerprint
from supervisor.bus.codec import decode_addressed, encode_within_cap
from supervisor.bus.line_writer import LineWriter
from supervisor.bus.lines import LineBuffer, lines_of
from supervisor.bus.mailbox import Mailbox, replaceable
from supervisor.bus.protocol import NO_ATTEMPT
from supervisor.bus.tasks import end_task
from supervisor.bus.topics import ALL_NODES
from supervisor.errors import PayloadRefused
from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.wire import FromAgent, Status, ToAgent

_OUTBOX: Final = 256
_COMMANDS: Final = 64
_FLUSH_S: Final = 2.0
_READ_BYTES: Final = 65_536
_PACE_S: Final = 0.02
"""Between two lines: slurmstepd glues together what waits, and cuts where it likes."""
_STATUS_EVERY_S: Final = 5.0
"""Nothing is retained here: a supervisor that was started again learns of the agents by this."""
_REPEATS_S: Final = (0.4, 1.5)
"""Nothing is acknowledged here: events and answers are said three times, and the supervisor's end takes one."""


class StdoutAgentLink:
    """See `AgentLink`; made by `supervisor.bus.stdout.agent_link`. Nothing else may write to the process's stdout."""

    def __init__(self, node: NodeName, *, read_from: int = 0, write_to: int = 1) -> None:
        self._node = node
        self._in = read_from
        self._out = write_to
        self._outbox: Mailbox[bytes] = Mailbox(_OUTBOX)
        self._commands: Mailbox[ToAgent] = Mailbox(_COMMANDS)
        self._known = Recent()
        self._buffer = LineBuffer()
        self._status: bytes | None = None
        self._is_up = False
        self._last_heard: float | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._repeats: set[asyncio.TimerHandle] = set()
        self.refused = 0

    @property
    def last_heard(self) -> float | None:
        """`time.monotonic()` of the last byte that came from the supervisor."""
        return self._last_heard

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        os.set_blocking(self._in, False)
        with contextlib.suppress(PermissionError):  # a plain file or /dev/null: no command can ever come
            loop.add_reader(self._in, self._readable)
        self._tasks = [
            asyncio.create_task(self._write(LineWriter(self._out)), name=f"bus[{self._node}]"),
            asyncio.create_task(self._repeat_status(), name=f"bus-status[{self._node}]"),
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._in)
        for timer in self._repeats:
            timer.cancel()
        if self._is_up:
            self.send(Status(node=self._node, state="down", pid=os.getpid()))
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_S):
                    await self._outbox.emptied()
        finally:
            self._commands.close()
            for task in self._tasks:
                await end_task(task)

    def send(self, message: FromAgent, *, attempt: AttemptNo = NO_ATTEMPT) -> None:  # noqa: ARG002 - lines have no topic
        """Queue one message; see `AgentLink`."""
        try:
            payload = encode_within_cap(message)
        except PayloadRefused:
            self.refused += 1
            return
        if isinstance(message, Status):
            self._status, self._is_up = payload, message.state == "up"
        self._outbox.put(payload, replaces=replaceable(message))
        if fingerprint(message) is not None:
            for delay in _REPEATS_S:
                self._say_again(payload, delay)

    async def commands(self) -> AsyncIterator[ToAgent]:
        """Commands for this node, each once, until the link is left."""
        while (command := await self._commands.take()) is not None:
            yield command

    def _say_again(self, payload: bytes, delay: float) -> None:
        def now() -> None:
            self._repeats.discard(timer)
            self._outbox.put(payload)

        timer = asyncio.get_running_loop().call_later(delay, now)
        self._repeats.add(timer)

    async def _write(self, writer: LineWriter) -> None:
        serial = 0
        try:
            while (payload := await self._outbox.first()) is not None:
                serial += 1
                for line in lines_of(self._node, serial, payload):
                    await writer.write(line)
                    await asyncio.sleep(_PACE_S)
                self._outbox.done(payload)
        except OSError:
            return  # srun is gone: nobody can hear us, and the lease says what follows
        finally:
            await writer.close()

    async def _repeat_status(self) -> None:
        while True:
            await asyncio.sleep(_STATUS_EVERY_S)
            if self._status is not None:
                self._outbox.put(self._status, replaces=("Status", self._node))

    def _readable(self) -> None:
        try:
            data = os.read(self._in, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._in)
            return
        self._last_heard = time.monotonic()
        for line in self._buffer.feed(data):
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            addressed = decode_addressed(line)
        except PayloadRefused:
            self.refused += 1
            return
        command = addressed.command
        if addressed.node in (ALL_NODES, self._node) and self._known.is_new((type(command), command.ask)):
            self._commands.put(command)
