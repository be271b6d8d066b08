"""Only one job of a run works on it: what a supervisor does before it begins."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.core.state import Attempt, Stage, State
from supervisor.daemon import alone
from supervisor.daemon.alone import is_alone
from supervisor.daemon.assemble import Basics, Parts
from supervisor.daemon.history import Opening
from supervisor.daemon.lease import Lease
from supervisor.daemon.surroundings import Surroundings
from supervisor.ledger.run_folder import job_ids
from supervisor.ledger.takeover import claim_takeover
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, JobId, NodeName
from supervisor.model.takeover import Takeover
from supervisor.model.term import Term
from supervisor.settings import Settings

DEAD, HERE = NodeName("n1"), NodeName("n2")
RAN = Attempt(number=AttemptNo(1), nodes=(DEAD, HERE), launched_at=1.0, is_started=True)
BEFORE = State(stage=Stage.RUNNING, job_id=JobId("7"), batch_host=DEAD, attempt=RAN)


class _Case:
    """Job 8 of a run begins on n2; job 7 ran before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = Writer()
        self.deeds: list[str] = []
        self.may_complete: list[bool] = []
        self.left: list[JobId] = []
        self.job = "8"
        (folder / "jobs").mkdir()
        (folder / "jobs" / "7.json").write_text("{}")

    def lease(self) -> Lease:
        return cast("Lease", SimpleNamespace(renew=lambda **_: self.deeds.append("renew"), outlived=None))

    async def ended(self, _: object, jobs: list[JobId], *, may_complete: bool, **__: object) -> list[JobId]:
        if jobs:
            self.may_complete.append(may_complete)
            return self.left
        return []

    async def begins(self, state: State = BEFORE, *, restarts: int = 0, generation: int = 1) -> bool:
        async def hung_up(*, deadline_s: float) -> None:
            assert deadline_s

        keeper = SimpleNamespace(
            busy=lambda _: None,
            hung_up=hung_up,
            finish=lambda *, code, signal: self.deeds.append(f"finish {code} {signal}"),
        )
        around = Surroundings(
            job_id=JobId(self.job), raw_job_id=JobId(self.job), nodes=(HERE,), here=HERE, restarts=restarts
        )
        basics = SimpleNamespace(
            folder=self.folder, around=around, keeper=keeper, writer=self.writer, clock=lambda: 9.0, settings=Settings()
        )
        parts = SimpleNamespace(world=SimpleNamespace(slurm=None), address="n2:6818")
        opening = Opening(state, cast("Any", None), generation)
        return await is_alone(cast("Basics", basics), cast("Parts", parts), opening, self.lease())


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Case]:
    """Slurm says that the job before has ended; what this node runs is stopped at a word; waits are noted."""
    made = _Case(tmp_path)

    async def stop_all(_: object) -> None:
        made.deeds.append("stop_all")

    async def sleep(seconds: float) -> None:
        made.deeds.append(f"sleep {seconds:.0f}")

    monkeypatch.setattr(alone.predecessor, "ended", made.ended)  # type: ignore[attr-defined]  # the module's own import
    monkeypatch.setattr(alone, "stop_all", stop_all)
    monkeypatch.setattr(alone.asyncio, "sleep", sleep)  # type: ignore[attr-defined]  # the module's own import
    yield made
    made.writer.close(30)


def _claim(case: _Case, job: str, **changes: Any) -> None:
    claim_takeover(
        case.folder,
        Takeover(job_id=JobId(job), restarts=0, node=NodeName("n3"), batch_host=DEAD, at=5.0, **changes),
    )


async def test_a_successor_of_a_proven_end_begins_at_once(case: _Case) -> None:
    """It claims the run for itself."""
    assert await case.begins(State(stage=Stage.FINISHED, job_id=JobId("7"), batch_host=DEAD))
    assert (case.deeds, case.may_complete) == ([], [True])
    assert job_ids(case.folder) == ["7", "8"]


async def test_where_the_old_batch_host_may_live_it_is_shown_the_term_first(case: _Case) -> None:
    """Slurm has given it up; if it lives, it sees whose the run is before anything is launched beside its ranks."""
    assert await case.begins()
    assert (case.deeds, case.may_complete) == (["renew", "sleep 7"], [False])


async def test_on_the_same_host_there_is_nobody_to_wait_for(case: _Case) -> None:
    """Slurm has ended what ran here, and says so."""
    state = State(stage=Stage.RUNNING, job_id=JobId("7"), batch_host=HERE, attempt=RAN)
    assert await case.begins(state)
    assert case.deeds == []


async def test_a_job_that_an_agent_has_started_does_not_wait_for_the_dead_host(case: _Case) -> None:
    """The old job stays COMPLETING there for minutes, and two leases have passed."""
    _claim(case, "7", successor=JobId("8"))
    assert await case.begins()
    assert (case.deeds, case.may_complete) == ([], [True])


async def test_a_job_that_was_taken_over_stops_and_ends(case: _Case) -> None:
    """The machine is back: not even its own attempt goes on, whoever supervised it."""
    case.job = "7"
    _claim(case, "7")
    for generation in (1, 2):
        case.deeds.clear()
        assert not await case.begins(generation=generation)
        assert case.deeds == ["stop_all", "finish 1 None"]


async def test_a_job_that_slurm_started_again_on_an_agents_word_begins(case: _Case) -> None:
    """The claim is on the start before."""
    case.job = "7"
    _claim(case, "7", is_requeued=True)
    assert await case.begins(restarts=1)


@pytest.mark.parametrize(("generation", "left", "is_so"), [(1, [], True), (1, ["9"], False), (2, [], False)])
async def test_a_job_that_a_person_starts_again_begins_once_the_later_one_has_ended(
    case: _Case, generation: int, left: list[str], *, is_so: bool
) -> None:
    """The later one's term lies there for ever; a machine that was away and is back sees it, too, and ends."""
    later = Term(generation=1, renewed_at=50.0, batch_host=DEAD, job_id=JobId("9"))
    (case.folder / "term.json").write_bytes(encode(later))
    case.left = [JobId(job) for job in left]
    assert await case.begins(State(stage=Stage.FINISHED), restarts=1, generation=generation) is is_so
    assert ("stop_all" in case.deeds) is not is_so


async def test_a_job_that_lives_keeps_the_run(case: _Case) -> None:
    """However long: two would write the same checkpoints."""
    case.left = [JobId("7")]
    assert not await case.begins()
    assert case.deeds == ["finish 1 None"]


async def test_votes_about_an_earlier_supervisor_go(case: _Case) -> None:
    """They would count among the files of the run folder for ever."""
    (case.folder / "votes").mkdir()
    (case.folder / "votes" / "n2.json").write_text("{}")
    assert await case.begins()
    assert await case.writer.flushed(30)
    assert not (case.folder / "votes").exists()
