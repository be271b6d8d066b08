"""The supervisor's end of the bus over MQTT."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Final, Self

import aiomqtt

from supervisor.bus import topics
from supervisor.bus.asks import Ask
from supervisor.bus.codec import decode_from_agent, encode_within_cap
from supervisor.bus.connection import Endpoint, new_client, payload_of, stay_connected, subscribe
from supervisor.bus.hub_inbox import HubInbox
from supervisor.bus.mailbox import Mailbox
from supervisor.bus.tasks import end_task, failure
from supervisor.errors import BrokerFailed, PayloadRefused
from supervisor.model.ids import AttemptNo, NodeName, RunId
from supervisor.model.wire import FromAgent, ToAgent

_READY_S: Final = 15.0
_COMMAND_S: Final = 8.0
"""Longer than a killed broker needs to be back."""
_GOOD_BYE_S: Final = 1.0
_RETRY_S: Final = 0.1
_REPEATS: Final = 1000


class MqttHubLink:
    """See `HubLink`; made by `supervisor.bus.mqtt.hub_link`. `refused` counts messages that were dropped as wrong."""

    def __init__(self, endpoint: Endpoint, *, run: RunId) -> None:
        self._endpoint = endpoint
        self._run = run
        self._presence = topics.presence_topic(run)
        self._is_leaving = False
        self._inbox = HubInbox()
        self._again: Mailbox[Ask] = Mailbox(_REPEATS)
        self._client: aiomqtt.Client | None = None
        self._is_up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.lost: str = ""

    @property
    def refused(self) -> int:
        """Messages that were dropped because they were not what they should be."""
        return self._inbox.refused

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(stay_connected(self._new_client, self._use, self._note_loss), name="bus[hub]")
        self._task.add_done_callback(lambda _: self._inbox.close())
        ready = asyncio.create_task(self._is_up.wait(), name="bus-ready[hub]")
        try:
            await asyncio.wait({ready, self._task}, timeout=_READY_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_task(ready)
            if not self._is_up.is_set():
                await end_task(self._task)
        if not self._is_up.is_set():
            why = self.lost or failure(self._task)
            raise BrokerFailed(f"{self._endpoint} did not take the supervisor within {_READY_S:.0f} s: {why}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._say_good_bye()
        finally:
            if self._task is not None:
                await end_task(self._task)

    async def received(self) -> AsyncIterator[FromAgent]:
        """What agents say, until the link is left."""
        async for message in self._inbox.messages():
            yield message
        if self._task is not None and (error := failure(self._task)) is not None:
            raise error

    async def command(self, node: NodeName | None, message: ToAgent, *, attempt: AttemptNo) -> None:
        """Send to one node or to all (None); raises `BrokerFailed` where the broker does not take it within 8 s."""
        ask = Ask(node, message, attempt)
        try:
            topic, payload = self._spelled(ask)
        except PayloadRefused as exc:
            raise BrokerFailed(f"the command cannot be said: {exc}") from exc
        self._inbox.asked(ask)
        try:
            async with asyncio.timeout(_COMMAND_S):
                while not await self._hand_over(topic, payload):  # noqa: ASYNC110 - it is tried, not only looked at
                    await asyncio.sleep(_RETRY_S)
        except TimeoutError:
            raise BrokerFailed(f"{self._endpoint} took no command within {_COMMAND_S:.0f} s: {self.lost}") from None

    async def _hand_over(self, topic: str, payload: bytes) -> bool:
        await self._is_up.wait()
        if self._client is None:
            return False
        try:
            await self._client.publish(topic, payload, qos=1)
        except aiomqtt.MqttError:
            return False
        return True

    def _spelled(self, ask: Ask) -> tuple[str, bytes]:
        return topics.command_topic(self._run, ask.attempt, ask.node, ask.message), encode_within_cap(ask.message)

    def _new_client(self) -> aiomqtt.Client:
        will = aiomqtt.Will(self._presence, topics.DOWN, qos=1, retain=True)
        return new_client(self._endpoint, f"hub-{secrets.token_hex(4)}", will=will)

    async def _say_good_bye(self) -> None:
        """Agents keep their events until the next supervisor is there."""
        self._is_leaving = True
        if self._client is not None:
            with contextlib.suppress(aiomqtt.MqttError, TimeoutError):
                async with asyncio.timeout(_GOOD_BYE_S):
                    await self._client.publish(self._presence, topics.DOWN, qos=1, retain=True)

    async def _say_presence(self, client: aiomqtt.Client) -> None:
        await client.publish(self._presence, topics.UP, qos=1, retain=True)

    def _note_loss(self, why: str) -> None:
        self.lost = why

    async def _use(self, client: aiomqtt.Client) -> None:
        # One subscription for each kind: amqtt delivers with the subscriber's quality, and beats need no answers.
        filters = [(topics.node_filter(self._run, kind), int(kind != "beats")) for kind in topics.KINDS]
        await subscribe(client, [*filters, (self._presence, 1)])
        await self._say_presence(client)
        self._client = client
        self._is_up.set()
        ended = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(client, ended), name="bus-read[hub]")
                group.create_task(self._repeat(client, ended), name="bus-repeat[hub]")
        finally:
            self._is_up.clear()
            self._client = None

    async def _read(self, client: aiomqtt.Client, ended: asyncio.Event) -> None:
        try:
            async for message in client.messages:
                if str(message.topic) == self._presence:
                    await self._contradict(client, payload_of(message))
                else:
                    self._take(str(message.topic), payload_of(message))
        finally:
            ended.set()

    async def _repeat(self, client: aiomqtt.Client, ended: asyncio.Event) -> None:
        while not ended.is_set() and (ask := await self._again.take()) is not None:
            topic, payload = self._spelled(ask)
            await client.publish(topic, payload, qos=1)

    async def _contradict(self, client: aiomqtt.Client, said: bytes) -> None:
        # The will of a supervisor before us may be said after we have said that we are up.
        if said != topics.UP and not self._is_leaving:
            await self._say_presence(client)

    def _take(self, topic: str, payload: bytes) -> None:
        try:
            message = _read_as_said(topic, payload)
        except PayloadRefused:
            self._inbox.refused += 1
            return
        for ask in self._inbox.accept(message):
            self._again.put(ask.to(message.node), replaces=(message.node, ask.message.ask))


def _read_as_said(topic: str, payload: bytes) -> FromAgent:
    where = topics.parse_node_topic(topic)
    message = decode_from_agent(payload)
    if (message.node, topics.kind(message)) != (where.node, where.kind):
        raise PayloadRefused(f"{topic!r} carries a {type(message).__name__} of {message.node!r}")
    return message
