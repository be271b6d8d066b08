"""One MQTT connection at a time, made again for ever; nothing of it is left behind when it ends, however it ends."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, cast

import aiomqtt
from paho.mqtt.reasoncodes import ReasonCode

from supervisor.bus.backoff import Backoff
from supervisor.bus.tls import client_context
from supervisor.model.base import Fact

_KEEPALIVE_S: Final = 5
"""After one and a half times this without words the broker says an agent's last will; silence is noticed sooner."""
_CONNECT_S: Final = 2.0
"""For TCP, and for each step of TLS. It runs in a thread that cannot be interrupted: leaving waits for it."""
ANSWER_S: Final = 3.0
"""For the broker to acknowledge anything; then the connection counts as lost."""
_REFUSED: Final = 0x80
_UNREAD: Final = 20_000
"""Messages that wait between socket and reader; the newest are dropped beyond that (the reader never blocks)."""

# Its warnings (queue lengths, disconnects) are our ordinary life; what matters is raised.
_log: Final = logging.getLogger("supervisor.bus.mqtt")
_log.setLevel(logging.CRITICAL)


class Endpoint(Fact, frozen=True, kw_only=True):
    """Where the broker is and what it wants to see."""

    host: str
    port: int
    user: str
    password: str
    ca_pem: str
    """Empty: no TLS."""

    def __repr__(self) -> str:
        return f"the broker on {self.host}:{self.port}"  # and nothing secret


def new_client(endpoint: Endpoint, name: str, *, will: aiomqtt.Will | None = None) -> aiomqtt.Client:
    """A client with a clean session, not yet connected. A second one of this name takes the first one's place."""
    client = aiomqtt.Client(
        endpoint.host,
        endpoint.port,
        identifier=name,
        username=endpoint.user or None,
        password=endpoint.password or None,
        tls_context=client_context(endpoint.ca_pem) if endpoint.ca_pem else None,
        will=will,
        clean_session=True,
        timeout=ANSWER_S,
        keepalive=_KEEPALIVE_S,
        max_queued_incoming_messages=_UNREAD,
        logger=_log,
    )
    client._client.connect_timeout = _CONNECT_S  # noqa: SLF001 - aiomqtt passes no such option on to paho
    return client


@contextlib.asynccontextmanager
async def connected(client: aiomqtt.Client) -> AsyncIterator[aiomqtt.Client]:
    """The client, connected; afterwards its socket, its task and its thread are gone. Raises `aiomqtt.MqttError`."""
    try:
        await _enter(client)
        yield client
    finally:
        await _dispose(client)


async def stay_connected(
    make: Callable[[], aiomqtt.Client],
    use: Callable[[aiomqtt.Client], Awaitable[None]],
    lost: Callable[[str], None],
) -> None:
    """Connect and use, again for ever, with growing pauses; `lost` is told why each connection ended.

    `use` ends by `MqttError` when the connection does.
    """
    backoff = Backoff()
    while True:
        try:
            async with connected(make()) as client:
                backoff.reset()
                await use(client)
        except* aiomqtt.MqttError as group:
            lost(str(group.exceptions[0]))
        await asyncio.sleep(backoff.next_delay())


async def subscribe(client: aiomqtt.Client, filters: list[tuple[str, int]]) -> None:
    """Returns when the broker has accepted all of them. Raises `aiomqtt.MqttError`."""
    answers = await client.subscribe(filters)
    codes = map(_code, cast("Sequence[int | ReasonCode]", answers))
    refused = [topic for (topic, _), code in zip(filters, codes, strict=True) if code >= _REFUSED]
    if refused:
        raise aiomqtt.MqttError(f"the broker refuses {refused[0]!r}")


def _code(answer: int | ReasonCode) -> int:
    return answer if isinstance(answer, int) else int(answer.value)


def payload_of(message: aiomqtt.Message) -> bytes:
    """The bytes that came; nothing else ever comes from the network."""
    return bytes(message.payload) if isinstance(message.payload, bytes | bytearray) else b""


async def _enter(client: aiomqtt.Client) -> None:
    entering = asyncio.ensure_future(client.__aenter__())
    cancelled: asyncio.CancelledError | None = None
    while not entering.done():
        try:
            await asyncio.wait({entering})
        except asyncio.CancelledError as exc:
            # The connecting thread goes on regardless: it is waited for, however often one is told to hurry,
            # or it would leave a socket that nobody knows of. What comes after the thread is cut short.
            cancelled = exc
            client._connected.cancel()  # noqa: SLF001 - as in `_dispose`
    if cancelled is not None:
        if not entering.cancelled():
            entering.exception()  # retrieved: nobody is there any more to see it raised
        raise cancelled
    entering.result()


async def _dispose(client: aiomqtt.Client) -> None:
    paho = client._client  # noqa: SLF001 - aiomqtt offers no way to close what failed half way
    connected = client._connected  # noqa: SLF001 - as above
    if connected.done() and not connected.cancelled() and connected.exception() is None:
        with contextlib.suppress(aiomqtt.MqttError):
            await client.__aexit__(None, None, None)  # says good-bye, so that no last will is said
    # Closes the socket if it is still open, which takes the loop's reader and writer off it.
    paho.reinitialise()
    disconnected = client._disconnected  # noqa: SLF001 - as above
    if disconnected.done() and not disconnected.cancelled():
        disconnected.exception()  # retrieved: the reason was told to whoever waited
    await asyncio.sleep(0)  # the thread may have left the start of aiomqtt's own task to the loop
    task = client._misc_task  # noqa: SLF001 - as above
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
