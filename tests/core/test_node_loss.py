"""Nodes that fall silent: when a loss is believed, and what follows."""

import msgspec
import pytest

from supervisor.core.events import AgentUp, NodeProbed, RankFailed, Shrunk, Stalled
from supervisor.core.instructions import AskSlurm, CheckNodes, Collect, ProbeNode, Shrink, StopAttempt, Submit
from supervisor.core.state import Stage
from supervisor.model.ids import AttemptNo
from supervisor.settings import Settings
from tests.core.facts import NONE_YET, node, nodes, whole
from tests.core.harness import World


def test_a_dead_node_is_replaced_by_the_spare() -> None:
    """Silent, twice found dead while others are heard: take it out, stop, check, start on the spare."""
    world = World(spares=1).start().progress(41).kill(node(3)).settle()
    assert [type(order) for order in world.done if isinstance(order, (StopAttempt, Shrink))] == [Shrink, StopAttempt]
    assert world.given(StopAttempt)[0].lost == nodes(3)
    assert world.given(Shrink)[0].drop == nodes(3)
    assert world.launches[1].nodes == nodes(1, 2, 4)
    assert "node003 does not answer (silent 2.3 s, slurmd refuses)" in world.said


def test_the_incident_has_its_measures() -> None:
    """Detection from the last sign of life, recovery from verdict to ranks, steps from the checkpoint."""
    settings = Settings(checkpoint="/ck")
    world = World(spares=1, settings=settings, choice=NONE_YET).start().progress(41)
    world.choice = whole(30)
    world.kill(node(3)).settle().ranks()
    world.at += 5
    world.progress(31)
    world.at += 4
    world.progress(41)
    record = world.records[0]
    assert record.verdict.cause == "node_unreachable"
    assert record.action == "relaunch_on_spare"
    assert record.split.detect == pytest.approx(2.3)
    assert record.recovery_s == pytest.approx(0.8)
    assert (record.resumed_step, record.step_before, record.steps_lost) == (30, 41, 11)
    assert record.split.init == pytest.approx(5.0)
    assert record.split.catch_up == pytest.approx(4.0)
    assert record.is_closed
    assert record.lost_node_seconds == pytest.approx(4 * (2.3 + 0.8 + 9.0))
    assert world.state.behind.lost_node_seconds == record.lost_node_seconds


def test_a_lost_node_had_come_as_far_as_the_others() -> None:
    """Its own last beat is a second old when it dies; theirs, read for the verdict, tell what is lost."""
    world = World(spares=1, settings=Settings(checkpoint="/ck"), choice=NONE_YET).start().progress(41)
    world.choice, world.furthest = whole(40), 52
    world.kill(node(3)).settle().ranks()
    world.progress(45)
    assert (world.records[0].step_before, world.records[0].steps_lost) == (52, 12)
    assert not world.records[0].is_closed
    world.progress(52)
    assert world.records[0].is_closed


def test_without_a_spare_the_run_is_submitted_again_without_the_node() -> None:
    """No spare, no min_nodes: another job, without the dead node."""
    world = World().start().progress(41).kill(node(3)).settle()
    assert world.given(Submit)[0].exclude == nodes(3)
    assert world.finish is not None
    assert (world.finish.code, world.finish.handed_over) == (1, True)
    assert world.records[0].action == "resubmit"
    assert not world.records[0].is_closed


def test_without_a_spare_fewer_nodes_do_if_the_user_said_so() -> None:
    """min_nodes allows the run to go on smaller."""
    world = World(settings=Settings(min_nodes=2)).start().progress(41).kill(node(3)).settle()
    assert world.launches[1].nodes == nodes(1, 2, 4)
    assert world.records[0].action == "relaunch_smaller"


def test_one_dead_answer_is_not_enough() -> None:
    """A loss is believed only after a second probe, just before."""
    world = World(spares=1).start().kill(node(3))
    world.answer()
    assert not world.given(Collect)
    world.answer()
    assert world.given(Collect)


def _refusing() -> World:
    """A running attempt; the slurmd of its third node refuses."""
    world = World(spares=1).start()
    world.dead.add(node(3))
    return world


@pytest.mark.parametrize(("how", "is_lost"), [("silent", False), ("last_will", True), ("step_ended", True)])
def test_two_refusals_within_a_moment_need_a_witness(how: str, *, is_lost: bool) -> None:
    """A slurmd that restarts refuses twice in a millisecond: without another sign the second probe comes later."""
    world = _refusing().hush(node(3), how=how).settle()
    assert bool(world.given(Collect)) == is_lost
    assert len(world.given(ProbeNode)) == 1 + is_lost


def test_a_slurmd_that_restarts_loses_no_node() -> None:
    """It accepts again at the second probe, half a second after the first."""
    world = _refusing().hush(node(3)).settle()
    world.dead.clear()
    world.run(1)
    assert len(world.given(ProbeNode)) == 2
    assert world.state.trouble[node(3)].answer == "alive"
    world.run(30)
    assert not world.given(Collect)


def test_a_silent_node_that_refuses_is_lost_with_the_second_probe() -> None:
    """At the first look at the clock that is half a second after the first probe."""
    world = _refusing().hush(node(3)).run(1)
    assert world.given(Collect)


def test_a_probe_that_waited_for_its_answer_is_repeated_at_once() -> None:
    """An unplugged node's probe takes 0.8 s: the second one need not wait any longer."""
    world = World(spares=1).start().hush(node(3))
    world.at += 0.8
    world.send(NodeProbed(at=world.at, node=node(3), answer="dead", text="slurmd gives no answer"))
    assert len(world.given(ProbeNode)) == 2


def test_many_silent_nodes_are_our_own_fault_first() -> None:
    """More than half of the nodes silent at once: a healthy run is left alone for the lease."""
    world = World(count=5).start().progress(5)
    world.kill(*nodes(2, 3, 4)).run(20)
    assert world.state.stage is Stage.RUNNING
    world.run(15)
    assert world.given(Collect)
    assert set(world.records[0].verdict.blame.nodes) == set(nodes(2, 3, 4))


def test_slurms_word_ends_the_doubt() -> None:
    """Many silent nodes that Slurm calls DOWN are lost at once."""
    world = World(count=5, down=set(nodes(2, 3, 4))).start().kill(*nodes(2, 3, 4)).run(2)
    assert world.given(Collect)


def test_without_a_witness_nothing_is_believed() -> None:
    """Nobody else is heard and Slurm gives no answer: the run is left alone, however long it lasts."""
    world = World(count=2, slurm=None).start().kill(node(2)).run(300)
    assert world.state.stage is Stage.RUNNING
    assert len(world.given(AskSlurm)) < 20


def test_slurm_is_a_witness() -> None:
    """The only other node is dead: an answer of Slurm proves that our own network works."""
    world = World(count=2).start().kill(node(2)).settle()
    assert world.given(Collect)


def test_an_unknown_node_is_given_up_after_the_lease() -> None:
    """Probes find out nothing, Slurm answers: after the lease there is no doubt any more."""
    world = World(count=2, unreached={node(2)}).start().kill(node(2)).run(25)
    assert world.state.stage is Stage.RUNNING
    world.run(25)
    assert world.given(Collect)


def test_a_dead_agent_on_a_living_node_is_started_again() -> None:
    """The node answers: no loss; one step starts the missing agents, at once where their step has ended."""
    world = World().start().hush(*nodes(2, 3), how="step_ended").run(2)
    assert world.given(CheckNodes)[1].nodes == nodes(2, 3)
    assert world.state.stage is Stage.RUNNING


def test_agents_that_keep_dying_are_started_ever_more_seldom() -> None:
    """Steps are not free: a crash loop of agents does not become one of steps."""
    world = World().start()
    for _ in range(60):
        world.hush(node(2), how="step_ended").run(5)
    assert len(world.given(CheckNodes)) < 12


def test_an_agent_that_comes_back_ends_the_trouble() -> None:
    """Heard again before the loss was believed: nothing happens."""
    world = World(unreached={node(3)}).start().hush(node(3)).settle()
    world.send(AgentUp(at=world.at, node=node(3)))
    world.run(60)
    assert world.state.stage is Stage.RUNNING
    assert not world.state.trouble


def test_the_batch_host_is_never_probed() -> None:
    """Our own node is alive: we run on it."""
    world = World().start().hush(node(1)).run(60)
    assert not world.given(ProbeNode)
    assert world.state.stage is Stage.RUNNING


def test_a_lost_spare_interrupts_nothing() -> None:
    """A node that the attempt does not use only leaves the candidates."""
    world = World(spares=1).start().kill(node(4)).settle()
    assert world.state.stage is Stage.RUNNING
    assert not world.records
    assert world.given(Shrink)[0].drop == nodes(4), "Slurm would end the whole job because of it"
    world.exit(1).settle()
    assert world.launches[1].nodes == nodes(1, 2, 3)


def test_a_lone_node_has_the_lease() -> None:
    """An attempt on one node that is not ours may still compute: it is given up only after the lease."""
    world = World(count=2, spares=1).start()
    world.state = msgspec.structs.replace(world.state, batch_host=node(2))
    world.send(AgentUp(at=world.at, node=node(2)))
    world.kill(node(1)).run(20)
    assert world.state.stage is Stage.RUNNING
    world.run(15)
    assert world.given(Collect)


def test_a_second_loss_during_recovery_is_folded_in() -> None:
    """Another node dies while the first one's incident is open: one incident, one relaunch without both."""
    world = World(count=6, spares=2).start().progress(9)
    world.kill(node(3))
    while world.state.stage is not Stage.STOPPING:
        world.answer()
    world.kill(node(2)).run(3)
    assert len(world.records) == 1
    assert world.launches[-1].nodes == nodes(1, 4, 5, 6)
    assert [order.drop for order in world.given(Shrink)] == [nodes(3), nodes(2)]


def test_a_spare_that_fails_tier_0_is_passed_over() -> None:
    """The spare is bad: the next one is taken; nothing is launched in between."""
    world = World(count=5, spares=2).start().progress(9)
    world.bad[node(4)] = "no GPU"
    world.kill(node(3)).settle()
    assert world.launches[1].nodes == nodes(1, 2, 5)


def test_answers_to_an_older_shrink_are_not_mixed_up() -> None:
    """A shrink is answered by naming its nodes; another answer does not end the wait."""
    world = World(spares=1).start().kill(node(3))
    world.silent_hands = {Shrink}
    world.settle()
    assert world.state.stage is Stage.SHRINKING
    world.send(Shrunk(at=world.at, dropped=nodes(2), ok=False))
    assert world.state.stage is Stage.SHRINKING
    world.send(Shrunk(at=world.at, dropped=nodes(3), ok=True))
    assert world.settle().launches[1].nodes == nodes(1, 2, 4)


def test_ranks_that_stand_still_after_a_failure_break_the_attempt() -> None:
    """With on_rank_exit = stalled a failed rank alone is not enough; standing still after it is."""
    world = World().start().progress(3)
    failed = RankFailed(at=world.at, attempt=AttemptNo(1), rank=None, code=1)
    world.send(failed)
    world.run(10)
    assert not world.given(Collect)
    world.send(Stalled(at=world.at, attempt=AttemptNo(1), silent_s=5.0))
    world.settle()
    assert world.records[0].evidence_at == failed.at
    assert len(world.launches) == 2


@pytest.mark.parametrize(("rule", "incidents"), [("any", 1), ("stalled", 0), ("never", 0)])
def test_a_failed_rank_counts_as_the_user_said(rule: str, incidents: int) -> None:
    """on_rank_exit = any: at once; the other two wait."""
    world = World(settings=Settings(on_rank_exit=rule)).start()  # type: ignore[arg-type]  # one of its words
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    assert len(world.given(Collect)) == incidents


def test_never_waits_for_the_script() -> None:
    """on_rank_exit = never: standing still is not enough either; the script's own end is."""
    world = World(settings=Settings(on_rank_exit="never")).start()
    world.send(Stalled(at=world.at, attempt=AttemptNo(1), silent_s=9.0))
    assert not world.given(Collect)
    world.exit(1)
    assert world.given(Collect)


@pytest.mark.parametrize("shrink_ok", [True, False])
def test_a_node_that_is_gone_is_not_blamed_again(*, shrink_ok: bool) -> None:
    """It died before this attempt began: a program's fault after it is the program's, and its budgets hold."""
    world = World(spares=1, shrink_ok=shrink_ok).start().progress(41).kill(node(3))
    world.run(30)
    assert world.given(Collect)[-1].lost_nodes == nodes(3)
    world.ranks().progress(50).exit(1)
    world.run(30)
    assert world.given(Collect)[-1].lost_nodes == ()
    assert [record.verdict.cause for record in world.records] == ["node_unreachable", "segfault"]
