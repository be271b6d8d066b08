"""Verdict to action: budgets, proof, ladder, checkpoints, exit status."""

import msgspec
import pytest

from supervisor.core.events import RankFailed, SignalReceived, Stopped
from supervisor.core.instructions import (
    ChooseCheckpoint,
    Collect,
    LaunchAttempt,
    Requeue,
    Shrink,
    StopAttempt,
    Submit,
)
from supervisor.core.state import Stage
from supervisor.model.facts import JobFacts
from supervisor.model.ids import AttemptNo, JobId
from supervisor.model.verdict import Class, Retry, Verdict
from supervisor.settings import Settings
from tests.core.facts import NO_ANSWER, NONE_YET, crash, node, nodes, whole
from tests.core.harness import World

_CK = Settings(checkpoint="/ck")


def test_a_script_that_ends_well_ends_the_job() -> None:
    """Exit 0: no incident, the job ends with 0."""
    world = World().start().exit(0)
    assert world.finish is not None
    assert (world.finish.code, world.finish.reason) == (0, "completed, no interruptions")
    assert not world.records


def test_a_crash_starts_again_on_the_same_nodes() -> None:
    """A failure that a rerun may help: stop with proof, then the same nodes."""
    world = World().start().progress(5).exit(139).settle()
    assert world.given(StopAttempt)
    assert world.launches[1].nodes == world.all_nodes
    assert world.launches[1].incident == 1
    assert world.records[0].action == "relaunch"


def test_a_script_that_ends_itself_is_not_run_again() -> None:
    """No rank failed, no step was made: `exit 7` is the script's own word, as it would be to sbatch."""
    world = World().start().exit(7, ranks_fail=False).settle()
    assert world.finish is not None
    assert world.finish.code == 7
    assert len(world.launches) == 1


def test_a_script_that_ends_after_a_signal_decided_so() -> None:
    """`--signal=B:USR1@60` and a trap that exits: its status is the job's, and nothing is started again."""
    world = World().start().progress(5)
    world.send(SignalReceived(at=world.at, number=10))
    world.exit(5).settle()
    assert world.finish is not None
    assert world.finish.code == 5
    assert len(world.launches) == 1
    assert not world.records


def test_a_rank_that_failed_before_the_signal_is_a_failure() -> None:
    """A signal explains only what comes after it."""
    world = World().start().progress(5)
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=139))
    world.send(SignalReceived(at=world.at + 1, number=10))
    world.exit(139).settle()
    assert len(world.launches) == 2


@pytest.mark.parametrize("retry", [Retry.NO, Retry.NEVER, Retry.SKIP])
def test_what_a_rerun_cannot_help_stops(retry: Retry) -> None:
    """The taxonomy says no: the job ends with the script's own status."""
    world = World(verdict=crash(retry=retry)).start().exit(3).settle()
    assert world.finish is not None
    assert world.finish.code == 3
    assert "software/segfault" in world.finish.reason
    assert len(world.launches) == 1


def test_a_live_attempt_is_stopped_before_the_job_ends() -> None:
    """The verdict says stop while the script hangs: it is ended first, and its end is no success."""
    world = World(verdict=crash(retry=Retry.NO), settings=Settings(on_rank_exit="any")).start()
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    world.settle()
    assert world.given(StopAttempt)
    assert world.finish is not None
    assert (world.finish.code, world.finish.signal) == (1, None), "the failed rank's own code"


def test_the_same_failure_without_a_new_step_stops() -> None:
    """Two equal fingerprints with no progress between: the program is at fault."""
    world = World().start().progress(5).exit(1).settle().ranks().exit(1).settle()
    assert len(world.launches) == 2
    assert world.finish is not None
    assert "same failure" in world.finish.reason


def test_the_same_failure_further_on_is_tried_again() -> None:
    """New steps between two equal failures: a rerun helps."""
    world = World().start().progress(5).exit(1).settle().progress(9).exit(1).settle()
    assert len(world.launches) == 3


def test_hardware_has_a_budget_instead() -> None:
    """Two nodes that die one after the other are not one failure of the program."""
    world = World(count=6, spares=2).start().progress(5).kill(node(2)).settle().kill(node(3)).settle()
    assert len(world.launches) == 3


def test_restarts_without_progress_are_limited() -> None:
    """max_restarts_without_progress counts starts in a row that bring no new step."""
    world = World(settings=Settings(max_restarts_without_progress=2)).start().progress(5)
    for number in range(3):
        world.verdict = crash(fingerprint=f"other {number}")
        world.exit(1).settle()
    assert len(world.launches) == 3
    assert world.finish is not None
    assert "no new step" in world.finish.reason


def test_progress_gives_the_restarts_back() -> None:
    """A new furthest step clears the count."""
    world = World(settings=Settings(max_restarts_without_progress=1)).start().progress(1)
    for step in range(2, 7):
        world.exit(1).settle().progress(step)
    assert len(world.launches) == 6


def test_a_newer_checkpoint_is_progress_too() -> None:
    """A script without beats shows its progress by its checkpoints."""
    world = World(settings=Settings(checkpoint="/ck", max_restarts_without_progress=2), choice=NONE_YET).start()
    for step in range(1, 5):
        world.choice, world.verdict = whole(step), crash(fingerprint=f"other {step}")
        world.exit(1).settle()
    assert len(world.launches) == 5


def test_restarts_are_limited() -> None:
    """max_restarts counts over the whole run."""
    world = World(settings=Settings(max_restarts=2)).start().progress(1)
    for step in (2, 3, 4):
        world.exit(1).settle()
        if world.finish is None:
            world.progress(step)
    assert len(world.launches) == 3
    assert world.finish is not None
    assert "max_restarts = 2" in world.finish.reason


def test_lost_node_time_is_limited() -> None:
    """More than the allowed share of the requested node time is lost: stop."""
    world = World(walltime_s=36_000.0, verdict=crash(fingerprint="")).start().progress(1)
    world.exit(1).settle().ranks()
    world.at += 3700
    world.exit(1).settle()
    assert world.finish is not None
    assert "max_lost_share = 0.1" in world.finish.reason


@pytest.mark.parametrize("known", [True, False])
def test_the_budget_of_lost_time_begins_when_the_time_limit_is_known(known: bool) -> None:  # noqa: FBT001  # pytest passes by name
    """Slurm gave no answer when the job began: its next one, at the first incident, says what was requested."""
    world = World(walltime_s=None, verdict=crash(fingerprint="")).start().progress(1)
    end = world.at + 36_000.0
    world.slurm = JobFacts(job_id=JobId("17"), state="RUNNING", end_time=end if known else None)
    world.exit(1).settle()
    assert world.state.behind.requested_node_seconds == (4 * (end - 1000.0) if known else 0.0)
    world.ranks()
    world.at += 3700
    world.exit(1).settle()
    assert (world.finish is not None) == known
    if world.finish is not None:
        assert "max_lost_share = 0.1" in world.finish.reason


def test_a_short_job_may_lose_two_minutes() -> None:
    """Ten per cent of a minute is no budget: the first two minutes of loss are free."""
    world = World(walltime_s=60.0).start().progress(5)
    world.exit(1).settle().ranks()
    world.at += 100
    world.progress(6).exit(1).settle()
    assert len(world.launches) == 3


def test_observing_changes_nothing() -> None:
    """Mode observe: the incident is recorded, nothing is stopped, restarted or counted."""
    world = World(settings=Settings(mode="observe", on_rank_exit="any")).start()
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    world.settle()
    assert world.state.stage is Stage.RUNNING
    assert world.records[0].action == "observe"
    assert "would" in world.records[0].action_text
    world.exit(1).settle()
    assert world.finish is not None
    assert world.finish.code == 1
    assert len(world.records) == 1
    assert world.state.behind.restarts == 0
    assert world.state.behind.lost_node_seconds == 0


def test_a_node_that_the_verdict_blames_leaves() -> None:
    """A fatally bad node is taken out of the job before the relaunch."""
    verdict = Verdict(
        cls=Class.HARDWARE,
        cause="gpu_lost",
        confidence=0.9,
        summary="GPU 3 fell off",
        retry=Retry.YES,
        exclude_nodes=nodes(2),
    )
    world = World(spares=1, verdict=verdict).start().exit(1).settle()
    assert world.given(Shrink)[0].drop == nodes(2)
    assert world.launches[1].nodes == nodes(1, 3, 4)


def test_a_bad_batch_host_means_another_job() -> None:
    """The batch host cannot leave its job."""
    verdict = Verdict(
        cls=Class.HARDWARE,
        cause="gpu_lost",
        confidence=0.9,
        summary="",
        retry=Retry.YES,
        exclude_nodes=nodes(1),
    )
    world = World(spares=1, verdict=verdict).start().exit(1).settle()
    assert world.given(Submit)[0].exclude == nodes(1)
    assert len(world.launches) == 1


def test_a_refused_submission_becomes_a_requeue() -> None:
    """Where sbatch refuses, Slurm is asked to start this job again."""
    world = World(sbatch=["refused"]).start().kill(node(3)).settle()
    assert world.given(Requeue)[0].exclude == nodes(3)
    assert world.finish is not None
    assert world.finish.handed_over
    assert world.records[0].action == "requeue"


def test_the_ladder_ends() -> None:
    """Nothing helps: the job stops with the user's status and says why."""
    world = World(sbatch=["refused", "refused"], requeue_ok=False).start().kill(node(3)).settle()
    assert world.finish is not None
    assert not world.finish.handed_over
    assert "no other job can be had" in world.finish.reason


def test_an_unheard_submission_is_not_followed_by_a_requeue() -> None:
    """Nobody knows whether a job was made: it is looked for again, never doubled."""
    world = World(sbatch=["unknown"] * 30).start().kill(node(3)).settle()
    assert len(world.given(Submit)) == 10
    assert not world.given(Requeue)
    assert world.finish is not None
    assert "nobody knows" in world.finish.reason


def test_an_unproven_stop_is_repeated_then_given_up() -> None:
    """Without proof nothing is launched in this job; the successor waits for this one's end."""
    unproven = Stopped(at=0.0, attempt=AttemptNo(1), is_proven=False, text="steps live on")
    world = World(stop_proofs=[unproven] * 9).start().exit(1).settle()
    assert len(world.given(StopAttempt)) == 3
    assert len(world.launches) == 1
    assert world.given(Submit)[0].after_this_job


def test_a_node_with_an_unkillable_process_leaves() -> None:
    """A rank in D state takes its node out; the others are proven without it."""
    stuck = Stopped(at=0.0, attempt=AttemptNo(1), is_proven=False, unkillable=nodes(2), text="node002")
    world = World(spares=1, stop_proofs=[stuck]).start().exit(1).settle()
    assert world.given(StopAttempt)[1].lost == nodes(2)
    assert world.given(Shrink)[0].drop == nodes(2)
    assert world.launches[1].nodes == nodes(1, 3, 4)


def test_an_unkillable_process_that_cannot_leave_forbids_a_launch() -> None:
    """Slurm keeps the node with the living process in the job: another job is needed."""
    stuck = Stopped(at=0.0, attempt=AttemptNo(1), is_proven=False, unkillable=nodes(2), text="node002")
    world = World(spares=1, stop_proofs=[stuck], shrink_ok=False).start().exit(1).settle()
    assert len(world.launches) == 1
    assert world.given(Submit)[0].after_this_job


def test_a_node_that_falls_silent_while_stopping_is_lost() -> None:
    """It gave no answer to the stop: it leaves, and the proof is asked of the others."""
    silent = Stopped(at=0.0, attempt=AttemptNo(1), is_proven=False, unreachable=nodes(3), text="node003")
    world = World(spares=1, stop_proofs=[silent]).start().exit(1).settle()
    assert world.given(StopAttempt)[1].lost == nodes(3)
    assert world.launches[1].nodes == nodes(1, 2, 4)


def test_a_relaunch_never_begins_from_zero_unasked() -> None:
    """The store gives no answer: looked at again with pauses, then stopped."""
    world = World(settings=_CK, choice=whole(10)).start().progress(15)
    world.choice = NO_ANSWER
    world.exit(1).run(900)
    assert len(world.given(ChooseCheckpoint)) == 1 + 9
    assert len(world.launches) == 1
    assert world.finish is not None
    assert "never from the beginning" in world.finish.reason


def test_a_store_that_answers_again_is_used() -> None:
    """One of the later looks succeeds: the run goes on from there."""
    world = World(settings=_CK, choice=whole(10)).start().progress(15)
    world.choice = NO_ANSWER
    world.exit(1).run(5)
    world.choice = whole(14)
    world.run(10)
    assert world.launches[1].resume_step == 14


def test_an_empty_folder_is_not_believed_after_a_checkpoint() -> None:
    """There was a checkpoint: "none" is an answer of a broken store."""
    world = World(settings=_CK, choice=whole(10)).start()
    world.choice = NONE_YET
    world.exit(1).settle()
    assert len(world.launches) == 1


def test_no_checkpoint_yet_starts_from_the_beginning() -> None:
    """It failed before the first checkpoint: starting from zero is right, and said."""
    world = World(settings=_CK, choice=NONE_YET).start().progress(2).exit(1).settle()
    assert world.launches[1].resume_from is None
    assert "from the beginning" in world.said


def test_without_a_folder_of_checkpoints_the_script_decides_where_to_go_on() -> None:
    """Nobody looked for one, so nobody says that it begins anew."""
    world = World().start().progress(2).exit(1).settle()
    assert "attempt 2 starts" in world.said
    assert "from the beginning" not in world.said


def test_a_hand_that_never_collects_does_not_hold_the_run() -> None:
    """No diagnosis in time: an honest unknown, one restart."""
    world = World(silent_hands={Collect}).start().progress(1).exit(1).run(20)
    assert world.records[0].verdict.cause == "unattributed"
    assert len(world.launches) == 2


@pytest.mark.parametrize("kind", [StopAttempt, Shrink, Submit, LaunchAttempt])
def test_every_stage_has_a_deadline(kind: type) -> None:
    """A hand that never answers cannot hold the job for ever."""
    world = World(spares=1 if kind is Shrink else 0).start().progress(1)
    world.silent_hands = {kind}
    if kind in {Shrink, Submit}:
        world.kill(node(3)).run(800)
        assert world.finish is not None or len(world.launches) == 2
    else:
        world.exit(1).run(400)
        assert world.finish is not None


def test_a_script_that_ends_well_while_evidence_is_gathered_has_finished() -> None:
    """Finished runs are finished, whatever was seen of single ranks before."""
    world = World(settings=Settings(on_rank_exit="any")).start()
    world.send(RankFailed(at=world.at, attempt=AttemptNo(1), code=1))
    world.exit(0).settle()
    assert world.finish is not None
    assert (world.finish.code, world.finish.reason) == (0, "completed, no interruptions")


def test_ranks_that_never_come_are_an_incident_if_the_user_said_so() -> None:
    """ranks_deadline_s: a script that starts no ranks in time is broken."""
    world = World(settings=Settings(ranks_deadline_s=30)).begin().settle().run(40)
    assert len(world.launches) == 2


def test_a_silent_node_is_asked_again_before_a_relaunch() -> None:
    """Tier 0 had no answer of a node that is needed: asked three times, then another job."""
    world = World().start().progress(1)
    world.mute = {node(2)}
    world.exit(1).settle()
    assert len(world.launches) == 1
    assert world.given(Submit)[0].exclude == nodes(2)


def test_a_finder_that_never_answers_does_not_hold_the_recovery() -> None:
    """Each look has its deadline, the looks are counted, and then the run stops."""
    world = World(settings=_CK, choice=whole(10)).start().progress(15)
    world.silent_hands = {ChooseCheckpoint}
    world.exit(1).run(900)
    assert world.finish is not None
    assert "cannot be read" in world.finish.reason


def test_a_blamed_node_stays_until_it_has_proven_that_nothing_lives_there() -> None:
    """Its leaving would end its agent, and what lives on there could not be reached any more."""
    verdict = msgspec.structs.replace(crash(), exclude_nodes=nodes(2))
    world = World(spares=1, verdict=verdict).start().progress(4).exit(1).settle()
    orders = [type(order) for order in world.done if isinstance(order, (StopAttempt, Shrink, LaunchAttempt))]
    assert orders == [LaunchAttempt, StopAttempt, Shrink, LaunchAttempt]
    assert world.given(StopAttempt)[0].lost == ()


def test_a_crash_long_after_a_signal_is_a_crash() -> None:
    """Some scripts save a checkpoint at USR1 and train on: hours later the signal says nothing about their end."""
    world = World().start().progress(4)
    world.send(SignalReceived(at=world.at, number=10))
    world.at += 3600.0
    world.progress(400).exit(1).settle()
    assert len(world.launches) == 2
