"""The job's end reaches the keeper whatever breaks, after what must come before it; and it tells no secrets."""

import asyncio
import os
import signal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.core.events import SignalReceived, SlurmReported
from supervisor.core.instructions import AskSlurm, CancelJob, Finish, LaunchAttempt
from supervisor.daemon import eyes
from supervisor.daemon.hands import dispatch
from supervisor.daemon.hands.check import Checker
from supervisor.daemon.hands.dispatch import Hands
from supervisor.daemon.hands.finish import finish
from supervisor.daemon.hands.record import Commenter, say
from supervisor.daemon.world import World
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import AttemptNo, JobId
from supervisor.settings import Settings
from supervisor.slurm.commands import comment


class _Slurm:
    """Takes Comments, or breaks at them, and cancels jobs when it is let."""

    def __init__(self, told: list[str], *, is_broken: bool = False) -> None:
        self._told = told
        self._is_broken = is_broken
        self.may_cancel = asyncio.Event()
        self.comments: list[str] = []

    async def update_comment(self, _job: JobId, text: str, *, deadline_s: float) -> None:
        if self._is_broken:
            raise ValueError(f"nobody expects this within {deadline_s} s")
        self.comments.append(text)

    async def job(self, job: JobId, *, deadline_s: float) -> JobFacts:
        del deadline_s
        return JobFacts(job_id=job, state="COMPLETING")

    async def nodes(self, _names: object, *, deadline_s: float) -> tuple[NodeState, ...]:
        del deadline_s
        return ()

    async def cancel_job(self, job: JobId, *, deadline_s: float) -> None:
        async with asyncio.timeout(60 * deadline_s):
            await self.may_cancel.wait()
        self._told.append(f"cancelled {job}")


class _Flushed:
    async def flushed(self, _deadline_s: float) -> bool:
        return True


def _world(told: list[str], slurm: _Slurm) -> World:
    def over(*, code: int | None, signal: int | None) -> None:
        told.append(f"finish {code} {signal}")

    keeper = SimpleNamespace(finish=over, busy=lambda _: None)
    made = SimpleNamespace(
        keeper=keeper,
        writer=_Flushed(),
        slurm=slurm,
        settings=Settings(),
        post=told.append,
        tell_person=lambda _: None,
        clock=lambda: 100.0,
        sigterm_at=0.0,
        around=SimpleNamespace(job_id="7", nodes=()),
    )
    return cast("World", made)


def _commenter(slurm: _Slurm) -> Commenter:
    return Commenter(cast("Any", slurm), JobId("7"), lambda: 0.0, deadline_s=1.0)  # a part of the backend


async def test_the_exit_status_reaches_the_keeper_though_the_last_words_break() -> None:
    """Nobody orders the end a second time: without it the job would hang until its time limit."""
    told: list[str] = []
    slurm = _Slurm(told, is_broken=True)
    order = Finish(code=3, reason="over", comment="supervise: over")
    with pytest.raises(ValueError, match="nobody expects"):
        await finish(_world(told, slurm), order, _commenter(slurm), is_wanted=lambda: True)
    assert told == ["finish 3 None"]


async def test_a_successor_is_cancelled_before_the_job_ends() -> None:
    """With the keeper everything of ours ends: a scancel that was only begun would be lost, and the successor live."""
    told: list[str] = []
    slurm = _Slurm(told)
    async with asyncio.TaskGroup() as group:
        hands = Hands(_world(told, slurm), group, Checker(cast("Any", None)), _commenter(slurm))  # nothing is checked
        hands.carry_out(CancelJob(job_id=JobId("8")))
        hands.carry_out(Finish(code=0, reason="cancelled"))
        await asyncio.sleep(0.1)
        assert told == []
        slurm.may_cancel.set()
    assert told == ["cancelled 8", "finish 0 None"]


async def test_a_question_holds_the_end_back_until_it_is_ordered_again() -> None:
    """A cancel came after the order to end: the keeper must not leave before Slurm's answer."""
    told: list[Any] = []
    slurm = _Slurm(told)
    async with asyncio.TaskGroup() as group:
        hands = Hands(_world(told, slurm), group, Checker(cast("Any", None)), _commenter(slurm))  # nothing is checked
        hands.carry_out(Finish(code=1, reason="job 8 goes on", handed_over=True))
        hands.carry_out(AskSlurm())
        await asyncio.sleep(0.1)
        (answer,) = told
        assert isinstance(answer, SlurmReported)
        hands.carry_out(CancelJob(job_id=JobId("8")))
        hands.carry_out(Finish(signal=15, reason="cancelled"))
        await asyncio.sleep(0.1)
        assert told == [answer]
        slurm.may_cancel.set()
        await hands.over()
    assert told == [answer, "cancelled 8", "finish None 15"]


async def test_a_cancel_just_before_the_end_is_told_once_more() -> None:
    """The keeper reads the end before it has reported the signal, and reports nothing after that."""
    told: list[Any] = []
    slurm = _Slurm(told)
    world = _world(told, slurm)
    world.sigterm_at = 99.5
    async with asyncio.TaskGroup() as group:
        hands = Hands(world, group, Checker(cast("Any", None)), _commenter(slurm))  # nothing is checked
        hands.carry_out(Finish(code=1, reason="job 8 goes on", handed_over=True))
    assert told[0] == SignalReceived(at=99.5, number=15)


async def test_this_process_hears_the_cancel_of_a_job_that_is_leaving() -> None:
    """Before the end is decided the keeper reports it, with its meaning; from then on nobody else does."""
    told: list[Any] = []
    world, is_over = _world(told, _Slurm(told)), False
    cast("Any", world.keeper).signaled = lambda number: told.append(f"signaled {number}")
    eyes.hear_last_signal(world, lambda: is_over)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.05)
        assert told == ["signaled 15"]
        is_over = True
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.05)
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
    assert told[1:] == ["signaled 15", SignalReceived(at=100.0, number=15)]


async def test_a_record_that_takes_long_does_not_hold_the_end_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an attempt ran with is found out beside it: the job ends at once though git hangs."""

    async def slow(*_: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(dispatch, "launch", lambda *_: None)
    monkeypatch.setattr(dispatch, "remember", slow)
    slurm = _Slurm([])
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        hands = Hands(_world([], slurm), group, Checker(cast("Any", None)), _commenter(slurm))  # nothing is checked
        hands.carry_out(LaunchAttempt(attempt=AttemptNo(1), nodes=()))
        await asyncio.sleep(0)
        hands.let_go()


async def test_an_order_that_breaks_at_once_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's deadline for the launch takes over; without that the supervisor would die of it again and again."""

    def breaks(*_: object) -> None:
        raise ValueError("an environment that nobody has thought of")

    async def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(dispatch, "launch", breaks)
    monkeypatch.setattr(dispatch, "remember", nothing)
    slurm = _Slurm([])
    async with asyncio.TaskGroup() as group:
        hands = Hands(_world([], slurm), group, Checker(cast("Any", None)), _commenter(slurm))  # nothing is checked
        hands.carry_out(LaunchAttempt(attempt=AttemptNo(1), nodes=()))


def test_a_path_that_is_no_utf_8_is_said_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The checkpoint that is resumed from, say."""
    say("resuming from /data/caf\udce9/step-3")
    assert capfdbinary.readouterr().err == b"supervise: resuming from /data/caf\xe9/step-3\n"


async def test_a_comment_tells_no_secret() -> None:
    """Everybody on the cluster reads Comments."""
    slurm = _Slurm([])
    commenter = _commenter(slurm)
    commenter.want("supervise: OSError: https://me:hunter2@hub.example/x")
    await commenter.flush()
    assert slurm.comments == ["supervise: OSError: https://me:***@hub.example/x"]


def test_a_comment_is_always_an_argument() -> None:
    """A log with a hole (NULs) or bytes that are no text must not break the call."""
    assert comment(JobId("7"), "bad\0line\udce9 \x1b[31mred")[-1] == "Comment=bad line [31mred"
