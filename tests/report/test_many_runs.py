"""Lists and reports over many runs."""

from dataclasses import replace
from pathlib import Path

from supervisor.model.ids import IncidentNo, RunId
from supervisor.model.verdict import Class, Verdict
from supervisor.report.many_runs import (
    list_conclusion,
    list_text,
    listed,
    report_conclusion,
    report_json,
    report_of,
    report_text,
)
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


def test_a_report_counts_interruptions_and_no_planned_ends(tmp_path: Path) -> None:
    """The first line decides: not ok as long as a run waits for a person."""
    report = report_of([_cancelled(tmp_path), _bad(tmp_path), _good(tmp_path)], since=None)
    text, blockers = report_conclusion(report, NOW)
    assert text == "NOT OK: 3 interruptions in 3 runs, 1 run needs a person (`supervise why` each): llama-abc12."
    assert len(blockers) == 1
    answer = report_json(report)
    assert (answer["interruptions"], answer["planned"]) == (3, 1)
    assert answer["classes"] == {"hardware": 2, "software": 1}
    assert answer["causes"] == {"node_unreachable": 2, "cuda_oom": 1}


def test_a_run_that_needs_a_person_twice_is_one_run(tmp_path: Path) -> None:
    """The number and the names after it are of the same things."""
    twice = view(tmp_path, own_bug(action="observe"), own_bug(incident=IncidentNo(3)), status=status())
    text, blockers = report_conclusion(report_of([twice], since=None), NOW)
    assert text.endswith("2 interruptions in 1 run, 1 run needs a person (`supervise why` each): llama-abc12.")
    assert len(blockers) == 2


def test_a_report_gives_median_and_maximum(tmp_path: Path) -> None:
    """Of what is known: a stop has no recovery, and does not count as one of 0 s."""
    answer = report_json(report_of([_bad(tmp_path), _good(tmp_path)], since=None))
    assert answer["detection_s"] == {"median": 2.2, "max": 2.2}
    assert answer["recovery_s"] == {"median": (1.8 + 4.0) / 2, "max": 4.0}
    assert answer["isolation"] == {"node": 2, "rank": 1}


def test_a_report_has_a_line_for_each_interruption(tmp_path: Path) -> None:
    """With the three measures and what was done."""
    lines = report_text(report_of([_good(tmp_path)], since=None), now=NOW)
    assert lines[0].split() == ["hardware", "1", "60", "node-s", "node_unreachable", "1"]
    assert lines[1] == "detection median 2.2 s, max 2.2 s   recovery median 1.8 s, max 1.8 s   isolated to node (1x)"
    assert lines[-1].endswith(
        "hardware/node_unreachable  node003  2.2 s     node      1.8 s      relaunch_on_spare",
    )


def test_handled_interruptions_are_ok(tmp_path: Path) -> None:
    """Nothing for a person."""
    report = report_of([_good(tmp_path)], since=None)
    assert report_conclusion(report, NOW) == ("OK: 1 interruption in 1 run, all handled without a person.", [])


def test_an_unknown_cause_is_not_ok(tmp_path: Path) -> None:
    """The run went on, but somebody should look."""
    verdict = Verdict(cls=Class.UNKNOWN, cause="unattributed", confidence=0.0, summary="")
    report = report_of([view(tmp_path, lost_node(verdict=verdict), status=status())], since=None)
    assert report_conclusion(report, NOW)[0].startswith("NOT OK: 1 interruption in 1 run")


def test_since_leaves_out_what_is_older(tmp_path: Path) -> None:
    """Incidents by their own time, runs by their last sign of life."""
    late = lost_node(incident=IncidentNo(2), opened_at=NOW - 10)
    run = run_file(run_id=RunId("long-ddddd"), created_at=NOW - 99_999)
    report = report_of(
        [_cancelled(tmp_path), view(tmp_path, lost_node(), late, run=run, status=status())], since=NOW - 60
    )
    assert (report.runs, [record.incident for record in report.records]) == (1, [2])
    assert report_conclusion(report, NOW)[0].startswith("OK: 1 interruption in 1 run since ")
