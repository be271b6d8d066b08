"""A user's own run folders as histories."""

from typing import Any

import pytest

from supervisor.ledger.site.from_runs import KnownRun, from_runs
from supervisor.ledger.site.history import JobHistory
from supervisor.model.ids import IncidentNo, JobId, RunId
from tests.report.makers import NODES, NOW, ended, lost_node, own_bug, status

_RUN = RunId("llama-abc12")


def _known(*records: Any, **changes: Any) -> tuple[JobHistory, ...]:
    usual = {"run": _RUN, "created_at": NOW - 600, "jobs": (JobId("17"),), "records": records}
    return from_runs([KnownRun(**{**usual, **changes})]).jobs


def test_a_run_keeps_its_name_and_its_interruptions() -> None:
    """It is the user's own: `supervise why` must find it."""
    (job,) = _known(lost_node(nodes_before=NODES), status=status(began_at=NOW - 500))
    assert (job.job.run, job.job.job, job.job.at, job.job.nodes) == (_RUN, "17", NOW - 500, NODES)
    assert job.incidents[0].nodes == (NODES[2],)
    assert job.use is not None
    assert job.use.held_node_s == 4 * 499
    assert job.use.computing_node_s == 4 * 499 - 60
    assert job.use.end == ""


def test_each_job_of_a_run_is_one() -> None:
    """Only the newest one has a status; the others are known by their records."""
    first = lost_node(job_id=JobId("16"), action="resubmit", nodes_before=NODES)
    second = lost_node(incident=IncidentNo(2), opened_at=NOW - 100, evidence_at=NOW - 101)
    older, newer = _known(first, second, jobs=(JobId("16"), JobId("17")), status=status())
    assert (older.job.job, older.job.at, older.use) == ("16", NOW - 600, None)
    assert (newer.job.job, newer.job.at, [one.incident for one in newer.incidents]) == ("17", NOW - 101, [2])


def test_a_run_that_has_not_begun_is_there() -> None:
    """With no use."""
    (job,) = _known(status=None)
    assert (job.job.job, job.use, job.incidents) == ("17", None, ())


def test_without_slurm_a_run_has_one_job_without_a_number() -> None:
    """As on a laptop."""
    (job,) = _known(lost_node(job_id=JobId("0")), jobs=(), status=status(job_id=JobId("0")))
    assert (job.job.job, len(job.incidents)) == ("", 1)


@pytest.mark.parametrize(
    ("changes", "record", "end"),
    [
        ({"stage": "running"}, None, ""),
        ({"stage": "finished", "successor": JobId("18")}, None, "handed_on"),
        ({"stage": "finished", "exit_code": 0}, None, "completed"),
        ({"stage": "finished", "exit_code": 1, "conclusion": "completed by its own word"}, None, "completed"),
        ({"stage": "finished", "exit_signal": 15}, ended("user_cancel"), "cancelled"),
        ({"stage": "finished", "exit_signal": 15}, ended("walltime"), "time_limit"),
        ({"stage": "finished", "exit_signal": 15}, ended("maintenance"), "failed"),
        ({"stage": "finished", "exit_code": 1, "conclusion": "stopped: twice the same"}, own_bug(), "stopped"),
        ({"stage": "finished", "exit_code": 1}, own_bug(), "failed"),
    ],
)
def test_the_end_of_a_run(changes: dict[str, Any], record: Any, end: str) -> None:
    """By what its status and its last record say."""
    (job,) = _known(*([record] if record else []), status=status(**changes))
    assert job.use is not None
    assert job.use.end == end
