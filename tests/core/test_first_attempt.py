"""How a job comes to its first attempt."""

from supervisor.core.events import AttemptStarted, CheckpointChosen, NodesChecked, Tick
from supervisor.core.instructions import CheckNodes, ChooseCheckpoint, LaunchAttempt, Requeue, Shrink, Submit
from supervisor.core.state import Stage
from supervisor.model.ids import AttemptNo
from supervisor.settings import Settings
from tests.core.facts import NO_ANSWER, node, nodes, whole
from tests.core.harness import World

_CK = Settings(checkpoint="/ck")


def test_tier_0_and_the_checkpoint_are_asked_at_once() -> None:
    """The first event leads to tier 0 on every node and to the search for a checkpoint, side by side."""
    world = World(settings=_CK).begin()
    assert world.given(CheckNodes)[0].nodes == world.all_nodes
    assert world.given(ChooseCheckpoint)[0].attempt == 1


def test_healthy_nodes_start_the_script_with_the_last_names_as_spares() -> None:
    """All nodes good: the attempt runs on the first ones, the spares are hidden."""
    world = World(spares=1).start()
    assert world.launches == [LaunchAttempt(attempt=AttemptNo(1), nodes=nodes(1, 2, 3), hidden=nodes(4))]
    assert world.state.stage is Stage.RUNNING


def test_a_checkpoint_is_handed_to_the_script() -> None:
    """The newest whole checkpoint is named to the first attempt, too: the user may have resubmitted by hand."""
    world = World(settings=_CK, choice=whole(300)).start()
    assert (world.launches[0].resume_from, world.launches[0].resume_step) == ("/ck/300", 300)


def _slow_tier_0() -> World:
    """The checkpoint of step 300 is chosen at once; tier 0 takes five seconds more."""
    world = World(settings=_CK, choice=whole(300)).begin()
    world.silent_hands = {CheckNodes}
    check = world.given(CheckNodes)[0]
    world.settle()
    world.silent_hands = set()
    world.at += 5.0
    world.send(NodesChecked(at=world.at, ask=check.ask, good=check.nodes))
    return world


def test_a_checkpoint_that_was_chosen_a_while_ago_is_looked_at_again() -> None:
    """Nothing is launched before it is known to be whole still."""
    world = _slow_tier_0()
    assert not world.launches
    assert world.given(ChooseCheckpoint)[1].again == whole(300).chosen
    world.settle()
    assert [order.resume_step for order in world.launches] == [300]
    assert len(world.given(ChooseCheckpoint)) == 2


def test_a_checkpoint_that_has_gone_before_the_launch_is_not_launched_from() -> None:
    """Another one is chosen instead."""
    world = _slow_tier_0()
    world.choice = whole(200)
    assert [order.resume_step for order in world.settle().launches] == [200]


def test_a_store_that_is_away_at_the_second_look_is_looked_at_later() -> None:
    """There was a whole checkpoint a moment ago: the script does not begin from zero."""
    world = _slow_tier_0()
    world.choice = NO_ANSWER
    world.settle()
    assert not world.launches
    world.choice = whole(300)
    assert [order.resume_step for order in world.run(10).launches] == [300]


def test_a_second_look_without_an_answer_does_not_hold_the_job_for_ever() -> None:
    """The stage has its deadline again."""
    world = _slow_tier_0()
    world.silent_hands = {ChooseCheckpoint}
    world.run(60)
    assert len(world.given(ChooseCheckpoint)) > 2


def test_a_bad_node_leaves_and_a_spare_takes_its_place() -> None:
    """A node that fails tier 0 is taken out of the job before anything runs."""
    world = World(spares=1, bad={node(2): "driver 550 instead of 560"}).start()
    assert world.given(Shrink) == [Shrink(drop=nodes(2), keep=nodes(1, 3, 4))]
    assert world.launches[0].nodes == nodes(1, 3, 4)
    assert "driver 550" in world.said


def test_a_refused_shrink_hides_the_bad_node() -> None:
    """Where Slurm keeps the node in the job, the attempt does without it all the same."""
    world = World(spares=1, bad={node(2): "no GPU"}, shrink_ok=False).start()
    assert world.launches[0].nodes == nodes(1, 3, 4)
    assert world.launches[0].hidden == nodes(2)


def test_a_silent_node_is_replaced_by_a_spare() -> None:
    """A node whose agent does not come is used last."""
    world = World(spares=1, mute={node(3)}).start()
    assert world.launches[0].nodes == nodes(1, 2, 4)


def test_a_silent_node_is_used_when_there_is_no_other() -> None:
    """Plain sbatch would start there, too."""
    world = World(mute={node(3)}).start()
    assert world.launches[0].nodes == world.all_nodes


def test_no_agents_at_all_do_not_hold_the_job() -> None:
    """Without any agent the script starts all the same, and that is said once."""
    world = World(mute=set(nodes(1, 2, 3, 4))).start()
    assert world.launches[0].nodes == world.all_nodes
    assert world.said.count("no agent answers") == 1


def test_hands_that_never_answer_do_not_hold_the_job() -> None:
    """Tier 0 and the checkpoint finder have a deadline in the machine, before the keeper starts by itself."""
    world = World(settings=_CK, silent_hands={CheckNodes, ChooseCheckpoint}).begin().run(44)
    assert len(world.launches) == 1


def test_too_many_bad_nodes_lead_to_another_job_without_them() -> None:
    """Without enough good nodes the run is submitted again before anything runs."""
    world = World(bad={node(2): "no GPU"}).begin().settle()
    assert not world.launches
    assert world.given(Submit)[0].exclude == nodes(2)
    assert world.finish is not None
    assert world.finish.handed_over
    assert world.records[0].verdict.cause == "node_misconfigured"


def test_no_other_job_starts_in_this_one() -> None:
    """If neither sbatch nor requeue work, the script starts on what there is: never worse than plain sbatch."""
    world = World(bad={node(2): "no GPU"}, sbatch=["refused", "refused"], requeue_ok=False).begin().settle()
    assert [type(order) for order in world.done if isinstance(order, (Submit, Requeue))] == [Submit, Requeue, Submit]
    assert world.launches[0].nodes == world.all_nodes


def test_fewer_nodes_do_if_the_user_said_so() -> None:
    """With min_nodes the job starts smaller instead of being submitted again."""
    world = World(settings=Settings(min_nodes=3), bad={node(2): "no GPU"}).start()
    assert world.launches[0].nodes == nodes(1, 3, 4)


def test_a_start_by_the_keeper_is_adopted() -> None:
    """The keeper lost patience and started attempt 1: it is watched, and no second one is started."""
    world = World(silent_hands={CheckNodes}).begin()
    world.live = world.last_attempt = 1
    world.send(AttemptStarted(at=world.at, attempt=AttemptNo(1), pid=7))
    world.run(60)
    assert not world.launches
    assert world.state.stage is Stage.RUNNING
    assert world.state.attempt is not None
    assert world.state.attempt.is_unsupervised


def test_an_unreadable_store_does_not_hold_the_first_attempt_ever() -> None:
    """The script decides by itself, as it would without us, and that is said."""
    world = World(settings=_CK, choice=NO_ANSWER).start()
    assert world.launches[0].resume_from is None
    assert "cannot be read" in world.said


def test_a_tick_that_decides_nothing_changes_nothing() -> None:
    """Ticks without a decision are not recorded, so the state is the very same object."""
    world = World().start()
    before = world.state
    world.send(Tick(at=world.at + 1))
    assert world.state is before


def test_nothing_is_started_on_a_node_that_is_given_up_at_this_moment() -> None:
    """Silent nodes of a first attempt may do; one whose lease is over just as the start is due does not."""
    world = World(count=5, spares=1, settings=Settings(checkpoint="/ck", max_restarts=0)).begin()
    world.bad[node(2)] = "no GPU"
    world.kill(node(3)).kill(node(4))
    world.pending.popleft()  # the checkpoint finder's answer
    world.run(60)
    assert not world.launches
    assert "node003 does not answer" in world.said


def test_an_answer_starts_nothing_on_a_node_that_is_lost_by_now() -> None:
    """No tick came between: the answer itself finds the node's lease over."""
    world = World(count=5, spares=1, settings=_CK).begin()
    world.kill(node(3)).kill(node(4))
    world.pending.popleft()
    world.settle()
    world.at += 40
    world.send(CheckpointChosen(at=world.at, attempt=AttemptNo(1), choice=whole(3)))
    assert not {node(3), node(4)} & {name for order in world.launches for name in order.nodes}
    assert "node003 does not answer" in world.said
