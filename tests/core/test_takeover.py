"""A supervisor that dies and begins again, and a run that goes on in another job."""

import pytest

from supervisor.core.events import AgentSilent, AttemptStarted, KeeperReported, SupervisorStarted
from supervisor.core.instructions import Collect, Finish, LaunchAttempt, ProbeNode, Shrink
from supervisor.core.machine import replay
from supervisor.core.state import Stage
from supervisor.core.summary import carried
from supervisor.model.ids import AttemptNo
from supervisor.settings import Settings
from tests.core.facts import node, nodes, whole
from tests.core.harness import World


@pytest.mark.parametrize(
    "last", [stage for stage in Stage if stage not in {Stage.NEW, Stage.REQUEUEING, Stage.ENDING, Stage.LEAVING}]
)
def test_a_killed_supervisor_goes_on_from_its_log(last: Stage) -> None:
    """Killed in any stage: the open question is asked again, and the story ends the same way."""
    no_spare = last in {Stage.SUBMITTING, Stage.FINISHED}
    world = World(spares=0 if no_spare else 1, settings=Settings(checkpoint="/ck"), choice=whole(3))
    world.begin()
    if last not in {Stage.PREPARING, Stage.LAUNCHING}:
        world.settle().ranks().progress(5)
        if last is not Stage.RUNNING:
            world.kill(node(3))
    while world.state.stage is not last:
        if last is Stage.SHRINKING:
            world.silent_hands = {Shrink}
        assert world.answer(), world.state.stage
    world.silent_hands = set()
    world.restart().run(60)
    if no_spare:
        assert world.finish is not None
        assert world.finish.handed_over
    else:
        world.run(1)
        assert world.state.stage is Stage.RUNNING
        expected = nodes(1, 2, 3) if last in {Stage.PREPARING, Stage.LAUNCHING, Stage.RUNNING} else nodes(1, 2, 4)
        assert world.launches[-1].nodes == expected


def test_evidence_that_kills_each_supervisor_is_left_alone() -> None:
    """It uses up the memory, say: the third supervisor that finds the question open decides without its answer."""
    world = World().start().progress(5).exit(1)
    world.silent_hands = {Collect}
    for _ in range(3):
        world.settle().restart()
    world.silent_hands = set()
    asked = len(world.given(Collect))
    world.settle()
    assert len(world.given(Collect)) == asked == 3
    assert world.state.stage is Stage.RUNNING
    assert world.records[0].verdict.cause == "unattributed"


def test_the_log_gives_the_same_state() -> None:
    """A whole story replayed from what was recorded ends in the very same state."""
    world = World(spares=1, settings=Settings(checkpoint="/ck"), choice=whole(3)).start()
    for step in range(10, 40):
        world.at += 1
        world.progress(step)
    world.kill(node(2)).settle().ranks().progress(39).exit(0)
    assert replay(world.log, world.settings) == world.state
    assert sum(type(event).__name__ == "Progressed" for event in world.log) < 6


def test_an_attempt_that_ended_while_nobody_looked_is_handled() -> None:
    """The keeper reports the end to the new supervisor: as if it had just happened."""
    world = World().start().progress(4)
    world.live = 0
    world.restart().settle()
    assert len(world.launches) == 2


def test_a_launch_order_that_was_lost_is_given_again() -> None:
    """The keeper does not know the attempt: the same order once more, with the same number."""
    world = World(silent_hands={LaunchAttempt}).begin().settle()
    world.silent_hands = set()
    world.restart().settle()
    assert [order.attempt for order in world.launches] == [1, 1]
    assert world.state.stage is Stage.RUNNING


def test_a_signal_that_came_while_nobody_looked_counts() -> None:
    """The keeper remembers a SIGTERM."""
    world = World().start()
    world.restart()
    world.send(world.keeper_report(signals=(15,)))
    assert world.state.stage is Stage.ENDING


def test_an_unsupervised_attempt_is_adopted() -> None:
    """The keeper started attempt 1 while no supervisor lived: watched, and remembered as such."""
    world = World().begin()
    world.live = world.last_attempt = 1
    world.send(KeeperReported(at=world.at, attempt=AttemptNo(1), is_alive=True, is_unsupervised=True))
    world.settle()
    assert world.state.attempt is not None
    assert world.state.attempt.is_unsupervised
    assert not world.launches
    assert world.state.stage is Stage.RUNNING


def test_nodes_that_left_stay_away_after_a_takeover() -> None:
    """What was shrunk out is in the log."""
    world = World(spares=1).start().kill(node(3)).settle().restart().run(5)
    assert world.state.out == nodes(3)


def test_a_node_that_is_never_heard_after_a_takeover_is_probed() -> None:
    """Silence after a takeover is judged like any other."""
    world = World(count=3).start().restart().settle()
    world.send(AgentSilent(at=world.at, node=node(2), how="never_heard", last_heard=world.at - 20))
    assert world.given(ProbeNode)


def test_a_successor_goes_on_with_the_counts_and_the_incident() -> None:
    """Budgets are counted over the whole run; the successor closes the incident that made it necessary."""
    settings = Settings(checkpoint="/ck")
    first = World(settings=settings, choice=whole(3)).start().progress(41).kill(node(3)).settle()
    behind = carried(first.state, first.at)
    assert (behind.attempts, behind.incidents, behind.restarts) == (1, 1, 1)
    assert behind.excluded == nodes(3)
    assert behind.open_incident is not None
    second = World(settings=settings, choice=whole(30), carried=behind, at=first.at + 500).start()
    assert second.launches[0].attempt == 2
    assert second.launches[0].incident == 1
    second.progress(31).progress(41)
    record = second.records[0]
    assert record.is_closed
    assert record.steps_lost == 11
    assert record.recovery_s is not None
    assert record.recovery_s > 500
    assert second.state.behind.lost_node_seconds < 4 * 20, "waiting in the queue is no loss"


def test_successors_do_not_inflate_the_budget() -> None:
    """Requested is the first job's nodes times its limit, plus what later jobs really used."""
    first = World(walltime_s=3600.0).start()
    first.at += 1000
    behind = carried(first.state, first.at)
    assert behind.requested_node_seconds == 4 * 3600
    second = World(walltime_s=3600.0, carried=behind).start()
    begun = second.state.started_at
    assert carried(second.state, begun + 100).requested_node_seconds == 4 * 3700


def test_progress_is_recorded_once_a_minute_and_before_decisions() -> None:
    """The log stays small, and what a decision knew stands before it."""
    world = World().start()
    for second in range(150):
        world.at += 1
        world.progress(second)
    log = [entry for entry in world.log if type(entry).__name__ == "Progressed"]
    assert [entry.step for entry in log] == [0, 60, 120]  # type: ignore[union-attr]  # all are Progressed
    world.exit(1, ranks_fail=False)
    assert [type(entry).__name__ for entry in world.log[-2:]] == ["Progressed", "AttemptEnded"]
    assert world.log[-2].step == 149  # type: ignore[union-attr]  # the one held back


def _successor() -> World:
    """The job after one in which attempt 1 ran and a node was lost; nothing has been launched in it yet."""
    first = World().start().progress(41).kill(node(3)).settle()
    return World(carried=carried(first.state, first.at), at=first.at + 500).begin()


def test_in_a_successor_too_an_unsupervised_attempt_is_adopted() -> None:
    """The keeper counts from 1 in each job: its own attempt 1 is new, however many the run has behind it."""
    world = _successor()
    world.live = world.last_attempt = 1
    world.send(AttemptStarted(at=world.at, attempt=AttemptNo(1), pid=4711))
    world.run(120)
    assert world.state.stage is Stage.RUNNING
    assert not world.given(Finish)
    assert not world.launches
    assert world.state.next_attempt == 2
    world.exit(0)
    assert world.finish is not None
    assert world.finish.code == 0


def test_an_attempt_that_the_keeper_began_before_our_order_came_is_adopted() -> None:
    """Its order is refused since a script runs: that script is the job's attempt, and it is never ended for it."""
    first = World().start().exit(1).settle().ranks().kill(node(3)).settle()
    world = World(carried=carried(first.state, first.at), at=first.at + 500, silent_hands={LaunchAttempt})
    world.begin().settle()
    assert [order.attempt for order in world.launches] == [3]
    world.live = world.last_attempt = 1
    world.send(AttemptStarted(at=world.at, attempt=AttemptNo(1), pid=4711))
    world.run(120)
    assert world.state.stage is Stage.RUNNING
    assert not world.given(Finish)
    assert world.state.next_attempt == 4


def test_the_attempt_before_is_not_adopted_again() -> None:
    """A supervisor killed while it launches finds the ended attempt before: the launch is ordered again."""
    world = World().start().progress(4).exit(1)
    world.silent_hands = {LaunchAttempt}
    world.settle()
    world.silent_hands = set()
    world.restart().settle()
    assert [order.attempt for order in world.launches] == [1, 2, 2]


def test_a_sigterm_that_no_supervisor_heard_goes_before_a_launch() -> None:
    """The order to launch was lost with the supervisor, and the job was cancelled before the next one came."""
    world = World(silent_hands={LaunchAttempt}).begin().settle()
    assert world.state.stage is Stage.LAUNCHING
    world.state = replay(world.log, world.settings)
    world.pending.clear()
    world.send(SupervisorStarted(at=world.at, generation=2))
    world.send(world.keeper_report(signals=(15,)))
    world.run(20)
    assert len(world.launches) == 1
    assert world.finish is not None
