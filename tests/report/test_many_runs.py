"""Lists of many runs."""

from dataclasses import replace
from pathlib import Path

from supervisor.model.ids import RunId
from supervisor.report.many_runs import list_conclusion, list_text, listed
from supervisor.report.unbegun import SlurmsWord
from supervisor.report.view import RunView
from tests.report.makers import NOW, ended, lost_node, own_bug, run_file, status, view


def _good(folder: Path) -> RunView:
    run = run_file(run_id=RunId("good-aaaaa"), created_at=NOW - 50)
    return view(folder, lost_node(run_id=run.run_id), run=run, status=status(), jobs="17")


def _bad(folder: Path) -> RunView:
    over = status(stage="finished", exit_code=1, job_id="9")
    records = [lost_node(split=lost_node().split, recovery_s=4.0), own_bug(job_id="9")]
    run = run_file(run_id=RunId("bad-bbbbb"), created_at=NOW - 5000)
    return view(folder, *records, run=run, status=over, jobs="9")


def _cancelled(folder: Path) -> RunView:
    over = status(stage="finished", exit_signal=15, job_id="8", updated_at=NOW - 9000)
    run = run_file(run_id=RunId("old-ccccc"), created_at=NOW - 9999)
    return view(folder, ended("user_cancel", job_id="8", opened_at=NOW - 9001), run=run, status=over, jobs="8")


def test_the_living_come_first_then_what_needs_a_person(tmp_path: Path) -> None:
    """A glance at the top must do."""
    runs = listed([_cancelled(tmp_path), _bad(tmp_path), _good(tmp_path)], NOW)
    assert [run.standing for run in runs] == ["running", "stopped", "cancelled"]
    assert list_conclusion(runs) == "3 runs: 1 running, 1 stopped, 1 cancelled. 1 needs you: job 9."
    lines = list_text(runs, now=NOW)
    assert lines[0].split()[:3] == ["JOB", "RUN", "STATE"]
    assert lines[1].split()[:6] == ["17", "good-aaaaa", "running", "2", "58,410", "1"]
    assert len(lines) == 4


def test_a_job_that_waits_in_vain_needs_a_person(tmp_path: Path) -> None:
    """One that merely waits does not."""
    waiting = view(tmp_path, status=None)
    for reason, needs in (("Priority", "Nothing to do."), ("JobHeldUser", "1 needs you: job 17.")):
        word = SlurmsWord(job_id="17", state="PENDING", reason=reason)
        assert list_conclusion(listed([replace(waiting, slurm=word)], NOW)) == f"1 run: 1 waiting. {needs}"


def test_an_empty_list_says_so() -> None:
    """And prints no table."""
    assert list_conclusion([]) == "No runs are known here."
    assert list_text([], now=NOW) == []
