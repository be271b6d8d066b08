"""What the event log of a run means for the job that reads it."""

from collections.abc import Sequence

import msgspec
import pytest

from supervisor.core.events import RunStarted, SupervisorStarted
from supervisor.core.machine import replay
from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.core.state import Stage, State
from supervisor.daemon.history import LastSeen, Opening, begun_by, opening
from supervisor.daemon.surroundings import Surroundings
from supervisor.model.ids import JobId, RunId
from supervisor.model.takeover import Takeover
from supervisor.settings import Settings
from tests.core.facts import node, nodes, whole
from tests.core.harness import World

_SETTINGS = Settings(checkpoint="/ck")
_NOW = 50_000.0


def _opened(events: Sequence[Recorded], job: str = "17", *, restarts: int = 0, now: float = _NOW) -> Opening:
    around = Surroundings(
        job_id=JobId(job), raw_job_id=JobId(job), nodes=nodes(1, 2, 3, 4), here=node(1), restarts=restarts
    )
    return opening(
        events,
        run_id=RunId("run"),
        around=around,
        settings=_SETTINGS,
        spares=1,
        walltime_at=90_000.0,
        preempt_mode="CANCEL",
        now=now,
    )


@pytest.fixture
def world() -> World:
    """Job 17 of a run: its first attempt has made 41 steps on four nodes."""
    return World(settings=_SETTINGS, choice=whole(3)).start().progress(41)


def _takeover(successor: str | None = "18", *, restarts: int = 0, is_requeued: bool = False) -> Takeover:
    """The claim of an agent on node 2, when node 1 was dead."""
    return Takeover(
        job_id=JobId("17"),
        restarts=restarts,
        node=node(2),
        batch_host=node(1),
        at=_NOW,
        successor=JobId(successor) if successor else None,
        is_requeued=is_requeued,
    )


def _around(job: str, *, restarts: int = 0) -> Surroundings:
    return Surroundings(job_id=JobId(job), raw_job_id=JobId(job), nodes=nodes(2, 3), here=node(2), restarts=restarts)


def _new_job(opened: Opening) -> RunStarted:
    """The first event, which is that of a new job."""
    assert isinstance(opened.event, RunStarted)
    assert (opened.generation, opened.is_takeover) == (1, False)
    return opened.event


def test_a_run_without_a_log_is_new() -> None:
    """Everything begins here; nothing of an earlier job can live."""
    opened = _opened([])
    assert opened.state == State()
    assert opened.is_settled
    assert _new_job(opened) == RunStarted(
        at=_NOW,
        run_id=RunId("run"),
        job_id=JobId("17"),
        nodes=nodes(1, 2, 3, 4),
        batch_host=node(1),
        spares=1,
        walltime_at=90_000.0,
        preempt_mode="CANCEL",
    )


def test_the_next_supervisor_of_a_job_takes_over(world: World) -> None:
    """It has the state of the log, and its first event says which one it is."""
    opened = _opened(world.log)
    assert opened.is_takeover
    assert opened.event == SupervisorStarted(at=_NOW, generation=opened.generation)
    assert opened.state == replay(world.log, _SETTINGS)
    assert opened.state.stage is Stage.RUNNING


def test_each_takeover_counts(world: World) -> None:
    """Each supervisor of the job has a higher generation than all before."""
    first = _opened(world.log).generation
    again = _opened([*world.log, SupervisorStarted(at=_NOW, generation=first)])
    assert again.generation == first + 1


def test_a_successor_has_the_run_behind_it(world: World) -> None:
    """Another job id: a new job, which carries counts, furthest step and the open incident over."""
    world.kill(node(3)).settle()
    event = _new_job(_opened(world.log, "18"))
    assert event.job_id == "18"
    assert event.carried is not None
    assert (event.carried.attempts, event.carried.incidents, event.carried.furthest_step) == (1, 1, 41)
    assert event.carried.open_incident is not None


def test_a_requeued_job_is_a_new_job(world: World) -> None:
    """The same id with a higher restart count: nothing of the supervisor before lives on."""
    event = _new_job(_opened(world.log, restarts=1))
    assert (event.job_id, event.restarts) == ("17", 1)
    assert event.carried is not None
    assert event.carried.furthest_step == 41


def test_a_supervisor_after_a_requeue_takes_over(world: World) -> None:
    """The newest beginning counts, and the supervisors before the requeue do not."""
    requeued = _opened(world.log, restarts=1)
    opened = _opened([*world.log, requeued.event], restarts=1)
    assert (opened.is_takeover, opened.generation) == (True, 2)


def test_an_attempt_that_may_live_is_not_settled(world: World) -> None:
    """A successor must wait for a job whose attempt was never proven stopped, and not for one whose was."""
    assert not _opened(world.log, "18").is_settled
    world.kill(node(3)).settle()
    world.exit(None, signal=15, ranks_fail=False).settle()
    assert _opened(world.log, "18").is_settled


def test_the_time_between_jobs_is_no_loss(world: World) -> None:
    """A job is booked up to its last recorded event, however long the next one waits in the queue."""
    world.kill(node(3)).settle()
    soon, late = (_new_job(_opened(world.log, "18", now=world.at + wait_s)).carried for wait_s in (1.0, 40_000.0))
    assert soon == late


@pytest.mark.parametrize("supervisors", [1, 2])
def test_a_log_that_began_anew_means_the_same(world: World, supervisors: int) -> None:
    """Same job, same state, same count of supervisors; and for the next job the same run behind it."""
    world.log = [event for event in world.log if not isinstance(event, SupervisorStarted)]  # the first one says none
    for number in range(2, supervisors + 1):
        world.send(SupervisorStarted(at=world.at, generation=number))
    short = [Snapshot(at=world.at, restarts=0, state=replay(world.log, _SETTINGS))]
    assert _opened(short) == _opened(world.log)
    again = SupervisorStarted(at=_NOW, generation=supervisors + 1)
    assert _opened([*short, again]).generation == supervisors + 2
    world.log[-1] = msgspec.structs.replace(world.log[-1], at=world.at)
    assert _new_job(_opened(short, "18")) == _new_job(_opened(world.log, "18"))
    assert _new_job(_opened(short, restarts=1)).restarts == 1


def test_a_job_that_ended_without_a_word_is_an_interruption(world: World) -> None:
    """Its batch host died with its supervisor, and Slurm started it again: the next job writes it down."""
    event = _new_job(_opened(world.log, restarts=1))
    assert event.carried is not None
    missing = event.carried.open_incident
    assert missing is not None
    assert (missing.incident, missing.action, missing.step_before) == (1, "requeue", 41)
    assert (missing.verdict.cause, missing.verdict.blame.nodes) == ("node_unreachable", (node(1),))
    after = World(settings=_SETTINGS, choice=whole(40), carried=event.carried).start().progress(41)
    (record,) = after.records
    assert record.is_closed
    assert (record.attempt, record.resumed_step, record.steps_lost) == (1, 40, 1)
    assert after.state.behind.incidents == 1


@pytest.mark.parametrize("how", ["ended", "told to end", "recovering", "preparing"])
def test_an_end_with_a_word_is_none(world: World, how: str) -> None:
    """It finished, was told to, or its interruption is on record already."""
    match how:
        case "ended":
            world.exit(0)
        case "told to end":
            world.term()
        case "recovering":
            world.exit(1)
        case _:
            world = World(settings=_SETTINGS, choice=whole(3)).begin()
    event = _new_job(_opened(world.log, restarts=1))
    assert event.carried is not None
    assert event.carried.incidents == world.state.behind.incidents


def test_a_job_that_an_agent_has_started_knows_it() -> None:
    """By the claim that names it; any other job of the run has been started by a supervisor or by Slurm."""
    claim = _takeover()
    assert begun_by([claim], _around("18")) == claim
    assert begun_by([claim], _around("19")) is None
    assert begun_by([claim], _around("18", restarts=1)) is None
    assert begun_by([_takeover(None)], _around("18")) is None


def test_a_requeue_that_an_agent_asked_for_is_known_by_the_restart() -> None:
    """The same job, once more."""
    claim = _takeover(None, is_requeued=True)
    assert begun_by([claim], _around("17", restarts=1)) == claim
    assert begun_by([claim], _around("17", restarts=2)) is None
    assert begun_by([claim], _around("17")) is None


def test_a_takeover_counts_as_a_restart(world: World) -> None:
    """The interruption is told once, with the agent's deed; the dead host is not used again."""
    around = _around("18")
    opened = opening(
        world.log,
        run_id=RunId("run"),
        around=around,
        settings=_SETTINGS,
        spares=0,
        walltime_at=None,
        preempt_mode="",
        takeover=_takeover(),
        now=_NOW,
    )
    behind = _new_job(opened).carried
    assert behind is not None
    assert (behind.restarts, behind.excluded, behind.incidents) == (1, (node(1),), 1)
    assert behind.open_incident is not None
    assert behind.open_incident.action == "resubmit"


@pytest.mark.parametrize(
    ("seen", "at", "step"),
    [
        (LastSeen(JobId("17"), _NOW - 40, 70), _NOW - 40, 70),
        (LastSeen(JobId("17"), _NOW + 900, 70), _NOW, 70),
        (LastSeen(JobId("17"), 1.0, None), None, 41),
        (LastSeen(JobId("16"), _NOW - 40, 70), None, 41),
        (None, None, 41),
    ],
)
def test_a_job_cut_off_was_alive_for_longer_than_its_log_tells(
    world: World, seen: LastSeen | None, at: float | None, step: int
) -> None:
    """Progress is logged seldom. A clock that is ahead, and the picture of another job, are not believed."""
    opened = opening(
        world.log,
        run_id=RunId("run"),
        around=_around("18"),
        settings=_SETTINGS,
        spares=0,
        walltime_at=None,
        preempt_mode="",
        takeover=_takeover(),
        last_seen=seen,
        now=_NOW,
    )
    behind = _new_job(opened).carried
    assert behind is not None
    assert behind.open_incident is not None
    assert behind.open_incident.opened_at == (at if at is not None else world.log[-1].at)
    assert behind.open_incident.step_before == step
