"""The first line of an answer tells whether a person must do something."""

from pathlib import Path

import pytest

from supervisor.model.ids import AttemptNo, IncidentNo, JobId
from supervisor.report.conclusion import RESUBMIT, conclude
from supervisor.report.one_run import status_text
from supervisor.report.standing import LIVING, NEEDS_PERSON, Standing
from tests.report.makers import NOW, ended, lost_node, own_bug, run_file, status, view


def test_a_run_that_does_well_asks_for_nothing(tmp_path: Path) -> None:
    """It runs, it was interrupted once, and nobody need get up."""
    found = conclude(view(tmp_path, lost_node(), status=status()), NOW)
    assert found.standing is Standing.RUNNING
    assert found.text.startswith("Running (attempt 2, step 58,410). 1 interruption since ")
    assert found.text.endswith(", nothing for you to do.")
    assert found.blockers == ()


def test_a_halt_that_waits_is_told(tmp_path: Path) -> None:
    """Whoever looks next must not wonder why the run ends."""
    seen = view(tmp_path, status=status(halt="halted by ana: the store is moved"))
    found = conclude(seen, NOW)
    assert found.text.endswith("a halt is ordered by ana: the store is moved, nothing for you to do.")
    assert any("ordered by ana" in line for line in status_text(seen, found, now=NOW))


def test_the_job_is_named_where_there_were_several(tmp_path: Path) -> None:
    """Who asks for the first job must learn that another one goes on."""
    found = conclude(view(tmp_path, status=status(job_id=JobId("18")), jobs="17 18"), NOW)
    assert found.text.startswith("Running as job 18 (attempt 2")


def test_a_run_under_repair_says_what_is_done(tmp_path: Path) -> None:
    """Each stage has words of its own."""
    found = conclude(view(tmp_path, status=status(stage="stopping")), NOW)
    assert (found.standing, found.text[:44]) == (Standing.RECOVERING, "Recovering, the attempt is being stopped (at")


def test_before_the_job_begins_nothing_is_known(tmp_path: Path) -> None:
    """Slurm says why it waits."""
    found = conclude(view(tmp_path, run=run_file(script_name="train.sh"), status=None), NOW)
    assert found.standing is Standing.WAITING
    assert "squeue -j 17" in found.text


def test_a_command_that_no_supervisor_wrote_of_is_not_waited_for(tmp_path: Path) -> None:
    """`supervise run` begins at once: after a minute something is wrong."""
    fresh = run_file(created_at=NOW - 5)
    assert conclude(view(tmp_path / "a", run=fresh, status=None, jobs=""), NOW).standing is Standing.WAITING
    found = conclude(view(tmp_path / "b", status=None, jobs=""), NOW)
    assert found.standing is Standing.SILENT
    assert "began 10 min ago, and no supervisor wrote of it" in found.text


@pytest.mark.parametrize(("age_s", "standing"), [(14, Standing.RUNNING), (42, Standing.SILENT)])
def test_a_silent_supervisor_is_told(tmp_path: Path, age_s: float, standing: Standing) -> None:
    """An old status says nothing about now; three missed writes are a silence."""
    found = conclude(view(tmp_path, status=status(updated_at=NOW - age_s)), NOW)
    assert found.standing is standing
    is_silent = standing is Standing.SILENT
    assert ("the supervisor has not written for 42 s" in found.text) is is_silent
    assert bool(found.blockers) is is_silent
    assert ("takes over after two leases" in " ".join(found.blockers)) is is_silent


def test_a_finished_run_may_be_silent(tmp_path: Path) -> None:
    """Nobody writes after the end."""
    over = status(stage="finished", updated_at=NOW - 90_000, exit_code=0, conclusion="completed, 1 interruption")
    found = conclude(view(tmp_path, lost_node(), status=over), NOW)
    assert found.standing is Standing.COMPLETED
    assert found.text == "Completed (attempt 2, last heard of at step 58,410), 1 interruption, nothing for you to do."


def test_a_stop_says_the_cause_and_the_reason(tmp_path: Path) -> None:
    """A person is needed."""
    over = status(stage="finished", exit_code=1, conclusion="software/cuda_oom ...: stopped: the same failure")
    found = conclude(view(tmp_path, lost_node(), own_bug(), status=over), NOW)
    assert found.standing is Standing.STOPPED
    assert found.text == (
        "STOPPED, needs you: software/cuda_oom; the same failure as before, with no new step between."
    )
    assert found.blockers[0].startswith("GPU memory ran out on rank 12 (node002); the same failure")


def test_a_stop_without_an_incident_says_its_last_word(tmp_path: Path) -> None:
    """Not every end has a verdict; one that was recovered from does not explain it."""
    over = status(stage="finished", exit_code=1, conclusion="stopped: the keeper does not start attempt 2")
    found = conclude(view(tmp_path, lost_node(), status=over), NOW)
    assert found.text == "STOPPED, needs you: the keeper does not start attempt 2."


def test_an_end_that_nobody_recorded_is_no_success(tmp_path: Path) -> None:
    """Unknown stays unknown."""
    found = conclude(view(tmp_path, status=status(stage="finished")), NOW)
    assert found.standing is Standing.ENDED
    assert found.text.startswith("UNKNOWN, look at it")


def test_a_cancelled_run_says_so(tmp_path: Path) -> None:
    """It is neither a failure nor an interruption, whatever the exit code."""
    over = status(stage="finished", exit_signal=15, conclusion="the job was cancelled")
    seen = view(tmp_path, ended("user_cancel"), status=over)
    found = conclude(seen, NOW)
    assert found.standing is Standing.CANCELLED
    assert found.text.startswith("Cancelled (attempt 2, last heard of at step 58,410): the job was cancelled.")
    assert found.blockers == ()
    assert seen.interruptions == ()


def test_a_time_limit_with_nobody_to_go_on_needs_a_person(tmp_path: Path) -> None:
    """The run is not done."""
    over = status(stage="finished", exit_code=0, conclusion="the time limit has ended the job")
    found = conclude(view(tmp_path, ended("walltime"), status=over), NOW)
    assert found.standing is Standing.ENDED
    assert found.text.startswith("ENDED, needs you: the time limit has ended the job")
    assert found.blockers == (RESUBMIT,)


def test_a_successor_is_named(tmp_path: Path) -> None:
    """The run goes on elsewhere."""
    over = status(stage="finished", exit_code=1, successor=JobId("18"), conclusion="job 18 goes on with the run")
    record = lost_node(action="resubmit", attempt=AttemptNo(2), is_closed=False)
    found = conclude(view(tmp_path, record, status=over), NOW)
    assert found.standing is Standing.RESUBMITTED
    assert found.text.startswith("Resubmitted as job 18, nothing for you to do. hardware/node_unreachable: ")


def test_a_requeued_job_keeps_its_number(tmp_path: Path) -> None:
    """Slurm starts the same job again."""
    over = status(stage="finished", exit_code=1, conclusion="Slurm starts this job again")
    found = conclude(view(tmp_path, lost_node(action="requeue", attempt=AttemptNo(2)), status=over), NOW)
    assert found.standing is Standing.REQUEUED


def test_a_job_that_was_requeued_and_then_ended_well_has_completed(tmp_path: Path) -> None:
    """An incident of an earlier attempt says nothing about the end, though the job has the same number."""
    over = status(stage="finished", exit_code=0, conclusion="completed, 1 interruption")
    found = conclude(view(tmp_path, lost_node(action="requeue"), status=over), NOW)
    assert found.standing is Standing.COMPLETED


def test_a_planned_end_that_was_none_has_completed(tmp_path: Path) -> None:
    """The script ended well while its failure was looked into."""
    over = status(stage="finished", exit_code=0, conclusion="completed, no interruptions")
    found = conclude(view(tmp_path, ended("completed", action="none"), status=over), NOW)
    assert found.standing is Standing.COMPLETED


def test_observe_mode_leaves_the_failure_to_the_user(tmp_path: Path) -> None:
    """Nothing was done about it, so a person is needed."""
    over = status(stage="finished", exit_code=1, mode="observe", conclusion="ended, with nothing done about it")
    record = own_bug(action="observe", action_text="mode observe: nothing is done; mode act would: stop")
    found = conclude(view(tmp_path, record, status=over), NOW)
    assert found.standing is Standing.FAILED
    assert found.text == "FAILED, needs you: software/cuda_oom; mode observe, nothing was done."


def test_lost_records_are_told(tmp_path: Path) -> None:
    """A full filesystem leaves gaps that a reader must know of."""
    found = conclude(view(tmp_path, status=status(failed_writes=3)), NOW)
    assert "3 writes" in found.blockers[-1]


def test_every_standing_is_living_or_over() -> None:
    """What needs a person is never also "nothing to do"."""
    done = {Standing.COMPLETED, Standing.CANCELLED, Standing.UNSTARTED}
    assert LIVING | NEEDS_PERSON | done == set(Standing)
    assert not done & (LIVING | NEEDS_PERSON)


def test_incidents_are_counted_by_number(tmp_path: Path) -> None:
    """Planned ends have numbers too, but are not interruptions."""
    records = [lost_node(), ended("walltime", "resubmit", incident=IncidentNo(2))]
    seen = view(tmp_path, *records, run=run_file(), status=status())
    assert [record.incident for record in seen.interruptions] == [1]
    assert [record.incident for record in seen.planned] == [2]
