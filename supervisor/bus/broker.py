"""The run's own broker: found again or started, kept alive, ended."""

import asyncio
import contextlib
import ipaddress
import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from supervisor.bus import broker_kinds, broker_process
from supervisor.bus.backoff import Backoff
from supervisor.bus.broker_kinds import BrokerKind
from supervisor.bus.broker_process import ProcessMark
from supervisor.bus.credentials import Secrets
from supervisor.bus.probe import is_ours
from supervisor.errors import BrokerFailed
from supervisor.model.base import Fact, encode
from supervisor.model.ids import RunId

_STATE: Final = "broker.json"
_LOG: Final = "broker.log"
_PORTS_TRIED: Final = 5
_ADOPT_S: Final = 3.0
# A Python that loads amqtt from a busy shared filesystem takes its time; mosquitto listens within 20 ms.
_LISTENING_S: Final[dict[BrokerKind, float]] = {"mosquitto": 5.0, "amqtt": 20.0}
_PROBE_S: Final = 2.0
_PROBE_EVERY_S: Final = 0.05
_WATCH_EVERY_S: Final = 0.2


class BrokerState(Fact, frozen=True, kw_only=True):
    """What a supervisor leaves for the next one to find the broker by."""

    kind: BrokerKind
    process: ProcessMark
    port: int


class Broker:
    """An MQTT broker on one address, with TLS, for one user. Entering returns when it listens.

    It is found again if an earlier supervisor started it (same folder), else started: on the port that the run's
    agents know already (`secrets.port`), else on one of `ports`, else on one that the kernel chooses.
    Leaving leaves it running, so that the next supervisor finds it; `stop()` ends it. It ends by itself when the
    process `lives_with` (the keeper) does. Raises `BrokerFailed`.
    """

    def __init__(
        self, folder: Path, *, run: RunId, secrets: Secrets, lives_with: int, ports: range | None = None
    ) -> None:
        self._folder = folder
        self._run = run
        self._secrets = secrets
        self._lives_with = lives_with
        self._ports = ports
        self._state: BrokerState | None = None
        self._is_stopping = False
        self.restarts = 0

    @property
    def host(self) -> str:
        """The IP address where it listens, the only one."""
        return self._secrets.address

    @property
    def port(self) -> int:
        """Where it listens. Only between entering and leaving."""
        return self._known().port

    @property
    def kind(self) -> BrokerKind:
        """Which program it is."""
        return self._known().kind

    @property
    def pid(self) -> int:
        """Its process, for `status`."""
        return self._known().process.pid

    async def __aenter__(self) -> Self:
        _check_address(self.host)
        if not await self.adopt():
            await self._end_earlier()
            await asyncio.to_thread(self._make_folder)
            await self._start_somewhere()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing ends here: the agents' connections must survive the supervisor."""

    async def adopt(self) -> bool:
        """Whether a broker of an earlier supervisor answers as this run's own; it is this object's from now on."""
        state = self._read_state()
        if state is None or not state.process.is_alive():
            return False
        if not await is_ours(self._secrets, state.port, deadline_s=_ADOPT_S):
            return False
        self._state = state
        return True

    async def watch(self, noticed: Callable[[str], None]) -> None:
        """Restart the broker on the same port whenever it ends, for ever; `noticed` gets a sentence each time."""
        while not self._is_stopping:
            await broker_process.gone(self._known().process, poll_s=_WATCH_EVERY_S)
            if not self._is_stopping:
                noticed(f"the broker (pid {self.pid}) has ended{broker_process.last_words(self._folder / _LOG)}")
                await self._restart(noticed)

    async def stop(self) -> None:
        """End the broker and forget its files; the agents' last wills are not said any more."""
        self._is_stopping = True
        state = self._state or self._read_state()
        if state is not None:
            await broker_process.end(state.process)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _end_earlier(self) -> None:
        state = self._read_state()
        if state is not None:
            await broker_process.end(state.process)

    async def _restart(self, noticed: Callable[[str], None]) -> None:
        backoff = Backoff()
        while not self._is_stopping:
            await asyncio.sleep(backoff.next_delay())
            try:
                await self._start(self.kind, self.port)
            except BrokerFailed as exc:
                if backoff.tries == 1:  # the first reason is told, not each of them
                    noticed(str(exc))
                continue
            self.restarts += 1
            noticed(f"the broker is back (pid {self.pid}) after {backoff.tries} tries")
            return

    async def _start_somewhere(self) -> None:
        failures: list[str] = []
        for kind in broker_kinds.find_kinds():
            for port in self._candidates():
                try:
                    return await self._start(kind, port)
                except BrokerFailed as exc:
                    failures.append(str(exc))
        raise BrokerFailed(
            f"no broker could be started on {self.host}: {'; '.join(failures[-3:]) or 'no free port'}; "
            "use --transport stdout where no port may be opened"
        )

    def _candidates(self) -> list[int]:
        known = [self._secrets.port] if self._secrets.port else []
        if self._ports is None:
            return [*known, *filter(None, (_free_port(self.host, 0) for _ in range(_PORTS_TRIED)))]
        shuffled = random.sample(self._ports, len(self._ports))
        free = (port for port in shuffled if _free_port(self.host, port))
        return [*known, *(port for port, _ in zip(free, range(_PORTS_TRIED), strict=False))]

    async def _start(self, kind: BrokerKind, port: int) -> None:
        await asyncio.to_thread(self._write_files, kind, port)
        log = self._folder / _LOG
        command = broker_kinds.command(kind, self._folder)
        process = await broker_process.launch(command, log=log, lives_with=self._lives_with)
        state = BrokerState(kind=kind, process=process, port=port)
        try:
            # Before it listens: a supervisor that is killed now must not leave a broker that nobody knows of.
            await asyncio.to_thread(_write, self._folder / _STATE, encode(state))
            await self._listening(state)
        except BaseException:
            await asyncio.shield(broker_process.end(process))
            raise
        self._state = state

    async def _listening(self, state: BrokerState) -> None:
        log = self._folder / _LOG
        what = f"{state.kind} on {self.host}:{state.port}"
        try:
            async with asyncio.timeout(_LISTENING_S[state.kind]):
                while not await is_ours(self._secrets, state.port, deadline_s=_PROBE_S):
                    if not state.process.is_alive():
                        break
                    await asyncio.sleep(_PROBE_EVERY_S)
        except TimeoutError:
            words = broker_process.last_words(log)
            raise BrokerFailed(f"{what} did not listen within {_LISTENING_S[state.kind]:.0f} s{words}") from None
        if not state.process.is_alive():
            raise BrokerFailed(f"{what} ended at once{broker_process.last_words(log)}")

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
        except OSError as exc:
            raise BrokerFailed(f"{self._folder} cannot be made for the broker: {exc.strerror}") from exc

    def _write_files(self, kind: BrokerKind, port: int) -> None:
        texts = broker_kinds.files(kind, self._folder, secrets=self._secrets, port=port, run=self._run)
        for name, text in texts.items():
            _write(self._folder / name, text)

    def _read_state(self) -> BrokerState | None:
        try:
            return msgspec.json.decode((self._folder / _STATE).read_bytes(), type=BrokerState)
        except (OSError, msgspec.MsgspecError):
            return None

    def _known(self) -> BrokerState:
        if self._state is None:
            raise BrokerFailed("the broker was asked for before it was started: enter it first")
        return self._state


def _check_address(address: str) -> None:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        raise BrokerFailed(f"{address!r} is no IP address: resolve the node's Slurm address first") from None
    if ip.is_unspecified or ip.is_multicast:
        raise BrokerFailed(f"a broker never listens on {address}: give the one address that Slurm knows this node by")


def _free_port(host: str, port: int) -> int:
    """This port, or one that the kernel chooses for 0; 0 where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError:
            return 0
        return int(tried.getsockname()[1])


def _write(path: Path, content: bytes) -> None:
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with contextlib.closing(open(descriptor, "wb")) as file:  # noqa: PTH123 - wraps a descriptor
            file.write(content)
    except OSError as exc:
        raise BrokerFailed(f"{path} cannot be written ({exc.strerror}): the broker needs it") from exc
