"""Tier 0: what one node can say about itself in seconds, without touching a device's memory."""

import asyncio
import contextlib
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from supervisor.model.ids import NodeName
from supervisor.model.wire import Checked, CheckNode, NodeFacts
from supervisor.telemetry.aside import aside
from supervisor.telemetry.gpu.reader import GpuFacts, GpuReader

_T = TypeVar("_T")
_PEERS_AT_ONCE: Final = 32
"""Connections in the making: enough to ask 1,000 peers in seconds, few enough for any limit of open files."""
_ANSWER_MARGIN: Final = 0.9
"""Share of the deadline that one reading may use, so that the answer still goes out in time."""


class NodeCheck:
    """Reads this node's facts. Nothing here can block the loop or outlast its deadline.

    A folder whose mount hangs is asked by one thread only, however often the node is checked.
    """

    def __init__(
        self,
        *,
        gpus: GpuReader,
        environment: Mapping[str, str],
        address: str = "",
        wall_clock: Callable[[], float] = time.time,
        stat: Callable[[str], object] = os.stat,
    ) -> None:
        self._gpus = gpus
        self._environment = environment
        self._address = address
        self._wall_clock = wall_clock
        self._stat = stat
        self._hanging: set[str] = set()

    async def facts(self, folders: Sequence[str], *, deadline_s: float) -> NodeFacts:
        """All facts. What gives no answer in time is None, a silent folder is missing."""
        clock_s = self._wall_clock()
        missing, gpu = await asyncio.gather(
            self._missing(folders, deadline_s=deadline_s), self._gpu_facts(deadline_s=deadline_s)
        )
        return NodeFacts(
            boot_id=_first_line("/proc/sys/kernel/random/boot_id"),
            kernel=os.uname().release,
            python=platform.python_version(),
            gpu_count=gpu.device_count if gpu else None,
            expected_gpu_count=expected_gpus(self._environment) if gpu else None,
            driver_version=gpu.driver_version if gpu else None,
            shm_free_bytes=_free_bytes("/dev/shm"),  # noqa: S108 - asked about, not written to
            mounts_missing=missing,
            clock_s=clock_s,
        )

    async def answer(self, node: NodeName, question: CheckNode) -> Checked:
        """The answer to a supervisor's question, within its deadline."""
        started = time.monotonic()
        within_s = question.deadline_s * _ANSWER_MARGIN
        facts, unreachable = await asyncio.gather(
            self.facts(question.folders, deadline_s=within_s), unreachable_peers(question.peers, deadline_s=within_s)
        )
        return Checked(
            node=node,
            ask=question.ask,
            facts=facts,
            address=self._address,
            unreachable_peers=unreachable,
            took_s=time.monotonic() - started,
        )

    async def _gpu_facts(self, *, deadline_s: float) -> GpuFacts | None:
        if "gpu driver" in self._hanging:
            return None
        with contextlib.suppress(TimeoutError):
            return await self._once("gpu driver", self._gpus.facts, deadline_s=deadline_s)
        return None

    async def _missing(self, folders: Sequence[str], *, deadline_s: float) -> tuple[str, ...]:
        answers = await asyncio.gather(*(self._is_there(folder, deadline_s=deadline_s) for folder in folders))
        return tuple(folder for folder, is_there in zip(folders, answers, strict=True) if not is_there)

    async def _is_there(self, folder: str, *, deadline_s: float) -> bool:
        if folder in self._hanging:
            return False
        try:
            await self._once(folder, lambda: self._stat(folder), deadline_s=deadline_s)
        except (OSError, ValueError):  # TimeoutError is an OSError
            return False
        return True

    async def _once(self, name: str, call: Callable[[], _T], *, deadline_s: float) -> _T:
        """The answer of a call that is not made again until it has returned."""

        def make() -> _T:
            try:
                return call()
            finally:
                self._hanging.discard(name)

        self._hanging.add(name)
        return await aside(make, deadline_s=deadline_s, name=f"check[{name}]")


def expected_gpus(environment: Mapping[str, str]) -> int | None:
    """Devices the allocation gave this step on this node; None where the job asked for none."""
    counted = environment.get("SLURM_GPUS_ON_NODE", "")
    if counted.isdigit():
        return int(counted) or None
    listed = [part for part in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if part.strip()]
    return None if not listed or listed[0] in {"-1", "NoDevFiles"} else len(listed)


async def unreachable_peers(peers: Sequence[str], *, deadline_s: float) -> tuple[str, ...]:
    """Those of `host:port` that accept no TCP connection within the deadline, in the order given."""
    free = asyncio.Semaphore(_PEERS_AT_ONCE)

    async def ask(peer: str) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_s), free:
                return await accepts(peer)
        return False

    answers = await asyncio.gather(*(ask(peer) for peer in peers))
    return tuple(peer for peer, accepted in zip(peers, answers, strict=True) if not accepted)


async def accepts(peer: str) -> bool:
    """Whether `host:port` accepts a TCP connection. The caller sets the deadline."""
    host, _, port = peer.rpartition(":")
    if not host or not port.isdigit():
        return False
    try:
        address = await _address(host.strip("[]"), int(port))
        _, writer = await asyncio.open_connection(*address)
    except (OSError, UnicodeError, OverflowError):
        return False
    writer.close()
    return True


async def _address(host: str, port: int) -> tuple[str, int]:
    """The numeric address, looked up aside: a name server that is silent holds its caller for minutes."""
    import socket  # only where a peer is asked

    found = await aside(
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), deadline_s=None, name=f"lookup[{host}]"
    )
    return str(found[0][4][0]), port


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _free_bytes(path: str) -> int | None:
    try:
        facts = os.statvfs(path)
    except OSError:
        return None
    return facts.f_bavail * facts.f_frsize
