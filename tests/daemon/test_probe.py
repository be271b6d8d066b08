"""What a probe of a node's slurmd proves."""

import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from supervisor.core.events import NodeProbed
from supervisor.core.instructions import ProbeNode
from supervisor.daemon.hands import ask
from supervisor.daemon.world import World
from supervisor.model.ids import NodeName

_HERE, _NODE, _OTHER = NodeName("n1"), NodeName("n2"), NodeName("n3")


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def _probed(port: int) -> NodeProbed:
    """The answer, while another node has just been heard."""
    roster = SimpleNamespace(address=lambda _: f"127.0.0.1:{port}", heard=lambda _: 5.0)
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

    async def late(_host: str, _port: int) -> str:
        time.sleep(0.2)  # noqa: ASYNC251  # a loop that gets no core is the very case
        return "gives no answer within 0.1 s"

    monkeypatch.setattr(ask, "_connect", late)
    monkeypatch.setattr(ask, "_PROBE_S", 0.1)
    monkeypatch.setattr(ask, "_LATE_S", 0.05)
    assert (await _probed(port)).answer == "unknown"
