"""A run whose batch host has died: who may start another job for it, and what that job begins with."""

from typing import Any

import msgspec
import pytest

from supervisor.core.carried import Carried, Halt
from supervisor.core.cut_off import interruption
from supervisor.core.instructions import Finish
from supervisor.core.state import Attempt, Stage, State, Term
from supervisor.core.succession import begun_by_agent, decide
from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId
from supervisor.model.order import PersonOrder
from supervisor.model.takeover import Takeover
from supervisor.settings import Settings

HOST, SECOND, BAD = NodeName("n1"), NodeName("n2"), NodeName("n9")
RUNNING = State(
    stage=Stage.RUNNING,
    run_id=RunId("r"),
    job_id=JobId("7"),
    nodes=(HOST, SECOND),
    batch_host=HOST,
    started_at=0.0,
    walltime_at=36_000.0,
    attempt=Attempt(number=AttemptNo(2), nodes=(HOST, SECOND), launched_at=10.0, is_started=True),
    behind=Carried(restarts=1, requested_node_seconds=72_000.0, excluded=(BAD,)),
)
TAKEOVER = Takeover(
    job_id=JobId("7"), restarts=0, node=SECOND, batch_host=HOST, at=160.0, votes=(SECOND,), successor=JobId("8")
)


def _with(**changes: Any) -> State:
    return msgspec.structs.replace(RUNNING, **changes)


def _halt(what: Any, at: float) -> PersonOrder:
    return PersonOrder(id=f"{at}", at=at, by="alice", what=what, why="maintenance")


def test_a_running_job_is_followed_by_one_without_the_dead_host() -> None:
    """What was excluded before stays excluded, behind it: the last are let go first."""
    assert decide(RUNNING, [], Settings(), host=HOST, at=160.0).exclude == (HOST, BAD)


@pytest.mark.parametrize("stage", [Stage.PREPARING, Stage.COLLECTING, Stage.STOPPING, Stage.SUBMITTING, Stage.NEW])
def test_a_supervisor_that_died_amid_anything_is_followed(stage: Stage) -> None:
    """Also one that may have submitted: whoever submits looks first."""
    assert decide(_with(stage=stage), [], Settings(), host=HOST, at=160.0).why_not == ""


@pytest.mark.parametrize("changes", [{"settings": Settings(mode="observe")}, {"behind": Carried(mode="observe")}])
def test_observe_does_nothing(changes: dict[str, Any]) -> None:
    """Neither another job nor a cancel: as submitted, and as a person has changed it since."""
    settings = changes.pop("settings", Settings())
    found = decide(_with(**changes), [], settings, host=HOST, at=160.0)
    assert found.why_not
    assert not found.ends_job


def test_a_mode_that_a_person_has_changed_to_act_counts() -> None:
    """The run was submitted to be watched only."""
    state = _with(behind=Carried(mode="act"))
    assert decide(state, [], Settings(mode="observe"), host=HOST, at=160.0).why_not == ""


def test_a_job_that_slurm_was_ending_is_left_to_slurm() -> None:
    """After the first SIGTERM nothing is started: the cause may be a person."""
    found = decide(_with(stage=Stage.ENDING, term=Term(at=100.0)), [], Settings(), host=HOST, at=160.0)
    assert found.why_not
    assert not found.ends_job


def test_a_run_that_is_over_stays_over() -> None:
    """Handed on, stopped or done: its job only holds nodes."""
    finish = Finish(code=1, reason="job 8 goes on with the run")
    found = decide(_with(stage=Stage.FINISHED, finish=finish), [], Settings(), host=HOST, at=160.0)
    assert "job 8" in found.why_not
    assert found.ends_job


def test_a_halted_run_is_not_begun_again() -> None:
    """The wish of a person outlives the supervisor that it was told to."""
    found = decide(_with(halt=Halt(by="alice", why="maintenance")), [], Settings(), host=HOST, at=160.0)
    assert found.why_not == "halted by alice: maintenance"
    assert found.ends_job


def test_a_halt_that_nobody_has_read_yet_counts() -> None:
    """It was ordered while the batch host was dead already; one that was taken back does not."""
    halt, resume = _halt("halt", 100.0), _halt("resume", 101.0)
    assert decide(RUNNING, [halt], Settings(), host=HOST, at=160.0).why_not
    assert not decide(RUNNING, [halt, resume], Settings(), host=HOST, at=160.0).why_not


@pytest.mark.parametrize(
    "behind",
    [
        Carried(restarts=20),
        Carried(restarts_without_progress=3),
        Carried(lost_node_seconds=50_000.0, requested_node_seconds=72_000.0),
    ],
)
def test_used_up_budgets_stop_the_run(behind: Carried) -> None:
    """As they would stop a supervisor that lives."""
    found = decide(_with(behind=behind), [], Settings(), host=HOST, at=160.0)
    assert found.why_not.startswith("stopped: ")
    assert found.ends_job


def test_the_job_after_knows_who_started_it_and_counts_the_restart() -> None:
    """One record, the same that Slurm's own requeue would have left, with the deed of the agent."""
    record = interruption(RUNNING, 100.0)
    assert record is not None
    behind = msgspec.structs.replace(RUNNING.behind, open_incident=record)
    begins = begun_by_agent(behind, TAKEOVER)
    assert (begins.restarts, begins.restarts_without_progress) == (2, 1)
    assert begins.restarts_by == {"node_unreachable": 1, "hardware": 1}
    assert begins.excluded == (HOST, BAD)
    assert begins.open_incident is not None
    assert begins.open_incident.action == "resubmit"
    assert "n2 took over from n1" in begins.open_incident.action_text


def test_a_requeue_that_an_agent_asked_for_is_told_as_one() -> None:
    """Where sbatch is forbidden on compute nodes."""
    record = interruption(RUNNING, 100.0)
    behind = msgspec.structs.replace(RUNNING.behind, open_incident=record)
    takeover = msgspec.structs.replace(TAKEOVER, successor=None, is_requeued=True)
    begins = begun_by_agent(behind, takeover)
    assert begins.open_incident is not None
    assert begins.open_incident.action == "requeue"


def test_a_job_that_died_before_its_first_attempt_counts_too() -> None:
    """There is no record then, but a budget all the same: a node that kills every job must not do so for ever."""
    assert begun_by_agent(Carried(), TAKEOVER).restarts == 1
