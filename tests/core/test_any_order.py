"""Whatever happens in whatever order: the rules hold, the job ends, and the log tells the same story."""

from collections.abc import Callable
from typing import get_args

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.core.events import Hung, RankFailed, Saved, SlurmReported, Stalled, Stopped
from supervisor.core.instructions import CancelJob, Finish, Instruction, Submit
from supervisor.core.machine import replay
from supervisor.core.snapshot import Snapshot
from supervisor.core.state import Stage
from supervisor.core.summary import carried
from supervisor.model.facts import JobFacts
from supervisor.model.ids import AttemptNo, JobId
from supervisor.model.verdict import Class, Retry, Verdict
from supervisor.settings import Settings
from tests.core.facts import NO_ANSWER, NONE_YET, crash, node, nodes, unreachable, whole
from tests.core.harness import World

_JOB = JobFacts(job_id=JobId("17"), state="RUNNING")


def _end_script(world: World, code: int) -> None:
    if world.live:
        world.exit(code)


def _rank_fails(world: World) -> None:
    if world.live:
        world.send(RankFailed(at=world.at, attempt=AttemptNo(world.live), code=1))
        world.send(Stalled(at=world.at, attempt=AttemptNo(world.live), silent_s=6.0))


def _hang(world: World) -> None:
    if world.live:
        world.send(Hung(at=world.at, attempt=AttemptNo(world.live), silent_s=9.0))


def _move(world: World, step: int) -> None:
    if world.live:
        world.ranks().progress(step)


def _cancel(world: World) -> None:
    world.slurm = msgspec.structs.replace(_JOB, state="COMPLETING")
    world.term()


def _time_limit(world: World) -> None:
    world.slurm = msgspec.structs.replace(_JOB, state="COMPLETING", reason="TimeLimit")
    world.term()


def _grace(world: World) -> None:
    world.slurm = msgspec.structs.replace(_JOB, preempt_time=world.at, end_time=world.at + 30, requeue=False)


def _dead_node_ends_it(world: World) -> None:
    world.slurm = msgspec.structs.replace(_JOB, state="NODE_FAIL", requeue=False)
    world.term()


def _limit_is_near(world: World) -> None:
    world.slurm = msgspec.structs.replace(_JOB, end_time=world.at + 100)
    world.send(SlurmReported(at=world.at, job=world.slurm))


def _save(world: World) -> None:
    if world.live:
        world.send(Saved(at=world.at, attempt=AttemptNo(world.live), seconds=20.0))


def _lose_answer(world: World) -> None:
    if world.pending:
        world.pending.popleft()


def _unprovable(world: World) -> None:
    world.stop_proofs.append(Stopped(at=0.0, attempt=AttemptNo(0), is_proven=False, text="steps live on"))


def _unkillable(world: World) -> None:
    stuck = Stopped(at=0.0, attempt=AttemptNo(0), is_proven=False, unkillable=nodes(2), text="node002")
    world.stop_proofs.append(stuck)


def _of(cause: str, cls: Class, *, retry: Retry = Retry.YES, skip: str = "") -> Verdict:
    return Verdict(
        cls=cls, cause=cause, confidence=0.9, summary=cause, retry=retry, skip=skip, fingerprint=f"{cause}|{skip}"
    )


def _set(name: str, value: object) -> Callable[[World], None]:
    return lambda world: setattr(world, name, value)


def _kill(number: int) -> Callable[[World], object]:
    return lambda world: world.kill(node(number))


def _hush(number: int) -> Callable[[World], object]:
    return lambda world: world.hush(node(number))


def _exit(code: int) -> Callable[[World], object]:
    return lambda world: _end_script(world, code)


def _step(step: int) -> Callable[[World], object]:
    return lambda world: _move(world, step)


def _wait(seconds: int) -> Callable[[World], object]:
    return lambda world: world.run(seconds)


_ACTIONS: dict[str, Callable[[World], object]] = {
    **{f"kill {number}": _kill(number) for number in (2, 3, 4)},
    **{f"hush {number}": _hush(number) for number in (1, 2, 4)},
    **{f"exit {code}": _exit(code) for code in (0, 1, 139)},
    **{f"step {step}": _step(step) for step in (1, 5, 9)},
    **{f"wait {seconds} s": _wait(seconds) for seconds in (1, 4, 40)},
    "answer": World.answer,
    "answer again": World.answer,
    "answer once more": World.answer,
    "answer all": World.settle,
    "answer everything": World.settle,
    "lose an answer": _lose_answer,
    "rank fails": _rank_fails,
    "all ranks hang": _hang,
    "cancel": _cancel,
    "time limit": _time_limit,
    "time limit is near": _limit_is_near,
    "save": _save,
    "grace": _grace,
    "dead node ends it": _dead_node_ends_it,
    "signal to the script": lambda world: world.term(whole=False),
    "supervisor dies": World.restart,
    "bad spare": lambda world: world.bad.update({node(5): "no GPU"}),
    "bad node": lambda world: world.bad.update({node(2): "no GPU"}),
    "unprovable stop": _unprovable,
    "unkillable process": _unkillable,
    "shrink refused": _set("shrink_ok", False),
    "shrink unheard": _set("shrink_heard", False),
    "sbatch refuses": lambda world: world.sbatch.append("refused"),
    "sbatch unknown": lambda world: world.sbatch.append("unknown"),
    "somebody waits": lambda world: world.sbatch.append("holds"),
    "requeue refused": _set("requeue_ok", False),
    "store away": _set("choice", NO_ANSWER),
    "store empty": _set("choice", NONE_YET),
    "checkpoint 7": _set("choice", whole(7)),
    "checkpoint 9": _set("choice", whole(9)),
    "other verdict": _set("verdict", crash(fingerprint="other")),
    "final verdict": _set("verdict", crash(retry=Retry.NO)),
    "throttled": _set("verdict", _of("data_source_throttled", Class.DATA)),
    "bad checkpoint": _set("verdict", _of("checkpoint_corrupt", Class.DATA)),
    "bad shard": _set("verdict", _of("corrupt_shard", Class.DATA, retry=Retry.SKIP, skip="/data/1")),
    "batch host blamed": _set("verdict", unreachable(node(1))),
    "halt now": lambda world: world.order("halt", is_now=True),
    "halt after the next checkpoint": lambda world: world.order("halt", until=world.at + 500),
    "resume": lambda world: world.order("resume"),
    "observe": lambda world: world.order("mode", mode="observe"),
    "act": lambda world: world.order("mode", mode="act"),
    "exclude 3": lambda world: world.order("exclude", nodes=nodes(3)),
    "unexclude 3": lambda world: world.order("unexclude", nodes=nodes(3)),
    "kill task failed": lambda world: world.reasons.update({node(3): "Kill task failed", node(4): "Kill task failed"}),
    "slurm silent": _set("slurm", None),
}
_STORY = st.lists(st.sampled_from(sorted(_ACTIONS)), max_size=30)
_SETTINGS = st.builds(
    Settings,
    checkpoint=st.sampled_from(["", "/ck"]),
    on_rank_exit=st.sampled_from(["stalled", "any", "never"]),
    mode=st.sampled_from(["act", "act", "act", "observe"]),
    min_nodes=st.sampled_from([0, 2]),
    max_restarts=st.sampled_from([0, 2, 20]),
    policy=st.sampled_from(["", "software.budget=1 hardware.budget=1", "data_source_throttled.wait_s=5"]),
    skip_data=st.booleans(),
    standby=st.booleans(),
    save_signal=st.sampled_from(["none", "USR1"]),
)


def _play(story: list[str], options: Settings, spares: int, *, short: bool = False) -> World:
    """The story is played; every order is checked by the world as it is given. `short`: its log often begins anew."""
    standby = JobId("99") if options.standby else None
    world = World(count=5, spares=spares, settings=options, standby=standby).begin()
    for action in story:
        _ACTIONS[action](world)
        # Progress that is still held back is written before the next event.
        held = [world.policy._held] if world.policy._held else []
        assert replay([*world.log, *held], options) == world.state
        if short:
            _begin_anew(world)
    return world


def _check_standby(world: World) -> None:
    """Nobody is left in the queue who would begin though nobody wants it."""
    if world.standby is not None and not (world.finish and world.finish.handed_over):
        assert CancelJob(job_id=world.standby) in world.done


def _submissions(world: World) -> int:
    """Orders that may make a job."""
    return sum(not order.only_look for order in world.given(Submit))


def _begin_anew(world: World) -> None:
    """The log is now this state, as a file would give it back."""
    line = msgspec.json.encode(Snapshot(at=world.at, restarts=0, state=world.state))
    world.log = [msgspec.json.decode(line, type=Snapshot)]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_STORY, _SETTINGS, st.integers(0, 2))
def test_the_rules_hold_in_any_order(story: list[str], options: Settings, spares: int) -> None:
    """One live attempt, no unfit node, no budget exceeded, nothing after SIGTERM; the log gives the same state."""
    _play(story, options, spares)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_STORY, _SETTINGS, st.integers(0, 2))
def test_a_log_that_begins_anew_tells_the_same(story: list[str], options: Settings, spares: int) -> None:
    """Wherever it was cut: what a snapshot holds is all that a replay needs of what was before."""
    _play(story, options, spares, short=True)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_STORY, _SETTINGS, st.integers(0, 2))
def test_it_always_ends(story: list[str], options: Settings, spares: int) -> None:
    """Once the script has ended and no hand answers any more, deadlines alone bring the job to its end."""
    world = _play(story, options, spares)
    world.pending.clear()
    world.silent_hands = set(get_args(Instruction))
    _end_script(world, 1)
    for _ in range(3000):
        world.run(1)
        if world.state.stage is Stage.FINISHED:
            break
    assert world.state.stage is Stage.FINISHED
    _check_standby(world)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_STORY, _SETTINGS, st.integers(0, 2))
def test_a_cancel_is_final(story: list[str], options: Settings, spares: int) -> None:
    """After a person's cancel, at whatever moment, there is no launch, no submission and no successor left."""
    others = {"time limit", "time limit is near", "grace", "dead node ends it", "signal to the script"}
    world = _play([action for action in story if action not in others], options, spares)
    is_over = world.state.stage is Stage.FINISHED
    before = len(world.launches), _submissions(world)
    _cancel(world)
    _end_script(world, 1)
    world.run(60)
    assert (len(world.launches), _submissions(world)) == before
    assert world.finish is not None
    assert is_over or not world.finish.handed_over or world.state.rung == "requeue"
    # Only the first SIGTERM is a question to Slurm, and its answer may have been lost in the story.
    assert "cancel" in story or world.state.submitted is None


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_STORY, _SETTINGS, st.integers(0, 2))
def test_a_halt_is_final(story: list[str], options: Settings, spares: int) -> None:
    """After a person's halt, at whatever moment, the job ends, with no launch, no successor, and no start by Slurm."""
    world = _play(story, options, spares)
    if world.given(Finish):
        return
    before = len(world.launches), _submissions(world)
    world.order("halt", is_now=True)
    world.run(900)
    assert (len(world.launches), _submissions(world)) == before
    assert world.state.stage is Stage.FINISHED
    assert world.state.submitted is None
    if world.finish is not None and world.finish.handed_over:
        again = World(carried=carried(world.state, world.at), settings=options).begin().run(30)
        assert again.launches == []
        assert again.state.stage is Stage.FINISHED


@given(st.lists(st.sampled_from(sorted(_ACTIONS)), max_size=12), _SETTINGS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_healthy_world_brings_the_run_to_its_end(story: list[str], options: Settings) -> None:
    """Whatever has happened: when everybody answers again, each run is running, or has ended for a reason."""
    world = _play(story, options, 1)
    world.silent_hands, world.stop_proofs = set(), []
    world.run(600)
    assert world.state.stage in {Stage.RUNNING, Stage.FINISHED, Stage.ENDING}
    if world.state.stage is Stage.FINISHED:
        assert world.finish is not None
        assert world.finish.reason
