"""One look at a run folder."""

from pathlib import Path

import pytest

from supervisor.errors import NoSuchRun
from supervisor.model.ids import JobId, RunId
from supervisor.report.view import read_view, task_folders
from tests.report.makers import make, run_file, status, view


def test_a_folder_without_a_run_is_none(tmp_path: Path) -> None:
    """It is refused, not shown as an empty run."""
    with pytest.raises(NoSuchRun):
        read_view(tmp_path)


def test_a_torn_status_counts_as_none(tmp_path: Path) -> None:
    """A run whose disk was full can still be asked about."""
    folder = make(tmp_path / "r", status=None)
    (folder / "status.json").write_text('{"run_id": "r')
    assert read_view(folder).status is None


def test_a_machine_without_slurm_has_no_job(tmp_path: Path) -> None:
    """The supervisor calls it job 0; a person must not see that."""
    seen = view(tmp_path, status=status(job_id=JobId("0")), jobs="0")
    assert (seen.jobs, seen.job_id) == ((), "")


def test_the_newest_job_speaks_for_the_run(tmp_path: Path) -> None:
    """Before the successor has written, the last one known."""
    assert view(tmp_path, status=None, jobs="17 18").job_id == "18"


def test_an_array_has_a_run_for_each_task(tmp_path: Path) -> None:
    """Those that have begun, in the order of their numbers, and nothing that only looks like one."""
    run = run_file(run_id=RunId("sweep-abc12"), array="0-11")
    folder = make(tmp_path / "sweep-abc12", run=run, status=None)
    for name in ("sweep-abc12-10", "sweep-abc12-2", "sweep-abc12-x", "sweep-abc123"):
        make(tmp_path / name, run=run, status=None)
    (tmp_path / "sweep-abc12-4.99").mkdir()
    seen = read_view(folder)
    assert seen.is_array
    assert [path.name for path in task_folders(seen)] == ["sweep-abc12-2", "sweep-abc12-10"]
    assert not read_view(tmp_path / "sweep-abc12-2").is_array
