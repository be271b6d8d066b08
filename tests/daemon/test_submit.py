"""One successor, whatever is slow, away or asked twice."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from supervisor.core.events import Submitted
from supervisor.core.instructions import CancelJob, Requeue, Submit
from supervisor.daemon.hands import submit as hand
from supervisor.daemon.world import World
from supervisor.errors import SlurmFailed
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.run_folder import SUBMISSIONS, SubmissionRecord, append_line
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName, RunId
from supervisor.settings import Settings
from supervisor.slurm.dependents import Waiting

_ORDER = Submit(exclude=())
_STARTS = "echo 'Job 1 to start at 2' >&2"
_TOO_FEW = "echo 'Requested node configuration is not available' >&2; exit 1"
_NODES = tuple(NodeName(f"n{number}") for number in range(1, 5))


class _Case:
    """A job 7 of a run, with a plan and an sbatch that do as told."""

    def __init__(self, folder: Path) -> None:
        self.writer = Writer()
        self.successor: JobId | None = None
        self.has_submitted = False
        self.submitting = asyncio.Lock()
        self.sigterm_at = float("-inf")
        self.folder = folder
        self.settings = Settings(submit_deadline_s=60.0)
        self.run = SimpleNamespace(script_name="train.sh")
        self.around = SimpleNamespace(job_id="7", raw_job_id="7")
        self.slurm = SimpleNamespace(calls=None, waiting=self.waiting)
        self.queue: tuple[Waiting, ...] = ()
        self.plan_fails = 0
        self.known: list[Sequence[JobId]] = []
        self.looked_first: list[bool] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def clock(self) -> float:
        return 5.0

    async def waiting(self, **_: object) -> tuple[Waiting, ...]:
        return self.queue

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


async def test_nothing_is_sent_once_the_job_is_being_ended(case: _Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel came while the request was prepared; what is ordered after the signal has a cause and goes out."""

    async def plan(world: World, exclude: Sequence[str]) -> SimpleNamespace:
        case.sigterm_at = 5.0
        return await case.plan(world, exclude)

    monkeypatch.setattr(hand, "_plan", plan)
    assert (await case.submit()).outcome == "refused"
    assert case.known == []
    monkeypatch.setattr(hand, "_plan", case.plan)
    case.sigterm_at = 4.0
    assert (await case.submit()).outcome == "accepted"


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


_BOBS = Waiting(job_id=JobId("9"), uid=os.getuid() + 1, dependency="afterok:7(unfulfilled)")


async def test_where_somebody_waits_who_cannot_be_moved_nothing_is_sent(case: _Case) -> None:
    """Another user's job would never start, or start too early: the machine is told why."""
    case.queue = (_BOBS,)
    answer = await case.submit()
    assert (answer.outcome, answer.holds, case.known) == ("refused", True, [])
    assert "9 (another user's)" in answer.text
    answer = await hand.submit(cast("World", case), Submit(exclude=(), whoever_waits=True))
    assert (answer.outcome, answer.left) == ("accepted", ("9 (another user's)",))


async def test_a_successor_that_was_made_already_is_no_reason_to_make_a_twin(
    case: _Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody began to wait while a supervisor died that had submitted: the job is there."""

    async def look(_folder: Path, **_: object) -> JobId | None:
        return JobId("8")

    monkeypatch.setattr(hand, "find_unheard", look)
    case.queue, case.has_submitted = (_BOBS,), True
    assert (await case.submit()).outcome == "accepted"
    assert case.looked_first == [True]


class _Slurm:
    """Four idle nodes; counting allows any exclusion that leaves three of them."""

    calls = None

    async def job(self, job: JobId, **_: object) -> JobFacts:
        return JobFacts(job_id=job, state="RUNNING", partition="main", nodes=_NODES[:3])

    async def partition_nodes(self, _partition: str, **_: object) -> tuple[NodeState, ...]:
        return tuple(NodeState(node=node, states=("IDLE",)) for node in _NODES)

    async def node_names(self, **_: object) -> frozenset[NodeName]:
        return frozenset(_NODES)


@pytest.mark.parametrize(
    ("answer", "excluded", "dropped"),
    [
        (_STARTS, ("n2",), False),
        (f"case $* in *exclude*) {_TOO_FEW};; esac; {_STARTS}", (), True),
        (_TOO_FEW, ("n2",), False),
        ("echo 'Invalid account' >&2; exit 1", ("n2",), False),
        ("exec sleep 60", ("n2",), False),
    ],
)
async def test_an_exclusion_that_leaves_too_few_nodes_that_fit_is_let_go(
    case: _Case,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    excluded: tuple[str, ...],
    dropped: bool,  # noqa: FBT001
) -> None:
    """Counting nodes knows no constraint: Slurm is asked, and where it does not tell the count stands."""
    monkeypatch.undo()
    monkeypatch.setattr(hand, "environment_of_the_job", lambda: {"PATH": f"{case.folder}:/usr/bin:/bin"})
    (case.folder / "sbatch").write_text(f"#!/bin/sh\n{answer}\n")
    (case.folder / "sbatch").chmod(0o755)
    (case.folder / "submitted").mkdir()
    (case.folder / "submitted/train.sh").write_text("#!/bin/sh\n#SBATCH -N 3 -C big\nsrun x\n")
    run = RunFile(run_id=RunId("r"), created_at=1.0, script_name="train.sh", workdir=str(case.folder), nodes=3)
    world = SimpleNamespace(
        folder=case.folder,
        run=run,
        settings=Settings(slurm_deadline_s=2.0),
        around=SimpleNamespace(job_id="7", nodes=_NODES[:3]),
        slurm=_Slurm(),
    )
    made = await hand._plan(cast("World", world), (NodeName("n2"),))
    assert made.excluded == excluded
    assert any("n2 may be used" in reason for reason in made.reasons) is dropped


class _Requeuing(_Slurm):
    """Keeps what a requeued job is told."""

    def __init__(self, *, exclude: str = "", required: str = "", is_away: bool = False) -> None:
        self.facts = {"exclude": exclude, "required": required}
        self.is_away = is_away
        self.told: list[tuple[tuple[NodeName, ...], int, tuple[NodeName, ...]]] = []

    async def job(self, job: JobId, **options: object) -> JobFacts:
        if self.is_away:
            raise SlurmFailed("no answer")
        return msgspec.structs.replace(await super().job(job, **options), **self.facts)

    async def requeue(self, _job: JobId, **_: object) -> None:
        """Done."""

    async def exclude(
        self, _job: JobId, names: Sequence[NodeName], *, nodes: int, required: Sequence[NodeName], **_: object
    ) -> None:
        self.told.append((tuple(names), nodes, tuple(required)))


def _requeue_world(slurm: _Requeuing, *, nodes: int) -> SimpleNamespace:
    return SimpleNamespace(
        settings=Settings(),
        around=SimpleNamespace(job_id="7", nodes=_NODES[:nodes]),
        slurm=slurm,
        clock=lambda: 1.0,
        sigterm_at=float("-inf"),
    )


@pytest.mark.parametrize(
    ("slurm", "needed", "names", "required"),
    [
        (_Requeuing(), 3, ("n2",), ()),
        (_Requeuing(exclude="n4"), 2, ("n4", "n2"), ()),
        (_Requeuing(exclude="n4"), 3, ("n4",), ()),
        (_Requeuing(required="n[1-2]"), 3, ("n2",), ("n1",)),
        (_Requeuing(exclude="n4", is_away=True), 3, ("n2",), ()),
    ],
)
async def test_a_requeued_job_keeps_its_users_nodes(
    slurm: _Requeuing, needed: int, names: tuple[str, ...], required: tuple[str, ...]
) -> None:
    """ExcNodeList and ReqNodeList are replaced, not added to; and never so that too few nodes remain."""
    world = _requeue_world(slurm, nodes=needed)
    assert (await hand.requeue(cast("World", world), Requeue(exclude=(NodeName("n2"),)))).ok
    assert slurm.told == [(names, needed, required)]


async def test_a_job_that_is_cancelled_meanwhile_is_not_requeued() -> None:
    """`scontrol requeue` would start the cancelled job again."""
    slurm = _Requeuing()
    world = _requeue_world(slurm, nodes=3)
    world.sigterm_at = 1.0
    answer = await hand.requeue(cast("World", world), Requeue(exclude=(NodeName("n2"),)))
    assert (answer.ok, slurm.told) == (False, [])


async def test_an_order_given_before_a_cancel_is_only_looked_for(case: _Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds the job that a killed supervisor's sbatch made, and never makes one."""
    found: list[JobId | None] = [JobId("8"), None]

    async def look(_folder: Path, **_: object) -> JobId | None:
        return found.pop(0)

    monkeypatch.setattr(hand, "find_unheard", look)
    order = Submit(exclude=(), only_look=True)
    for outcome, job in (("accepted", JobId("8")), ("refused", None)):
        case.successor = None
        answer = await hand.submit(cast("World", case), order)
        assert (answer.outcome, answer.job_id) == (outcome, job)
    assert case.known == [], "no sbatch"


async def test_a_successor_is_cancelled_though_slurmctld_is_away_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One scancel without an answer, and the cancelled run would begin anew."""
    monkeypatch.setattr(hand, "_FIRST_PAUSE_S", 0.01)
    tries: list[JobId] = []

    async def cancel(job: JobId, **_: object) -> None:
        tries.append(job)
        if len(tries) < 3:
            raise SlurmFailed("Unable to contact slurm controller")

    world = SimpleNamespace(settings=Settings(), slurm=SimpleNamespace(cancel_job=cancel))
    await hand.cancel_job(cast("World", world), CancelJob(job_id=JobId("8")))
    assert tries == 3 * [JobId("8")]
    monkeypatch.setattr(hand, "CANCEL_S", 0.0)
    tries.clear()
    await hand.cancel_job(cast("World", world), CancelJob(job_id=JobId("8")))
    assert len(tries) == 1, "it gives up in time"
