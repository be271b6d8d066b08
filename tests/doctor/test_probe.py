"""A task of the test job, without Slurm: the port between nodes, what it writes, when it stops."""

import signal
import socket
from pathlib import Path

import pytest

from supervisor.doctor.job import answers, probe
from supervisor.doctor.job.answers import AfterLook, Ask, NodeLook, OpenPort
from supervisor.doctor.job.processes import pid_of

_HERE = "127.0.0.1"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The second node of a job that nobody supervises."""
    monkeypatch.setenv("SLURMD_NODENAME", "n2")
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "4")
    monkeypatch.delenv("SUPERVISE_RUN_ID", raising=False)
    monkeypatch.setattr(probe, "_WAIT_S", 0.3)
    return tmp_path


def _look(folder: Path, nodes: int) -> NodeLook:
    try:
        probe.look(folder, _HERE, nodes)
    finally:
        signal.alarm(0)
    found = answers.read(folder, "node-n2.json", NodeLook)
    assert found is not None
    return found


def test_a_node_says_what_it_sees(node: Path) -> None:
    """With the GPUs that Slurm gave; unsupervised, it leaves nothing that somebody would have to stop."""
    found = _look(node, 1)
    assert (found.node, found.gpus_given, found.port, found.left) == ("n2", 4, "alone", ())
    assert found.machine.arch


def test_a_port_between_nodes_is_open_or_told_why_not(node: Path) -> None:
    """Nobody there, nobody listening, somebody listening, and nowhere to listen."""
    assert _look(node, 2).port == "the first node did not tell its port"
    with socket.create_server((_HERE, 0)) as server:
        answers.write(node, answers.PORT, OpenPort(host=_HERE, port=server.getsockname()[1]))
        assert _look(node, 2).port == "open"
    assert "refused" in _look(node, 2).port
    answers.write(node, answers.PORT, OpenPort(host=_HERE, port=0, complaint="all taken"))
    assert _look(node, 2).port == "all taken"


def test_the_first_node_listens_in_the_sites_range(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On no other port, and a range without a free one is told to all."""
    monkeypatch.setenv("SLURM_PROCID", "0")
    with socket.create_server((_HERE, 0)) as taken:
        port = taken.getsockname()[1]
        answers.write(node, answers.ASK, Ask(first_port=port, last_port=port))
        assert f"{_HERE}:{port}" in _look(node, 2).port
        told = answers.read(node, answers.PORT, OpenPort)
        assert told is not None
        assert told.complaint
    assert _look(node, 2).port == "listening"
    while probe._SERVERS:
        probe._SERVERS.pop().close()


def test_afterwards_nothing_of_before_may_live(node: Path) -> None:
    """A process that is alive is counted; this one is."""
    alive = pid_of(1)
    assert alive is not None
    look = _look(node, 1)
    answers.write(node, "node-n2.json", NodeLook(node="n2", machine=look.machine, left=(alive,)))
    probe.after(node)
    found = answers.read(node, "after-n2.json", AfterLook)
    assert found == AfterLook(node="n2", survivors=1, has_agent=False)
