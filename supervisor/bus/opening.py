"""Opens the supervisor's end of the bus: MQTT where a broker can be had, the agent step's stdout where not."""

import asyncio
import contextlib
import ipaddress
import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from supervisor.bus import credentials, mqtt, stdout
from supervisor.bus.broker import Broker
from supervisor.bus.protocol import HubLink
from supervisor.bus.stdout_hub import IN_NAME
from supervisor.errors import BrokerFailed, RunFolderUnusable
from supervisor.model.agent_config import AgentConfig
from supervisor.model.base import Fact
from supervisor.model.ids import JobId, RunId

_RESOLVE_S: Final = 3.0


class BusPlace(Fact, frozen=True, kw_only=True):
    """Where the bus of one job is to be."""

    run: RunId
    transport: Literal["auto", "mqtt", "stdout"] = "auto"
    address: str
    """The batch host's Slurm address: where the broker listens, and nowhere else."""
    folder: Path
    """Node-local, this job's and the bus's alone (see `local_folder`)."""
    secrets_file: Path
    """In the run folder."""
    lives_with: int
    """The keeper's process: when it ends, the broker does."""
    first_port: int = 0
    last_port: int = 0
    """SrunPortRange; 0: any port."""

    @property
    def ports(self) -> range | None:
        """The ports a broker may listen on, None for any."""
        return range(self.first_port, self.last_port + 1) if self.first_port else None


class OpenHub:
    """The open bus: `link` speaks, `agent_config` tells the agents how to."""

    def __init__(self, link: HubLink, broker: Broker | None, secrets: credentials.Secrets | None, reason: str) -> None:
        self.link = link
        self.broker = broker
        self.reason = reason
        """Why it is not MQTT, as a sentence; empty where it is or was not to be."""
        self._secrets = secrets

    @property
    def transport(self) -> Literal["mqtt", "stdout"]:
        """What carries the words."""
        return "stdout" if self.broker is None else "mqtt"

    def agent_config(self, config: AgentConfig) -> AgentConfig:
        """The configuration with what an agent needs to reach this bus."""
        if self.broker is None or self._secrets is None:
            return msgspec.structs.replace(config, transport="stdout")
        return msgspec.structs.replace(
            config,
            transport="mqtt",
            broker_host=self.broker.host,
            broker_port=self.broker.port,
            user=self._secrets.user,
            password=self._secrets.password,
            ca_pem=self._secrets.certificate_pem,
        )

    async def watch(self, noticed: Callable[[str], None]) -> None:
        """Keep the broker alive, for ever; returns at once where there is none."""
        if self.broker is not None:
            await self.broker.watch(noticed)

    async def stop(self) -> None:
        """End the broker; for the end of the job only. Links stay open and silent."""
        if self.broker is not None:
            await self.broker.stop()


@contextlib.asynccontextmanager
async def open_hub(place: BusPlace) -> AsyncIterator[OpenHub]:
    """The bus, listening. A supervisor that was started again finds the bus of the one before, agents included.

    Raises `BrokerFailed` where the transport that was asked for cannot be had.
    """
    async with contextlib.AsyncExitStack() as stack:
        yield await _open(place, stack)


def local_folder(job: JobId) -> Path:
    """A node-local folder of this job that only its owner can enter, the same at each call. Raises `BrokerFailed`."""
    for parent in ("/dev/shm", tempfile.gettempdir()):  # noqa: S108 - made private and checked below
        folder = Path(parent) / f"supervise-bus-{os.getuid()}-{job}"
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
                return folder
    raise BrokerFailed("neither /dev/shm nor TMPDIR holds a private folder: free space there or set TMPDIR")


async def _open(place: BusPlace, stack: contextlib.AsyncExitStack) -> OpenHub:
    reason = ""
    agents_use_stdout = (place.folder / "stdout" / IN_NAME).exists()
    if place.transport == "mqtt" or (place.transport == "auto" and not agents_use_stdout):
        try:
            return await _open_mqtt(place, stack)
        except (BrokerFailed, RunFolderUnusable) as exc:
            if place.transport == "mqtt":
                raise
            reason = str(exc)
    link = await stack.enter_async_context(stdout.hub_link(place.folder / "stdout"))
    return OpenHub(link, None, None, reason)


async def _open_mqtt(place: BusPlace, stack: contextlib.AsyncExitStack) -> OpenHub:
    address = await _ip_of(place.address)
    secrets = await asyncio.to_thread(credentials.load_or_make, place.secrets_file, address)
    folder, ports = place.folder / "broker", place.ports
    broker = Broker(folder, run=place.run, secrets=secrets, lives_with=place.lives_with, ports=ports)
    async with broker:
        try:
            if broker.port != secrets.port:
                secrets = msgspec.structs.replace(secrets, port=broker.port)
                await asyncio.to_thread(credentials.save, place.secrets_file, secrets)
            link = mqtt.hub_link(run=place.run, secrets=secrets, port=broker.port)
            return OpenHub(await stack.enter_async_context(link), broker, secrets, "")
        except (BrokerFailed, RunFolderUnusable):
            await broker.stop()
            raise


async def _ip_of(address: str) -> str:
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(address))
    try:
        async with asyncio.timeout(_RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(address, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as exc:
        raise BrokerFailed(f"the address {address!r} of this node cannot be resolved: {exc}") from exc
    return str(found[0][4][0])
