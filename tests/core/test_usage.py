"""What a job has used: node-seconds held, and those that brought the run further."""

from typing import Any

import msgspec
import pytest

from supervisor.core.state import Attempt, Exit, Incident, Stage, State
from supervisor.core.usage import Usage, begun, computing, counted, held
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class, Verdict

_N1, _N2, _SPARE = NodeName("n1"), NodeName("n2"), NodeName("n3")
_BEGAN = 1000.0


class _Job:
    """A job whose state changes as told."""

    def __init__(self) -> None:
        self.state = State(nodes=(_N1, _N2, _SPARE), started_at=_BEGAN, stage=Stage.PREPARING)
        self.usage: Usage = begun(self.state, _BEGAN)

    def at(self, at: float, **changes: Any) -> None:  # fields of State
        after = msgspec.structs.replace(self.state, **changes)
        self.usage = counted(self.usage, self.state, after, _BEGAN + at)
        self.state = after

    def launch(self, at: float, number: int = 1) -> None:
        attempt = Attempt(number=AttemptNo(number), nodes=(_N1, _N2), launched_at=_BEGAN + at, is_started=True)
        self.at(at, attempt=attempt, stage=Stage.RUNNING)

    def attempt(self, at: float, **changes: Any) -> None:  # fields of Attempt
        assert self.state.attempt
        self.at(at, attempt=msgspec.structs.replace(self.state.attempt, **changes))

    def step(self, at: float, step: int) -> None:
        assert self.state.attempt
        furthest = max(step, self.state.behind.furthest_step or 0)
        self.at(
            at,
            attempt=msgspec.structs.replace(self.state.attempt, step=step, ranks_at=_BEGAN),
            behind=msgspec.structs.replace(self.state.behind, furthest_step=furthest),
        )

    def held(self, at: float) -> float:
        return held(self.usage, self.state, _BEGAN + at)

    def computing(self, at: float) -> float:
        return computing(self.usage, self.state, _BEGAN + at)


@pytest.fixture
def job() -> _Job:
    return _Job()


def test_all_nodes_are_held_spares_too(job: _Job) -> None:
    """From the beginning, and only while they are in the job."""
    assert job.held(10) == 30
    job.at(10, out=(_N2,))
    assert job.held(10) == 30
    assert job.held(20) == 50


def test_steps_that_are_new_are_computing(job: _Job) -> None:
    """On the attempt's nodes; what came before the first step is not."""
    job.launch(10)
    job.step(40, 1)
    assert job.computing(40) == 0
    job.step(50, 2)
    job.step(60, 3)
    assert job.computing(99) == 40


def test_steps_that_are_made_again_are_none(job: _Job) -> None:
    """A new attempt counts from where it gets further than the run ever was."""
    job.launch(0)
    job.step(10, 1)
    job.step(20, 5)
    job.launch(30, 2)
    job.step(100, 3)
    job.step(110, 4)
    job.step(120, 5)
    assert job.computing(120) == 20
    job.step(130, 6)
    assert job.computing(130) == 40


def test_the_time_between_two_attempts_is_none(job: _Job) -> None:
    """The first step of an attempt has no step before it."""
    job.launch(0)
    job.step(10, 1)
    job.launch(500, 2)
    job.step(600, 2)
    assert job.computing(600) == 0


def test_without_steps_ranks_that_run_are_computing(job: _Job) -> None:
    """Scripts that tell no steps: up to now, while nothing is wrong."""
    job.launch(10)
    assert job.computing(50) == 0
    job.attempt(50, ranks_at=_BEGAN + 50)
    assert job.computing(60) == 20
    job.attempt(70, exit=Exit(code=0))
    assert job.computing(500) == 40


def test_without_steps_the_time_after_the_first_evidence_is_none(job: _Job) -> None:
    """The interruption is noticed later than it happened."""
    job.launch(0)
    job.attempt(10, ranks_at=_BEGAN + 10)
    record = IncidentRecord(
        run_id=RunId("r"),
        job_id=JobId("1"),
        incident=IncidentNo(1),
        attempt=AttemptNo(1),
        opened_at=_BEGAN + 40,
        evidence_at=_BEGAN + 30,
        verdict=Verdict(cls=Class.UNKNOWN, cause="unattributed", confidence=0.0, summary=""),
        action="none",
    )
    job.at(40, stage=Stage.COLLECTING, incident=Incident(record=record))
    assert job.computing(99) == 40


def test_no_more_is_computed_than_held(job: _Job) -> None:
    """A node that has left the job is no node of an attempt, whatever its last beat said."""
    job.at(0, out=(_N2, _SPARE))
    job.launch(0)
    job.step(1, 1)
    job.step(50, 2)
    assert job.computing(50) == job.held(50) == 50


def test_restarts_of_jobs_before_are_not_this_ones(job: _Job) -> None:
    """The run's count goes on over its jobs."""
    state = State(behind=msgspec.structs.replace(job.state.behind, restarts=4))
    assert begun(state, _BEGAN).restarts_before == 4
