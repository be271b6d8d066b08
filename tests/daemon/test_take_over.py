"""The process that takes over: asks, claims, submits, cancels, in this order, and does nothing twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.core import succession
from supervisor.core.events import Requeued, RunStarted, Submitted
from supervisor.core.instructions import Requeue, Submit
from supervisor.core.succession import Succession
from supervisor.daemon import take_over
from supervisor.daemon.deputy import Deputy
from supervisor.daemon.hands import submit as hand
from supervisor.daemon.surroundings import Surroundings
from supervisor.daemon.take_over import Outcome
from supervisor.errors import SlurmFailed
from supervisor.ledger.event_log import FILE
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.standby import Standby, note_standby
from supervisor.ledger.takeover import claim_takeover, note_takeover, read_takeover
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName, RunId
from supervisor.model.takeover import Orphaned, Takeover
from supervisor.settings import Settings

HOST, HERE, OTHER = NodeName("n1"), NodeName("n2"), NodeName("n3")
JOB = JobId("7")
TOLD = Orphaned(job_id=JOB, restarts=0, here=HERE, batch_host=HOST, renewed_at=5.0, votes=(HERE, OTHER), why="majority")
CLAIM = Takeover(job_id=JOB, restarts=0, node=OTHER, batch_host=HOST, at=1.0)


class _Slurm:
    """Says what it is told to say, and notes what it is told to do."""

    def __init__(self, deeds: list[str]) -> None:
        self.state, self.restarts, self.node = "RUNNING", 0, "ALLOCATED"
        self.is_away = False
        self.deeds = deeds

    async def job(self, job: JobId, *, deadline_s: float) -> JobFacts:
        assert deadline_s
        self._asked()
        return JobFacts(job_id=job, state=self.state, restarts=self.restarts)

    async def nodes(self, names: list[NodeName], *, deadline_s: float) -> tuple[NodeState, ...]:
        assert deadline_s
        self._asked()
        return tuple(NodeState(node=name, states=(self.node,)) for name in names)

    async def cancel_job(self, job: JobId, *, deadline_s: float) -> None:
        assert deadline_s
        self._asked()
        self.deeds.append(f"cancel {job}")

    async def depend(self, jobs: list[JobId], dependency: str, *, deadline_s: float) -> None:
        assert deadline_s
        self._asked()
        self.deeds.append(f"{','.join(jobs)} waits for {dependency or 'nothing'}")

    def _asked(self) -> None:
        if self.is_away:
            raise SlurmFailed("scontrol refused", stderr="Unable to contact slurm controller")


class _Case:
    """Job 7 of a run, whose batch host n1 is dead."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.deeds: list[str] = []
        self.slurm = _Slurm(self.deeds)
        self.writer = Writer()
        self.answer = Submitted(at=9.0, outcome="accepted", job_id=JobId("8"))
        self.requeued = Requeued(at=9.0, ok=True)
        self.settings = Settings()
        self.exclude: tuple[NodeName, ...] = ()
        self.standby: JobId | None = None
        (folder / "term.json").write_text('{"renewed_at": 5.0}')
        begun = RunStarted(at=1.0, run_id=RunId("r"), job_id=JOB, nodes=(HOST, HERE, OTHER), batch_host=HOST)
        (folder / FILE).write_bytes(encode(begun) + b"\n")

    async def submit(self, _: Deputy, order: Submit) -> Submitted:
        found = self.claim()
        assert found is not None, "submitted before the claim"
        assert not order.after_this_job
        self.deeds.append("submit")
        self.exclude, self.standby = order.exclude, order.standby
        return self.answer

    async def requeue(self, _: Deputy, order: Requeue) -> Requeued:
        self.deeds.append("requeue")
        self.exclude = order.exclude
        return self.requeued

    def claim(self) -> Takeover | None:
        return read_takeover(self.folder, JOB, 0)

    async def acts(self, **changes: Any) -> Outcome:
        deputy = Deputy(
            folder=self.folder,
            run=RunFile(run_id=RunId("r"), created_at=0.0, script_name="t.sh"),
            settings=self.settings,
            around=Surroundings(job_id=JOB, raw_job_id=JOB, nodes=(HOST, HERE, OTHER), here=HOST),
            clock=lambda: 70.0,
            slurm=self.slurm,  # type: ignore[arg-type]  # three of its methods are used
            writer=self.writer,
        )
        return await take_over._take_over(deputy, msgspec.structs.replace(TOLD, **changes))


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Any":
    """Everything answers."""
    made = _Case(tmp_path)
    monkeypatch.setattr(hand, "submit", made.submit)
    monkeypatch.setattr(hand, "requeue", made.requeue)
    monkeypatch.setattr(take_over, "_CANCEL_PAUSE_S", 0.01)
    yield made
    made.writer.close(30)


async def test_the_claimant_submits_and_then_cancels_the_orphan(case: _Case) -> None:
    """Without the dead host; the claim names the successor before the orphan's end takes this process along."""
    assert await case.acts() == Outcome.DONE
    assert case.deeds == ["submit", "cancel 7"]
    assert case.exclude == (HOST,)
    claim = case.claim()
    assert claim is not None
    assert (claim.node, claim.successor, claim.votes) == (HERE, "8", (HERE, OTHER))


@pytest.mark.parametrize(("waits_for", "used"), [("7", "8"), ("6", None)])
async def test_the_job_that_waits_for_this_one_to_fail_is_the_successor(
    case: _Case, waits_for: str, used: str | None
) -> None:
    """The orphan's cancel would end it otherwise, also where sbatch is forbidden and nothing else can go on."""
    note_standby(case.folder, Standby(job_id=JobId("8"), waits_for=JobId(waits_for)))
    assert await case.acts() == Outcome.DONE
    assert case.standby == used
    # It need not wait until Slurm has given the dead node up.
    assert case.deeds == ["submit", *(["8 waits for nothing"] if used else []), "cancel 7"]


async def test_whoever_comes_second_does_nothing(case: _Case) -> None:
    """Another agent has claimed the run, and is submitting now."""
    claim_takeover(case.folder, CLAIM)
    assert await case.acts() == Outcome.LATER
    assert case.deeds == []


async def test_the_last_act_is_done_for_a_claimant_that_did_not_live_to_do_it(case: _Case) -> None:
    """The successor is there: the orphan must not be started again beside it."""
    claim_takeover(case.folder, CLAIM)
    note_takeover(case.folder, msgspec.structs.replace(CLAIM, successor=JobId("8")))
    assert await case.acts() == Outcome.DONE
    assert case.deeds == ["cancel 7"]


async def test_its_own_claim_is_gone_on_with(case: _Case) -> None:
    """The first try did not come to an end; the hand looks for the job that it may have made."""
    case.answer = Submitted(at=9.0, outcome="unknown", text="no answer")
    assert await case.acts() == Outcome.LATER
    case.answer = Submitted(at=9.0, outcome="accepted", job_id=JobId("8"))
    assert await case.acts() == Outcome.DONE
    assert case.deeds == ["submit", "submit", "cancel 7"]


async def test_a_renewed_term_stops_everything(case: _Case) -> None:
    """Somebody supervises the run after all."""
    (case.folder / "term.json").write_text('{"renewed_at": 6.0}')
    assert await case.acts() == Outcome.LATER
    assert case.deeds == []
    assert case.claim() is None


@pytest.mark.parametrize("state", ["PENDING", "REQUEUED", "COMPLETING", "CANCELLED", "NODE_FAIL", "TIMEOUT"])
async def test_what_slurm_or_a_person_has_ended_is_not_followed(case: _Case, state: str) -> None:
    """Slurm has queued the job again, or it was cancelled: never a second one beside it."""
    case.slurm.state = state
    assert await case.acts() == Outcome.OVER
    assert case.deeds == []


async def test_a_job_that_slurm_has_started_again_is_not_followed(case: _Case) -> None:
    """It runs: as another start of the same job."""
    case.slurm.restarts = 1
    assert await case.acts() == Outcome.OVER
    assert case.deeds == []


async def test_a_slurmctld_that_is_away_is_waited_for(case: _Case) -> None:
    """Nothing is known, nothing is claimed, and it is tried again."""
    case.slurm.is_away = True
    with pytest.raises(SlurmFailed):
        await case.acts()
    assert case.claim() is None
    case.slurm.is_away = False
    assert await case.acts() == Outcome.DONE


@pytest.mark.parametrize(("node", "outcome"), [("ALLOCATED", Outcome.LATER), ("DOWN", Outcome.DONE)])
async def test_slurms_down_replaces_the_majority(case: _Case, node: str, outcome: Outcome) -> None:
    """An agent without a majority may act on Slurm's word, and on nothing else."""
    case.slurm.node = node
    assert await case.acts(why="alone", votes=(HERE,)) == outcome


async def test_where_sbatch_is_forbidden_slurm_is_asked_to_start_the_job_again(case: _Case) -> None:
    """The orphan is then not cancelled: that would end what Slurm starts."""
    case.answer = Submitted(at=9.0, outcome="refused", text="not from this host")
    assert await case.acts() == Outcome.DONE
    assert case.deeds == ["submit", "requeue"]
    claim = case.claim()
    assert claim is not None
    assert claim.is_requeued


async def test_where_no_other_job_can_be_had_it_ends_and_says_so(case: _Case) -> None:
    """Its nodes are free, and the claim tells why nothing follows."""
    case.answer = Submitted(at=9.0, outcome="refused", text="not from this host")
    case.requeued = Requeued(at=9.0, ok=False, text="requeue is disabled")
    assert await case.acts() == Outcome.DONE
    assert case.deeds == ["submit", "requeue", "cancel 7"]
    claim = case.claim()
    assert claim is not None
    assert not claim.is_requeued
    assert "requeue is disabled" in claim.refused


async def test_a_halted_run_only_ends(case: _Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """No claim, no successor; the nodes are free at once."""
    refused = Succession(why_not="halted by alice")
    monkeypatch.setattr(take_over, "_decided", lambda *_: refused)
    assert await case.acts() == Outcome.DONE
    assert case.deeds == ["cancel 7"]
    assert case.claim() is None


async def test_observe_does_nothing_at_all(case: _Case) -> None:
    """Not even the cancel."""
    case.settings = Settings(mode="observe")
    for changes in ({}, {"why": "alone"}, {"is_late": True}):
        assert await case.acts(**changes) == Outcome.OVER
    assert case.deeds == []


async def test_the_job_is_given_up_in_the_end(case: _Case) -> None:
    """A claimant that died with its claim: nobody may submit a second time, and the nodes must not be held for ever."""
    claim_takeover(case.folder, CLAIM)
    assert await case.acts() == Outcome.LATER
    assert await case.acts(is_late=True) == Outcome.DONE
    assert case.deeds == ["cancel 7"]


async def test_a_takeover_that_comes_late_is_one_all_the_same(case: _Case) -> None:
    """Slurmctld was away for longer than that: the run is not given up for it."""
    assert await case.acts(is_late=True) == Outcome.DONE
    assert case.deeds == ["submit", "cancel 7"]


async def test_without_a_majority_and_without_slurms_word_no_time_is_long_enough(case: _Case) -> None:
    """The few that are cut off from everybody must not end what may be healthy elsewhere."""
    assert await case.acts(why="alone", votes=(HERE,), is_late=True) == Outcome.LATER
    assert case.deeds == []


async def test_a_cancel_that_is_not_heard_is_repeated(case: _Case) -> None:
    """Slurmctld goes away in between."""
    tries: list[int] = []

    async def cancel(job: JobId, *, deadline_s: float) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise SlurmFailed("scancel refused")

    case.slurm.cancel_job = cancel  # type: ignore[method-assign]
    assert await case.acts() == Outcome.DONE
    assert len(tries) == 3


async def test_an_unreadable_claim_is_no_leave_to_act(case: _Case) -> None:
    """It may be another's."""
    (case.folder / "takeovers").mkdir()
    (case.folder / "takeovers" / "7.0.json").write_text("{")
    with pytest.raises(OSError, match="cannot be read"):
        await case.acts()
    assert case.deeds == []


async def test_budgets_of_earlier_jobs_count_where_this_one_wrote_nothing(
    case: _Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its supervisor died before its first word: the log ends with the job before."""
    seen: list[Any] = []
    real: Callable[..., Any] = succession.decide

    def decide(state: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(state)
        return real(state, *args, **kwargs)

    monkeypatch.setattr(succession, "decide", decide)
    begun = RunStarted(at=1.0, run_id=RunId("r"), job_id=JobId("6"), nodes=(HOST,), batch_host=HOST)
    (case.folder / FILE).write_bytes(encode(begun) + b"\n")
    assert await case.acts() == Outcome.DONE
    assert seen[0].job_id == ""
    assert seen[0].behind.requested_node_seconds == 0.0
