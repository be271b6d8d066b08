"""What a probe of a node's slurmd proves."""

import asyncio
import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from supervisor.core.events import NodeProbed
from supervisor.core.instructions import AskSlurm, ProbeNode
from supervisor.daemon.hands import ask
from supervisor.daemon.world import World
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName
from supervisor.settings import Settings

_HERE, _NODE, _OTHER = NodeName("n1"), NodeName("n2"), NodeName("n3")


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def _probed(port: int, host: str = "127.0.0.1") -> NodeProbed:
    """The answer, while another node has just been heard."""
    roster = SimpleNamespace(address=lambda _: f"{host}:{port}", heard=lambda _: 5.0)
    around = SimpleNamespace(nodes=(_HERE, _NODE, _OTHER), here=_HERE)
    world = SimpleNamespace(roster=roster, around=around, clock=lambda: 5.0)
    return await ask.probe(cast("World", world), ProbeNode(node=_NODE))


async def test_who_accepts_is_alive(port: int) -> None:
    """Its slurmd is there, whatever became of the agent."""
    assert (await _probed(port)).answer == "alive"


async def test_who_refuses_is_dead(port: int) -> None:
    """While others are heard."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        unused = server.getsockname()[1]
    assert unused != port
    assert (await _probed(unused)).answer == "dead"


async def test_a_late_probe_proves_nothing(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process had no core until the deadline was over: the node may have answered long ago."""

    async def late(_addresses: list[str], _port: int) -> str:
        time.sleep(0.2)  # noqa: ASYNC251  # a loop that gets no core is the very case
        return "gives no answer within 0.1 s"

    monkeypatch.setattr(ask, "_connect", late)
    monkeypatch.setattr(ask, "_PROBE_S", 0.1)
    monkeypatch.setattr(ask, "_LATE_S", 0.05)
    assert (await _probed(port)).answer == "unknown"


@pytest.mark.parametrize("how", ["refused", "hanging"])
async def test_a_name_service_that_is_away_is_no_word_of_the_node(
    port: int, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The node is healthy, only its agent is silent: a name that cannot be resolved must not cost it the run."""

    def lookup(*_: object, **__: object) -> list[object]:
        if how == "hanging":
            time.sleep(0.5)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr(ask, "_RESOLVE_S", 0.1)
    probed = await _probed(port, "node2.cluster")
    assert (probed.answer, probed.text) == ("unknown", "its address is not known")


async def test_an_address_of_ipv6_is_reached(port: int) -> None:
    """Agents tell it in brackets; a slurmd that listens on one of a name's addresses only is there as well."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        assert (await _probed(server.getsockname()[1], "[::1]")).answer == "alive"
    assert await ask._connect(["::1", "127.0.0.1"], port) is None


class _SlowSlurm:
    """Needs more than half of the deadline for each answer."""

    async def job(self, job: JobId, **_: object) -> JobFacts:
        await asyncio.sleep(0.6)
        return JobFacts(job_id=job, state="COMPLETING", reason="TimeLimit")

    async def nodes(self, _names: object, **_: object) -> tuple[NodeState, ...]:
        await asyncio.sleep(0.6)
        return ()


async def test_a_slow_slurm_is_heard() -> None:
    """Job and nodes are asked side by side: why a job ends must not be lost for the states of its nodes."""
    around = SimpleNamespace(job_id=JobId("7"), nodes=(_HERE,))
    world = SimpleNamespace(
        slurm=_SlowSlurm(), settings=Settings(slurm_deadline_s=1.0), around=around, clock=lambda: 5.0
    )
    assert (await ask.ask_slurm(cast("World", world), AskSlurm())).job is not None
