"""An agent's end of the bus over MQTT."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Final, NamedTuple, Self

import aiomqtt

from supervisor.bus import topics
from supervisor.bus.asks import Recent
from supervisor.bus.codec import decode_from_agent, decode_to_agent, encode_within_cap
from supervisor.bus.connection import Endpoint, new_client, payload_of, stay_connected, subscribe
from supervisor.bus.mailbox import Mailbox, replaceable
from supervisor.bus.protocol import NO_ATTEMPT
from supervisor.bus.tasks import end_task, failure
from supervisor.errors import PayloadRefused
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, NodeName, RunId
from supervisor.model.wire import FromAgent, Status, ToAgent

_OUTBOX: Final = 256
"""Beyond that the oldest beat is dropped, then the oldest of all."""
_COMMANDS: Final = 64
_FLUSH_S: Final = 2.0
_QUIET_S: Final = 2.0
"""After this long without a sign of the broker a beat asks for one; without an answer the connection counts as lost."""


class _Outgoing(NamedTuple):
    topic: str
    payload: bytes
    qos: int
    retain: bool


class MqttAgentLink:
    """See `AgentLink`; made by `supervisor.bus.mqtt.agent_link`."""

    def __init__(self, endpoint: Endpoint, *, run: RunId, node: NodeName) -> None:
        self._endpoint = endpoint
        self._run = run
        self._node = node
        self._status_topic = topics.node_topic(run, NO_ATTEMPT, node, "status")
        self._presence_topic = topics.presence_topic(run)
        self._status: _Outgoing | None = None
        self._is_up = False
        self._outbox: Mailbox[_Outgoing] = Mailbox(_OUTBOX)
        self._events: Mailbox[_Outgoing] = Mailbox(_OUTBOX)
        self._supervisor_is_up = asyncio.Event()
        self._commands: Mailbox[ToAgent] = Mailbox(_COMMANDS)
        self._known = Recent()
        self._last_heard: float | None = None
        self._task: asyncio.Task[None] | None = None
        self.refused = 0
        self.lost: str = ""

    @property
    def last_heard(self) -> float | None:
        """`time.monotonic()` of the broker's last acknowledgement or the last command."""
        return self._last_heard

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(
            stay_connected(self._new_client, self._use, self._note_loss), name=f"bus[{self._node}]"
        )
        self._task.add_done_callback(lambda _: self._commands.close())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is None:
            return
        if self._is_up:
            self._is_up = False
            self._say_status(self._will())  # a broker says no will of those who leave in order
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_S):
                    await self._outbox.emptied()
                    await self._events.emptied()
        finally:
            await end_task(self._task)

    def send(self, message: FromAgent, *, attempt: AttemptNo = NO_ATTEMPT) -> None:
        """Queue one message; see `AgentLink`."""
        try:
            payload = encode_within_cap(message)
        except PayloadRefused:
            self.refused += 1
            return
        if isinstance(message, Status):
            self._is_up = message.state == "up"
            self._say_status(payload)
            return
        kind = topics.kind(message)
        topic = topics.node_topic(self._run, attempt, self._node, kind)
        if kind == "beats":
            self._outbox.put(_Outgoing(topic, payload, qos=0, retain=False), replaces=replaceable(message))
        else:
            self._events.put(_Outgoing(topic, payload, qos=1, retain=False))

    async def commands(self) -> AsyncIterator[ToAgent]:
        """Commands for this node, each once, until the link is left."""
        while (command := await self._commands.take()) is not None:
            yield command
        if self._task is not None and (error := failure(self._task)) is not None:
            raise error

    def _say_status(self, payload: bytes) -> None:
        self._status = _Outgoing(self._status_topic, payload, qos=1, retain=True)
        self._outbox.put(self._status, replaces="status")

    def _new_client(self) -> aiomqtt.Client:
        will = aiomqtt.Will(self._status_topic, self._will(), qos=1, retain=True)
        # The name is the node's: a connection that is only half dead is replaced, and its last will said, at once.
        return new_client(self._endpoint, f"agent-{self._node}", will=will)

    def _will(self) -> bytes:
        return encode(Status(node=self._node, state="down", pid=os.getpid()))

    def _note_loss(self, why: str) -> None:
        self.lost = why

    async def _use(self, client: aiomqtt.Client) -> None:
        filters = [*topics.command_filters(self._run, self._node), self._status_topic]
        await subscribe(client, [(each, 1) for each in filters])
        self._last_heard = time.monotonic()
        self._supervisor_is_up.clear()
        if self._status is not None:
            await self._publish(client, self._status)
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read(client, ended), name=f"bus-read[{self._node}]")
            group.create_task(self._write(client, ended), name=f"bus-write[{self._node}]")
            group.create_task(self._write_events(client, ended), name=f"bus-events[{self._node}]")

    async def _read(self, client: aiomqtt.Client, ended: asyncio.Event) -> None:
        try:
            async for message in client.messages:
                self._last_heard = time.monotonic()
                self._take(str(message.topic), payload_of(message))
        finally:
            ended.set()

    async def _write(self, client: aiomqtt.Client, ended: asyncio.Event) -> None:
        # The flag, because a cancellation can get lost in aiomqtt (see `end_task`).
        while not ended.is_set() and (out := await self._outbox.first()) is not None:
            await self._publish(client, out)

    async def _write_events(self, client: aiomqtt.Client, ended: asyncio.Event) -> None:
        # A broker takes an event and throws it away while the supervisor is not subscribed: it is kept here until then.
        while not ended.is_set() and (out := await self._events.first()) is not None:
            await self._supervisor_is_up.wait()
            await self._publish(client, out)

    async def _publish(self, client: aiomqtt.Client, out: _Outgoing) -> None:
        is_quiet = self._last_heard is None or time.monotonic() - self._last_heard > _QUIET_S
        qos = max(out.qos, int(is_quiet))
        await client.publish(out.topic, out.payload, qos=qos, retain=out.retain)
        if qos:
            self._last_heard = time.monotonic()
        for box in (self._outbox, self._events):
            box.done(out)

    def _take(self, topic: str, payload: bytes) -> None:
        if topic == self._presence_topic:
            self._note_presence(payload)
            return
        try:
            if topic == self._status_topic:
                self._contradict(decode_from_agent(payload))
                return
            command = decode_to_agent(payload)
        except PayloadRefused:
            self.refused += 1
            return
        if self._known.is_new((type(command), command.ask)):
            self._commands.put(command)

    def _note_presence(self, payload: bytes) -> None:
        if payload == topics.UP:
            self._supervisor_is_up.set()
        else:
            self._supervisor_is_up.clear()

    def _contradict(self, said: FromAgent) -> None:
        # A broker may say the will of an older connection of ours after we have said that we are up.
        is_down = isinstance(said, Status) and said.state == "down"
        if is_down and self._is_up and self._status is not None:
            self._outbox.put(self._status, replaces="status")
