"""One successor, whatever is slow, away or asked twice."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.core.events import Submitted
from supervisor.core.instructions import Submit
from supervisor.daemon.hands import submit as hand
from supervisor.daemon.world import World
from supervisor.errors import SlurmFailed
from supervisor.ledger.run_folder import SUBMISSIONS, SubmissionRecord, append_line
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.ids import JobId
from supervisor.settings import Settings

_ORDER = Submit(exclude=())


class _Case:
    """A job 7 of a run, with a plan and an sbatch that do as told."""

    def __init__(self, folder: Path) -> None:
        self.writer = Writer()
        self.successor: JobId | None = None
        self.has_submitted = False
        self.submitting = asyncio.Lock()
        self.folder = folder
        self.settings = Settings(submit_deadline_s=60.0)
        self.run = SimpleNamespace(script_name="train.sh")
        self.around = SimpleNamespace(job_id="7", raw_job_id="7")
        self.slurm = SimpleNamespace(calls=None)
        self.plan_fails = 0
        self.known: list[Sequence[JobId]] = []
        self.looked_first: list[bool] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def clock(self) -> float:
        return 5.0

    async def plan(self, _world: World, _exclude: Sequence[str]) -> SimpleNamespace:
        if self.plan_fails:
            self.plan_fails -= 1
            raise SlurmFailed("scontrol refused", stderr="Unable to contact slurm controller")
        return SimpleNamespace(argv=("sbatch",), reasons=())

    async def sbatch(
        self, _wanted: object, _folder: Path, *, known: Sequence[JobId], look_first: bool, **_: object
    ) -> JobId:
        self.known.append(known)
        self.looked_first.append(look_first)
        await self.may_answer.wait()
        return JobId(str(7 + len(self.known)))

    async def submit(self) -> Submitted:
        return await hand.submit(cast("World", self), _ORDER)


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Case:
    """Everything answers."""
    made = _Case(tmp_path)
    monkeypatch.setattr(hand, "_plan", made.plan)
    monkeypatch.setattr(hand, "resubmit", made.sbatch)
    monkeypatch.setattr(hand, "_FIRST_PAUSE_S", 0.01)
    return made


def _note(folder: Path, job: str) -> None:
    append_line(folder / SUBMISSIONS, encode(SubmissionRecord(at=1.0, job_id=JobId(job))))


async def test_an_order_that_is_given_again_makes_no_twin(case: _Case) -> None:
    """The first sbatch is still under way when the machine asks again: both orders get the same job."""
    case.may_answer.clear()
    first, second = asyncio.create_task(case.submit()), asyncio.create_task(case.submit())
    await asyncio.sleep(0.1)
    case.may_answer.set()
    answers: list[Any] = [await first, await second]
    assert [(answer.outcome, answer.job_id) for answer in answers] == 2 * [("accepted", "8")]
    assert len(case.known) == 1


async def test_a_slurmctld_that_is_away_is_waited_for(case: _Case) -> None:
    """It restarts, or another one takes over: that is no refusal, and nothing has been sent yet."""
    case.plan_fails = 3
    assert (await case.submit()).outcome == "accepted"


async def test_a_slurmctld_that_stays_away_is_no_refusal(case: _Case) -> None:
    """Nobody knows: the machine asks again instead of going down the ladder."""
    case.plan_fails = 1000
    case.settings = Settings(submit_deadline_s=0.05)
    assert (await case.submit()).outcome == "unknown"
    assert case.has_submitted is False


async def test_the_successor_that_a_killed_supervisor_noted_is_looked_for(case: _Case) -> None:
    """It wrote the id down and died before it could say so: that job must be found, not passed over."""
    for job in ("6", "7", "8"):
        _note(case.folder, job)
    case.has_submitted = True
    await case.submit()
    assert "8" not in case.known[0]
    assert {"6", "7"} <= set(case.known[0])
    assert case.looked_first == [True]
