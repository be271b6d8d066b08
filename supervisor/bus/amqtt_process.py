"""The broker in pure Python, a process of its own: `python -I -m supervisor.bus.amqtt_process CONFIG`."""

import asyncio
import contextlib
import functools
import hmac
import logging
import resource
import signal
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from amqtt.broker import Broker
from amqtt.contexts import Action
from amqtt.plugins.base import BaseAuthPlugin, BaseTopicPlugin
from amqtt.session import Session

from supervisor.bus.broker_kinds import AmqttConfig

_HANDSHAKE_S: Final = 10.0
_BACKLOG: Final = 1024
_LISTENER: Final = "default"
_HERE: Final = "supervisor.bus.amqtt_process"


class OneUser(BaseAuthPlugin):  # type: ignore[misc] # amqtt publishes no types
    """Lets in the run's own user and nobody else.

    amqtt's own password plugin takes 50 ms and 64 MB for each connection (argon2), which a password of 256 random bits
    does not need and two thousand agents that connect again at once do not bear.
    """

    async def authenticate(self, *, session: Session) -> bool | None:
        """Whether user and password are the run's."""
        user = hmac.compare_digest((session.username or "").encode(), self.config.user.encode())
        password = hmac.compare_digest((session.password or "").encode(), self.config.password.encode())
        return user and password

    @dataclass
    class Config:
        user: str
        password: str


class OneTree(BaseTopicPlugin):  # type: ignore[misc] # amqtt publishes no types
    """Lets the user say and hear what lies under the run's own topics only."""

    async def topic_filtering(
        self,
        *,
        session: Session | None = None,  # noqa: ARG002 - amqtt's signature
        topic: str | None = None,
        action: Action | None = None,  # noqa: ARG002 - amqtt's signature
    ) -> bool | None:
        """Whether this topic or filter lies in the run's tree."""
        return topic is not None and topic.startswith(self.config.topics.removesuffix("#"))

    @dataclass
    class Config:
        topics: str


def plugins(config: AmqttConfig) -> dict[str, dict[str, str]]:
    """The two rules of this broker as amqtt wants to be told of them."""
    return {
        f"{_HERE}.OneUser": {"user": config.user, "password": config.password},
        f"{_HERE}.OneTree": {"topics": config.topics},
    }


async def serve(config: AmqttConfig) -> None:
    """Run the broker until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    # `external`: the listening socket is ours, so that amqtt's defaults (every address, no TLS) cannot slip in.
    listeners = {_LISTENER: {"type": "external", "bind": f"{config.host}:{config.port}"}}
    broker = Broker({"listeners": listeners, "plugins": plugins(config)})
    await broker.start()
    server = await asyncio.start_server(
        functools.partial(broker.stream_connected, listener_name=_LISTENER),
        config.host,
        config.port,
        ssl=_tls(config),
        ssl_handshake_timeout=_HANDSHAKE_S,
        backlog=_BACKLOG,
        reuse_address=True,
    )
    await stop.wait()
    server.close()


def _tls(config: AmqttConfig) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(config.certificate, config.key)
    return context


def main(path: Path) -> None:
    """Serve what the file says."""
    config = msgspec.json.decode(path.read_bytes(), type=AmqttConfig)
    logging.basicConfig(level=logging.ERROR)
    with contextlib.suppress(ValueError, OSError):  # a lower limit of the site stands
        resource.setrlimit(resource.RLIMIT_DATA, (config.memory_limit_bytes, config.memory_limit_bytes))
    asyncio.run(serve(config))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
