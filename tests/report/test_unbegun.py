"""A job that never began is told as Slurm tells it, with what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.model.ids import AttemptNo, JobId
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class, Verdict
from supervisor.report.conclusion import RESUBMIT, conclude
from supervisor.report.standing import Standing
from supervisor.report.unbegun import SlurmsWord
from supervisor.report.view import RunView
from tests.report.makers import NOW, lost_node, status, view

_AGAIN = "If you still want it, submit it again."


def _word(state: str = "", reason: str = "", *, started_at: float | None = None) -> SlurmsWord:
    return SlurmsWord(
        job_id="17", state=state, reason=reason, has_started=started_at is not None, started_at=started_at
    )


def _preempted() -> IncidentRecord:
    verdict = Verdict(cls=Class.PLANNED, cause="preemption", confidence=0.95, summary="a job has taken the nodes")
    return lost_node(attempt=AttemptNo(2), action="stop", verdict=verdict)


@pytest.mark.parametrize(
    ("state", "standing"),
    [("PENDING", "requeued"), ("RUNNING", "requeued"), ("COMPLETING", "ended"), ("PREEMPTED", "ended"), ("", "ended")],
)
def test_what_slurm_starts_again_after_a_preemption_needs_nobody(tmp_path: Path, state: str, standing: str) -> None:
    """Its supervisor was ended with it and could not tell; where Slurm does not start it, a person must."""
    base = view(tmp_path, _preempted(), status=status(stage="finished", conclusion="a job has taken the nodes"))
    found, text, blockers = _told(base, _word(state, "BeginTime" if state == "PENDING" else ""))
    assert str(found) == standing
    assert text.startswith("Requeued, Slurm starts job 17 again, nothing" if standing == "requeued" else "ENDED, needs")
    assert bool(blockers) is (standing == "ended")
    assert ("It waits (BeginTime)" in text) is (state == "PENDING")


def _told(base: RunView, word: SlurmsWord) -> tuple[Standing, str, tuple[str, ...]]:
    found = conclude(replace(base, slurm=word), NOW)
    return found.standing, found.text, found.blockers


def test_a_job_cancelled_in_the_queue_is_not_waited_for(tmp_path: Path) -> None:
    """Nothing ran; whether it is wanted still is the user's to say."""
    base = view(tmp_path, status=None)
    text = f"Cancelled: job 17 was cancelled before it started. {_AGAIN}"
    assert _told(base, _word("CANCELLED", "JobHeldUser")) == (Standing.CANCELLED, text, ())


def test_a_job_that_slurm_has_forgotten_is_not_waited_for(tmp_path: Path) -> None:
    """Without accounting nobody knows more."""
    standing, text, _ = _told(view(tmp_path, status=None), _word())
    assert standing is Standing.UNSTARTED
    assert text == f"Over: Slurm no longer knows job 17; it never started under supervision. {_AGAIN}"


@pytest.mark.parametrize(
    ("reason", "told", "blocker"),
    [
        ("Priority", "(Priority). Slurm's estimate: squeue --start -j 17", ""),
        ("", "in the queue. Slurm's", ""),
        ("JobHeldUser", "(JobHeldUser).", "scontrol release 17"),
        ("DependencyNeverSatisfied", "(DependencyNeverSatisfied).", "will never start: scancel 17"),
    ],
)
def test_a_job_in_the_queue_says_why(tmp_path: Path, reason: str, told: str, blocker: str) -> None:
    """And what to do where waiting alone does not help."""
    standing, text, blockers = _told(view(tmp_path, status=None), _word("PENDING", reason))
    assert standing is Standing.WAITING
    assert told in text
    assert text.startswith("Waiting, needs you: job 17 does not start by itself") is bool(blocker)
    assert bool(blockers) is bool(blocker)
    assert blocker in "".join(blockers)


@pytest.mark.parametrize(("age_s", "standing"), [(20, Standing.WAITING), (300, Standing.SILENT)])
def test_a_job_that_runs_soon_has_a_supervisor(tmp_path: Path, age_s: float, standing: Standing) -> None:
    """One that has none after a minute runs without."""
    found, text, blockers = _told(view(tmp_path, status=None), _word("RUNNING", started_at=NOW - age_s))
    assert found is standing
    assert ("runs for 5 min" in text) is (standing is Standing.SILENT)
    assert bool(blockers) is (standing is Standing.SILENT)


@pytest.mark.parametrize("started_at", [None, NOW - 900])
def test_another_end_before_the_first_word_needs_a_person(tmp_path: Path, started_at: float | None) -> None:
    """It may have run as it is, or not at all."""
    standing, text, blockers = _told(view(tmp_path, status=None), _word("FAILED", started_at=started_at))
    assert standing is Standing.ENDED
    assert text.startswith("ENDED, needs you: job 17 has ended (FAILED)")
    assert ("before it started" in text) is (started_at is None)
    assert blockers


def test_a_job_that_ended_well_without_a_supervisor_needs_nobody(tmp_path: Path) -> None:
    """It ran as it is; that it was not supervised is told."""
    standing, text, blockers = _told(view(tmp_path, status=None), _word("COMPLETED", started_at=NOW - 900))
    assert (standing, blockers) == (Standing.COMPLETED, ())
    assert text == "Completed, but not supervised: job 17 ran as it is; its output says why."


@pytest.fixture
def handed_on(tmp_path: Path) -> RunView:
    """A run that job 17 was to go on with."""
    over = status(job_id=JobId("16"), stage="finished", exit_code=1, successor=JobId("17"))
    record = lost_node(job_id=JobId("16"), action="resubmit", attempt=AttemptNo(2), is_closed=False)
    return view(tmp_path, record, status=over, jobs="16 17")


def test_the_job_that_a_run_waits_for_is_known(tmp_path: Path, handed_on: RunView) -> None:
    """The successor, the requeued job, the first one; a run that lives waits for none."""
    assert handed_on.expected_job == "17"
    over = status(stage="finished", exit_code=1)
    assert view(tmp_path / "a", lost_node(action="requeue", attempt=AttemptNo(2)), status=over).expected_job == "17"
    assert view(tmp_path / "b", status=None).expected_job == "17"
    assert view(tmp_path / "c", status=status()).expected_job == ""
    assert view(tmp_path / "d", lost_node(action="requeue"), status=over).expected_job == ""
    assert view(tmp_path / "e", _preempted(), status=over).expected_job == "17"


def test_a_successor_that_was_cancelled_does_not_go_on(handed_on: RunView) -> None:
    """To say that nothing need be done would be wrong for ever."""
    standing, text, blockers = _told(handed_on, _word("CANCELLED"))
    assert standing is Standing.CANCELLED
    assert text == "Cancelled: job 17 was to go on with this run and was cancelled before it could."
    assert blockers == (RESUBMIT,)


def test_a_successor_that_slurm_has_forgotten_needs_a_person(handed_on: RunView) -> None:
    """The run is not done."""
    standing, text, blockers = _told(handed_on, _word())
    assert standing is Standing.ENDED
    assert text.startswith("ENDED, needs you: job 17 was to go on with this run and never began")
    assert blockers == (RESUBMIT,)


def test_a_successor_in_the_queue_says_why_it_waits(handed_on: RunView) -> None:
    """The run is well, and a person wants to know how long."""
    standing, text, _ = _told(handed_on, _word("PENDING", "Resources"))
    assert standing is Standing.RESUBMITTED
    assert text.startswith("Resubmitted as job 17, nothing for you to do.")
    assert text.endswith("It waits (Resources).")
