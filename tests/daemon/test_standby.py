"""A job that waited in the queue: used as the successor, and sure of itself when it begins."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.core.instructions import Finish, Submit, TellStandby
from supervisor.core.state import Stage, State
from supervisor.daemon import standby as begins
from supervisor.daemon.hands import standby as hand
from supervisor.daemon.history import Opening
from supervisor.daemon.world import World
from supervisor.errors import SlurmFailed
from supervisor.ledger.run_folder import SubmissionRecord, note_submission, submissions
from supervisor.ledger.standby import Standby, note_standby
from supervisor.ledger.takeover import claim_takeover
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName
from supervisor.model.takeover import Takeover
from supervisor.settings import Settings

_NODES = tuple(NodeName(f"n{number}") for number in range(1, 5))
_ORDER = Submit(exclude=(_NODES[1],), standby=JobId("8"))


class _Slurm:
    def __init__(
        self, state: str = "PENDING", *, is_away: bool = False, refuses: bool = False, has_forgotten: bool = False
    ) -> None:
        self.state, self.is_away, self.refuses, self.has_forgotten = state, is_away, refuses, has_forgotten
        self.told: list[tuple[str, tuple[NodeName, ...], int]] = []

    async def job(self, job: JobId, **_: object) -> JobFacts:
        if self.is_away:
            raise SlurmFailed("no answer")
        if self.has_forgotten:
            raise SlurmFailed("scontrol refused", stderr="slurm_load_jobs error: Invalid job id specified")
        return JobFacts(job_id=job, state=self.state, exclude="n4")

    async def partition_nodes(self, _partition: str, **_: object) -> tuple[NodeState, ...]:
        return tuple(NodeState(node=node, states=("IDLE",)) for node in _NODES)

    async def exclude(self, job: JobId, names: Sequence[NodeName], *, nodes: int, **_: object) -> None:
        if self.refuses:
            raise SlurmFailed("Job is no longer pending execution")
        self.told.append((job, tuple(names), nodes))


def _world(slurm: _Slurm) -> World:
    around = SimpleNamespace(job_id="7", raw_job_id="7", nodes=_NODES[:2])
    return cast("World", SimpleNamespace(slurm=slurm, settings=Settings(), around=around))


async def test_it_is_told_where_not_to_begin_beside_its_users_own_wishes() -> None:
    """And with how many nodes, as a requeued job is."""
    slurm = _Slurm()
    await hand.tell_standby(_world(slurm), TellStandby(job_id=JobId("8"), exclude=(_NODES[1],)))
    assert slurm.told == [("8", ("n4", "n2"), 2)]


@pytest.mark.parametrize(
    ("slurm", "job"),
    [
        (_Slurm(), "8"),
        (_Slurm(refuses=True), "8"),
        (_Slurm("CANCELLED", refuses=True), None),
        (_Slurm("RUNNING", refuses=True), None),
        (_Slurm(is_away=True), None),
    ],
    ids=["waits", "cannot be told", "cancelled", "runs already", "no answer"],
)
async def test_one_that_still_waits_goes_on(slurm: _Slurm, job: str | None) -> None:
    """Otherwise another one is submitted."""
    assert await hand.use(_world(slurm), _ORDER) == job


async def test_an_order_that_only_looks_uses_nothing() -> None:
    """There is no cause for a successor."""
    assert await hand.use(_world(_Slurm()), Submit(exclude=(), standby=JobId("8"), only_look=True)) is None
    assert await hand.use(_world(_Slurm()), Submit(exclude=())) is None


def _ended(*, handed_over: bool = False, submitted: str | None = None) -> State:
    end = Finish(code=1, reason="stopped: the same failure", handed_over=handed_over)
    return State(stage=Stage.FINISHED, finish=end, submitted=JobId(submitted) if submitted else None)


async def _why_not(folder: Path, state: State, slurm: _Slurm | None = None, *, own: str = "8") -> str:
    around = SimpleNamespace(raw_job_id=own)
    basics = SimpleNamespace(folder=folder, around=around, settings=Settings(), clock=lambda: 1.0)
    parts = SimpleNamespace(world=SimpleNamespace(slurm=slurm or _Slurm("NODE_FAIL")))
    opening = Opening(state, cast("Any", None), 1)
    return await begins.why_not(cast("Any", basics), cast("Any", parts), opening)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a run whose standby is job 8."""
    note_standby(tmp_path, Standby(job_id=JobId("8"), waits_for=JobId("7")))
    note_submission(tmp_path, SubmissionRecord(at=1.0, job_id=JobId("7")))
    return tmp_path


async def test_where_the_job_before_died_without_a_word_it_goes_on(folder: Path) -> None:
    """And counts as one of the run's jobs from then on."""
    assert await _why_not(folder, State(stage=Stage.RUNNING)) == ""
    assert [record.job_id for record in submissions(folder)] == ["7", "8"]


async def test_one_that_was_handed_the_run_goes_on(folder: Path) -> None:
    """Also where its note was lost."""
    assert await _why_not(folder, _ended(handed_over=True, submitted="8")) == ""
    note_submission(folder, SubmissionRecord(at=1.0, job_id=JobId("8")))
    assert await _why_not(folder, _ended()) == ""


async def test_one_that_an_agent_has_chosen_goes_on(folder: Path) -> None:
    """The agent has cancelled the orphaned job, and that is no person's word."""
    claim = Takeover(job_id=JobId("7"), restarts=0, node=_NODES[1], batch_host=_NODES[0], at=1.0, successor=JobId("8"))
    assert claim_takeover(folder, claim)
    assert await _why_not(folder, State(stage=Stage.RUNNING), _Slurm("CANCELLED")) == ""


async def test_one_that_nobody_wants_any_more_ends(folder: Path) -> None:
    """Slurm begins it after any failure: after one that is final, and after a cancel too."""
    assert "the run has ended: stopped" in await _why_not(folder, _ended())
    assert "job 7 was cancelled" in await _why_not(folder, State(stage=Stage.RUNNING), _Slurm("CANCELLED"))
    assert [record.job_id for record in submissions(folder)] == ["7"]


async def test_any_other_job_is_not_asked(folder: Path) -> None:
    """What decides about them stands elsewhere."""
    assert await _why_not(folder, _ended(), own="9") == ""


async def test_without_slurms_answer_it_goes_on(folder: Path) -> None:
    """It begins because the first has failed: that much is sure."""
    assert await _why_not(folder, State(stage=Stage.RUNNING), _Slurm(is_away=True)) == ""


async def test_where_nothing_ever_began_and_slurm_has_forgotten_why_it_ends(folder: Path) -> None:
    """Both were in the queue, a person cancelled the first, and this one had to wait for nodes for an hour."""
    assert "before it began" in await _why_not(folder, State(), _Slurm(has_forgotten=True))
    begun = State(stage=Stage.RUNNING, job_id=JobId("7"))
    assert await _why_not(folder, begun, _Slurm(has_forgotten=True)) == ""
