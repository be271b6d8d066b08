"""What goes first when a run folder gets too big, and incident records all the way through it."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.ledger.bounds import Entry, Limits, enforce, plan
from supervisor.ledger.records import incident_folder, read_records, record_path
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class, Verdict

_JOB = JobId("12")
_OWN = ["run.json", "events.jsonl", "jobs/11.json", "jobs/12.json", "secrets", "agent-12.json", "submitted/train.sh"]


def _entries(*paths: str, size: int = 1, age_s: float = 0.0) -> list[Entry]:
    return [Entry(path=path, size_bytes=size, age_s=age_s) for path in paths]


def _incidents(count: int) -> list[Entry]:
    names = ("slurm.log", "verdict.json")
    return _entries(*(f"incidents/{number:03d}/{name}" for number in range(1, count + 1) for name in names))


def _record(number: int, *, is_closed: bool = False) -> IncidentRecord:
    return IncidentRecord(
        run_id=RunId("r-abc12"),
        job_id=_JOB,
        incident=IncidentNo(number),
        attempt=AttemptNo(number),
        opened_at=1.0,
        evidence_at=1.0,
        verdict=Verdict(cls=Class.SOFTWARE, cause="segfault", confidence=0.9, summary="it crashed"),
        action="relaunch",
        is_closed=is_closed,
    )


def _fill(folder: Path, numbers: range) -> None:
    for number in numbers:
        path = record_path(folder, IncidentNo(number))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(_record(number)))
        (path.parent / "slurm.log").write_bytes(b"x" * 100)


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_folder_within_its_limits_is_left_alone() -> None:
    """Nothing goes without need, however old."""
    found = plan([*_entries(*_OWN), *_incidents(5), *_entries("agent-11.json")], _JOB, Limits(files=50))
    assert found.remove == found.merge == ()


def test_the_oldest_bundles_go_first_and_only_as_many_as_needed() -> None:
    """Their verdicts stay."""
    found = plan([*_entries(*_OWN), *_incidents(5)], _JOB, Limits(files=15))
    assert found.remove == ("incidents/001/slurm.log", "incidents/002/slurm.log")
    assert found.merge == ()


def test_what_nobody_reads_goes_before_any_evidence() -> None:
    """What agents of earlier jobs were told, and half-written files that a killed supervisor left."""
    old = _entries(".status.json.123", age_s=7200.0)
    fresh = _entries(".term.json.124", age_s=1.0)
    found = plan([*_entries(*_OWN, "agent-11.json"), *_incidents(2), *old, *fresh], _JOB, Limits(files=1))
    assert set(found.remove[:2]) == {"agent-11.json", ".status.json.123"}
    assert not {".term.json.124", "agent-12.json"} & set(found.remove)


def test_attempts_go_after_bundles_and_verdicts_are_merged_last() -> None:
    """Bundles, then what is kept of old attempts, then verdicts share one file."""
    attempts = _entries(*(f"attempts/{number:03d}/output.json" for number in (1, 2, 3)))
    found = plan([*attempts, *_incidents(3)], _JOB, Limits(files=3))
    assert found.remove == (
        "incidents/001/slurm.log",
        "incidents/002/slurm.log",
        "attempts/001/output.json",
        "attempts/002/output.json",
    )
    assert found.merge == ("incidents/001/verdict.json", "incidents/002/verdict.json")


def test_numbers_are_compared_as_numbers() -> None:
    """Incident 1000 is newer than incident 999."""
    found = plan(_entries("incidents/1000/slurm.log", "incidents/999/slurm.log"), _JOB, Limits(files=0))
    assert found.remove == ("incidents/999/slurm.log",)


def test_too_many_bytes_merge_no_verdicts() -> None:
    """Lines in one file take the same room."""
    found = plan([*_incidents(3), *_entries("events.jsonl", size=100)], _JOB, Limits(size_bytes=50))
    assert found.remove == ("incidents/001/slurm.log", "incidents/002/slurm.log")
    assert found.merge == ()


_PATHS = st.sampled_from(
    [*_OWN, "agent-11.json", "odd/007/x", "incidents/x", "attempts/001/a/b", "incidents/001/verdict.json/x"]
) | st.builds(
    "{}/{:03d}/{}".format,
    st.sampled_from(["incidents", "attempts"]),
    st.integers(0, 5),
    st.just("verdict.json") | st.just("x"),
)


@given(st.sets(_PATHS), st.integers(0, 20), st.integers(0, 20))
def test_whatever_lies_there_the_truth_and_the_newest_stay(paths: set[str], files: int, size: int) -> None:
    """Nothing that the run needs is ever named, nothing is named twice, and nothing goes in vain."""
    found = plan(_entries(*sorted(paths)), _JOB, Limits(files=files, size_bytes=size))
    going = [*found.remove, *found.merge]
    assert not set(going) & set(_OWN)
    assert len(going) == len(set(going))
    assert len(going) <= max(0, len(paths) - min(files, size)) + bool(found.merge)  # into a file that was not there
    for folder in ("incidents", "attempts"):
        numbers = [int(path.split("/")[1]) for path in paths if path.startswith(f"{folder}/") and path.count("/") > 1]
        newest = f"{folder}/{max(numbers, default=0):03d}/"
        assert not [path for path in going if path.startswith(newest)]


def test_records_survive_any_compaction(tmp_path: Path) -> None:
    """Forty incidents in thirty files: each is still there, the newest with its bundle."""
    for number in range(1, 41):
        _fill(tmp_path, range(number, number + 1))
        enforce(tmp_path, _JOB, now=time.time())
        assert len(_files(tmp_path)) <= 30
    assert read_records(tmp_path) == [_record(number) for number in range(1, 41)]
    assert (incident_folder(tmp_path, IncidentNo(40)) / "slurm.log").exists()
    assert not incident_folder(tmp_path, IncidentNo(1)).exists()


def test_a_record_written_again_counts(tmp_path: Path) -> None:
    """An incident may close after its folder was compacted; compacted again, the newer record stays."""
    _fill(tmp_path, range(1, 4))
    enforce(tmp_path, _JOB, now=time.time(), limits=Limits(files=1))
    path = record_path(tmp_path, IncidentNo(1))
    path.parent.mkdir()
    path.write_bytes(encode(_record(1, is_closed=True)))
    assert read_records(tmp_path)[0].is_closed
    enforce(tmp_path, _JOB, now=time.time(), limits=Limits(files=1))
    assert not path.exists()
    assert read_records(tmp_path)[0].is_closed


def test_a_torn_line_of_compacted_records_costs_only_itself(tmp_path: Path) -> None:
    """A disk that was full then, is not full now."""
    (tmp_path / "incidents.jsonl").write_bytes(encode(_record(1)) + b'\n{"run_id":"r-')
    _fill(tmp_path, range(2, 4))
    enforce(tmp_path, _JOB, now=time.time(), limits=Limits(files=1))
    assert [record.incident for record in read_records(tmp_path)] == [1, 2, 3]


def test_verdicts_that_cannot_be_merged_stay(tmp_path: Path) -> None:
    """First on disk in one place, then gone from the other."""
    _fill(tmp_path, range(1, 4))
    (tmp_path / "incidents.jsonl").mkdir()
    with pytest.raises(OSError, match=r"incidents\.jsonl"):
        enforce(tmp_path, _JOB, now=time.time(), limits=Limits(files=1))
    assert len(read_records(tmp_path)) == 3


def test_an_unreadable_record_is_left_out(tmp_path: Path) -> None:
    """The others are shown."""
    _fill(tmp_path, range(1, 3))
    record_path(tmp_path, IncidentNo(1)).write_bytes(b'{"half')
    assert [record.incident for record in read_records(tmp_path)] == [2]


def test_a_link_is_removed_and_not_followed(tmp_path: Path) -> None:
    """What lies outside of the run folder is not ours."""
    outside = tmp_path / "outside"
    outside.write_text("x")
    folder = tmp_path / "run"
    _fill(folder, range(1, 3))
    (folder / "incidents/001/link").symlink_to(outside)
    enforce(folder, _JOB, now=time.time(), limits=Limits(files=3))
    assert outside.exists()
    assert not (folder / "incidents/001/link").is_symlink()


def test_older_parts_of_logs_go_before_records_are_merged() -> None:
    """They are of use to nobody but a developer; the logs themselves stay."""
    logs = _entries("supervisor.log", "supervisor.log.1", "events.jsonl", "events.jsonl.1", "agent.log.1")
    found = plan([*logs, *_incidents(2)], _JOB, Limits(files=5))
    assert found.remove == ("incidents/001/slurm.log", "supervisor.log.1", "events.jsonl.1", "agent.log.1")
    assert found.merge == ()
