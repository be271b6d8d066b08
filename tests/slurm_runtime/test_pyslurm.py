"""Reading by pyslurm, with fakes of its two interfaces; the command line stands behind."""

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from supervisor.errors import SlurmFailed
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.client import Runner
from supervisor.slurm.process import Answer, shielded
from supervisor.slurm.pyslurm_backend import PyslurmSlurm

JOB = JobId("7")
FACTS = JobFacts(
    job_id=JOB,
    state="RUNNING",
    nodes=(NodeName("n1"), NodeName("n2")),
    batch_host=NodeName("n1"),
    restarts=1,
    start_time=100.0,
    end_time=700.0,
    time_limit_s=600.0,
    partition="main",
    qos="normal",
    std_out="/o",
    std_err="/o",
    exclude="n3",
)
RECORD = {
    "job_id": 7,
    "job_state": "RUNNING",
    "state_reason": "None",
    "nodes": "n[1-2]",
    "batch_host": "n1",
    "restart_cnt": 1,
    "start_time": 100,
    "end_time": 700,
    "preempt_time": "None",
    "time_limit": 10,
    "partition": "main",
    "qos": "normal",
    "requeue": True,
    "std_out": "/o",
    "std_err": "/o",
    "dependency": None,
    "comment": None,
    "exc_nodes": ["n3"],
    "req_nodes": [],
    "array_job_id": None,
    "het_job_id": None,
}
LOADED = {
    "id": 7,
    "state": "RUNNING",
    "state_reason": "None",
    "allocated_nodes": "n[1-2]",
    "batch_host": "n1",
    "requeue_count": 1,
    "start_time": 100,
    "end_time": 700,
    "preempt_time": None,
    "time_limit": 10,
    "partition": "main",
    "qos": "normal",
    "is_requeueable": True,
    "standard_output": "/o",
    "standard_error": "/o",
    "dependencies": None,
    "comment": None,
    "excluded_nodes": "n3",
    "required_nodes": None,
    "array_id": None,
    "heterogeneous_id": None,
}


def dicts(**changes: object) -> SimpleNamespace:
    """The library as it was up to 22.05."""
    record = {**RECORD, **changes}
    nodes = {"n1": {"state": "DOWN*+DRAIN", "reason": "bad"}}
    return SimpleNamespace(
        job=lambda: SimpleNamespace(find_id=lambda _: [record]),
        node=lambda: SimpleNamespace(get_node=lambda name: {name: nodes[name]}),
    )


def objects(**changes: object) -> SimpleNamespace:
    """The library as it is since."""
    node = SimpleNamespace(state="DOWN*+DRAIN", reason="bad")
    return SimpleNamespace(
        Job=SimpleNamespace(load=lambda _: SimpleNamespace(**{**LOADED, **changes})),
        Node=SimpleNamespace(load=lambda _: node),
    )


BOTH = pytest.mark.parametrize("build", [dicts, objects])


class CommandLine:
    """Answers scontrol as a cluster of one release, with a job that only the command line calls COMPLETING."""

    def __init__(self, release: str = "22.05.8") -> None:
        self.release = release
        self.asked: list[str] = []

    async def __call__(self, shielded_argv: Sequence[str], **_: object) -> Answer:  # noqa: D102  # the class says it
        argv = [*shielded_argv][len(shielded([])) :]
        self.asked.append(argv[-2] if argv[-1] != "config" else "config")
        text = {
            "config": f"SLURM_VERSION = {self.release}\n",
            "job": f"JobId={argv[-1]} JobName=x UserId=u(1) JobState=COMPLETING\n",
            "node": f"NodeName={argv[-1]} State=IDLE\n",
        }[self.asked[-1]]
        return Answer(argv=tuple(argv), code=0, stdout=text, stderr="", took_s=0.0)


def backend(library: Any, *, installed: str | None = "22.5.3", runner: Runner | None = None) -> PyslurmSlurm:
    return PyslurmSlurm(
        installed=lambda: installed, load=lambda _: library, runner=runner or CommandLine(), environment={}
    )


@BOTH
async def test_job_is_the_same_by_either_interface(build: Any) -> None:
    """Both interfaces give the facts that the command line gives, and no command is run for the job."""
    runner = CommandLine()
    client = backend(build(), runner=runner)
    assert await client.job(JOB, deadline_s=30) == FACTS
    assert runner.asked == ["config"]
    assert client.calls.by_program["pyslurm"] == 1


@BOTH
async def test_node_states(build: Any) -> None:
    """A node's state and reason are read like scontrol's."""
    (state,) = await backend(build()).nodes([NodeName("n1")], deadline_s=30)
    assert (state.states, state.is_responding, state.reason) == (("DOWN", "DRAIN"), False, "bad")


@pytest.mark.parametrize(("installed", "running"), [("25.11.2", "22.05.8"), ("22.5.3", "26.05.5"), (None, "22.05.8")])
async def test_another_release_is_never_imported(installed: str | None, running: str) -> None:
    """With any other major.minor than the running Slurm's, or without pyslurm, it is not even imported."""

    def load(name: str) -> None:
        pytest.fail(f"{name} was imported")

    client = PyslurmSlurm(installed=lambda: installed, load=load, runner=CommandLine(running), environment={})
    assert (await client.job(JOB, deadline_s=30)).state == "COMPLETING"
    assert (await client.nodes([NodeName("n1")], deadline_s=30))[0].states == ("IDLE",)
    assert client.calls.by_program["pyslurm"] == 0


@pytest.mark.parametrize(
    "library",
    [
        dicts(array_job_id=7),
        dicts(het_job_id=7),
        objects(array_id=7),
        objects(heterogeneous_id=7),
        objects(dependencies={"afterok": [1]}),
        SimpleNamespace(),
    ],
)
async def test_what_it_cannot_tell_is_asked_on_the_command_line(library: Any) -> None:
    """Arrays, heterogeneous jobs, dependencies and any failure of the library fall back to scontrol."""
    assert (await backend(library).job(JOB, deadline_s=30)).state == "COMPLETING"


async def test_array_task_is_not_asked_of_it() -> None:
    """`17_3` is a name that only the commands know."""
    client = backend(dicts())
    assert (await client.job(JobId("17_3"), deadline_s=30)).state == "COMPLETING"
    assert client.calls.by_program["pyslurm"] == 0


async def test_a_library_that_hangs_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library has no deadline of its own: one that hangs costs its patience once, then it is left alone."""
    monkeypatch.setattr("supervisor.slurm.pyslurm_backend.PATIENCE_S", 0.1)
    stuck = threading.Event()
    library = SimpleNamespace(job=lambda: stuck.wait(60))
    client = backend(library)
    for _ in range(2):
        assert (await client.job(JOB, deadline_s=30)).state == "COMPLETING"
    stuck.set()
    assert client.calls.by_program["pyslurm"] == 1


async def test_slurm_that_does_not_answer_is_no_match() -> None:
    """While the running release is unknown, nothing is imported."""

    async def refuse(argv: Sequence[str], **_: object) -> Answer:
        return Answer(argv=tuple(argv), code=1, stdout="", stderr="down", took_s=0.0)

    client = PyslurmSlurm(
        installed=lambda: "22.5.3", load=lambda _: pytest.fail("imported"), runner=refuse, environment={}
    )
    with pytest.raises(SlurmFailed):
        await client.job(JOB, deadline_s=1)
