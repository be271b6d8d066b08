"""What one node says about itself, and that nothing can hold it up."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from supervisor.model.ids import NodeName
from supervisor.model.wire import CheckNode
from supervisor.selftest.tier0 import NodeCheck, expected_gpus, unreachable_peers
from supervisor.telemetry.gpu.nvml import NvmlReader, _facts
from supervisor.telemetry.gpu.reader import GpuFacts

HERE = NodeName("n1")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class _Gpus:
    """Devices by hand."""

    def __init__(self, facts: GpuFacts | None = None) -> None:
        self._facts = facts

    def facts(self) -> GpuFacts | None:
        return self._facts


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    """Let go at the end, so that no thread stays behind."""
    event = threading.Event()
    yield event
    event.set()


def _check(**changes: object) -> NodeCheck:
    return NodeCheck(**{"gpus": _Gpus(), "environment": {}, "address": "n1:6818", **changes})  # type: ignore[arg-type]  # by name


async def test_the_facts_of_this_machine() -> None:
    """What can be read without a driver is read; what belongs to devices is None."""
    facts = await _check(environment={"SLURM_GPUS_ON_NODE": "8"}).facts(("/", "/no/such"), deadline_s=30.0)
    assert facts.kernel == os.uname().release
    assert facts.boot_id == BOOT_ID
    assert facts.shm_free_bytes is not None
    assert abs((facts.clock_s or 0.0) - time.time()) < 60
    assert facts.mounts_missing == ("/no/such",)
    assert (facts.gpu_count, facts.expected_gpu_count, facts.driver_version) == (None, None, None)


async def test_devices_are_counted_against_the_allocation() -> None:
    """With a driver, what it counts stands beside what Slurm gave."""
    gpus = _Gpus(GpuFacts(driver_version="570.1", device_count=7))
    facts = await _check(gpus=gpus, environment={"SLURM_GPUS_ON_NODE": "8"}).facts((), deadline_s=30.0)
    assert (facts.gpu_count, facts.expected_gpu_count, facts.driver_version) == (7, 8, "570.1")


async def test_a_mount_that_hangs_is_missing_and_asked_once(hang: threading.Event) -> None:
    """A dead mount costs its deadline once; later checks do not send another thread after the first."""
    asked: list[str] = []

    def stat(folder: str) -> None:
        asked.append(folder)
        if folder == "/dead":
            hang.wait()

    check = _check(stat=stat)
    for _ in range(2):
        facts = await check.facts(("/dead", "/alive"), deadline_s=0.2)
        assert facts.mounts_missing == ("/dead",)
    assert asked.count("/dead") == 1
    hang.set()
    async with asyncio.timeout(30):
        while True:
            if not (await check.facts(("/dead",), deadline_s=30.0)).mounts_missing:
                break


async def test_a_driver_that_hangs_is_no_driver(hang: threading.Event) -> None:
    """A driver that does not answer leaves its facts unknown and the others read."""
    gpus = _Gpus()
    gpus.facts = hang.wait  # type: ignore[method-assign,assignment]  # hangs instead of answering
    facts = await _check(gpus=gpus).facts(("/",), deadline_s=0.2)
    assert facts.driver_version is None
    assert facts.kernel


async def test_peers_are_reached_or_named() -> None:
    """Of several peers, those that accept no connection are named, in the order asked."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        closed = ("127.0.0.1:1", f"127.0.0.1:{port}", "nonsense", "127.0.0.1:")
        answer = await _check().answer(HERE, CheckNode(ask="q", peers=closed, deadline_s=30.0))
    assert answer.unreachable_peers == ("127.0.0.1:1", "nonsense", "127.0.0.1:")
    assert (answer.node, answer.ask, answer.address) == (HERE, "q", "n1:6818")


async def test_a_peer_that_swallows_packets_costs_the_deadline_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer at all is unreachable, at the deadline and not at TCP's own of two minutes."""

    async def never(_: str) -> bool:
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr("supervisor.selftest.tier0.accepts", never)
    peers = [f"n{number}:1" for number in range(100)]
    async with asyncio.timeout(30):
        assert await unreachable_peers(peers, deadline_s=0.2) == tuple(peers)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SLURM_GPUS_ON_NODE": "8"}, 8),
        ({"SLURM_GPUS_ON_NODE": "0"}, None),
        ({"SLURM_GPUS_ON_NODE": "4", "CUDA_VISIBLE_DEVICES": "0,1"}, 4),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, 2),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b,GPU-c"}, 3),
        ({"CUDA_VISIBLE_DEVICES": ""}, None),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, None),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, None),
        ({}, None),
    ],
)
def test_expected_devices_come_from_the_allocation(environment: dict[str, str], expected: int | None) -> None:
    """Slurm's count goes before CUDA's list; a job without devices expects none."""
    assert expected_gpus(environment) == expected


def test_without_a_driver_nvml_says_nothing() -> None:
    """No driver is no error: the reader is silent."""
    if Path("/dev/nvidiactl").exists():
        assert NvmlReader().facts() is not None
    else:
        assert NvmlReader().facts() is None


class _Nvml(ModuleType):
    """Stands in for pynvml, with its two kinds of errors."""

    class NVMLError(Exception):
        """The usual one."""

    class NVMLLibraryMismatchError(Exception):
        """Not an NVMLError, as in the real one."""

    def __init__(self, *, fails_at: str = "", version: str | bytes = "570.1") -> None:
        super().__init__("pynvml")
        self.closed = 0

        def answer(name: str, value: object) -> object:
            if name == fails_at:
                raise self.NVMLLibraryMismatchError if "Count" in name else self.NVMLError
            return value

        self.nvmlInit = lambda: answer("nvmlInit", None)
        self.nvmlSystemGetDriverVersion = lambda: answer("nvmlSystemGetDriverVersion", version)
        self.nvmlDeviceGetCount = lambda: answer("nvmlDeviceGetCount", 8)
        self.nvmlShutdown = self._shut_down

    def _shut_down(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("version", ["570.1", b"570.1"])
def test_nvml_says_version_and_count(version: str | bytes) -> None:
    """Text or bytes, by the age of pynvml; the driver is let go afterwards."""
    nvml = _Nvml(version=version)
    assert _facts(nvml) == GpuFacts(driver_version="570.1", device_count=8)
    assert nvml.closed == 1


@pytest.mark.parametrize(
    ("fails_at", "closed"), [("nvmlInit", 0), ("nvmlSystemGetDriverVersion", 1), ("nvmlDeviceGetCount", 1)]
)
def test_an_nvml_that_refuses_says_nothing(fails_at: str, closed: int) -> None:
    """Each of pynvml's errors is silence; what was opened is let go."""
    nvml = _Nvml(fails_at=fails_at)
    assert _facts(nvml) is None
    assert nvml.closed == closed
