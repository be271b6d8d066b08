"""The hooks' own folder."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.hooks.reading import Reading
from supervisor.hooks.spool import Spool, SpoolUnsafe, opened
from supervisor.model.node import SCHEMA, NodeRecord
from tests.hooks.facts import NOW, gpu, reading


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "spool"


@pytest.fixture
def spool(place: Path) -> Iterator[Spool]:
    with opened(str(place), keep_bytes=1000, owner=os.geteuid()) as found:
        yield found


def _record(job: int = 1) -> NodeRecord:
    return NodeRecord(schema=SCHEMA, at=NOW, hook="epilog", node="n1", level="ok", job=job)


def _jobs(path: Path) -> list[int]:
    return [json.loads(line)["job"] for line in path.read_text().splitlines()]


def test_records_are_lines_that_only_root_reads(place: Path, spool: Spool) -> None:
    """Folder 0700, file 0600, whatever the umask; the version stands on each line."""
    spool.append(_record(1))
    spool.append(_record(2))
    assert place.stat().st_mode & 0o777 == 0o700
    assert (place / "node.jsonl").stat().st_mode & 0o777 == 0o600
    assert _jobs(place / "node.jsonl") == [1, 2]
    assert json.loads((place / "node.jsonl").read_text().splitlines()[0])["schema"] == SCHEMA


def test_the_file_stays_within_its_bound_with_one_older_part(place: Path, spool: Spool) -> None:
    """Whatever runs on the node for years."""
    for job in range(100):
        spool.append(_record(job))
    assert sorted(path.name for path in place.iterdir()) == ["node.jsonl", "node.jsonl.1"]
    assert all(path.stat().st_size < 1200 for path in place.iterdir())
    assert _jobs(place / "node.jsonl")[-1] == 99


def test_a_torn_line_does_not_take_the_next_one_along(place: Path, spool: Spool) -> None:
    """A full disk, a crash."""
    (place / "node.jsonl").write_text('{"schema":1,"at"')
    (place / "node.jsonl").chmod(0o600)
    spool.append(_record(5))
    assert json.loads((place / "node.jsonl").read_text().splitlines()[1])["job"] == 5


def test_a_reading_is_kept_and_read_back(spool: Spool) -> None:
    """The same, and nothing where nothing was kept or where it is torn."""
    kept = reading(gpu(0))
    spool.keep("job-1.json", kept)
    assert spool.load("job-1.json", Reading) == kept
    assert spool.load("job-2.json", Reading) is None
    spool.drop("job-1.json")
    spool.drop("job-1.json")
    assert spool.load("job-1.json", Reading) is None


def test_what_another_version_wrote_is_not_taken(place: Path, spool: Spool) -> None:
    """The hook goes on without it."""
    for text in ("", "{", '{"at": "x"}', "[]"):
        (place / "job-1.json").write_text(text)
        (place / "job-1.json").chmod(0o600)
        assert spool.load("job-1.json", Reading) is None


def test_readings_whose_epilog_never_came_are_dropped_oldest_first(
    place: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is bounded."""
    monkeypatch.setattr("supervisor.hooks.spool._MOST_JOBS", 2)
    for number in range(4):
        spool.keep(f"job-{number}.json", reading())
        os.utime(place / f"job-{number}.json", (number, number))
    spool.drop_oldest("job-")
    assert sorted(path.name for path in place.iterdir()) == ["job-2.json", "job-3.json"]


def test_the_folders_above_are_made(place: Path) -> None:
    """`spool = "/var/spool/supervise/%n"` on a node where no hook has run yet."""
    with opened(str(place / "node003"), keep_bytes=1000, owner=os.geteuid()) as found:
        found.append(_record())
    assert (place / "node003/node.jsonl").exists()
    assert place.stat().st_mode & 0o777 == 0o700


def test_nothing_is_made_below_what_others_write(place: Path) -> None:
    """They could lead it anywhere."""
    place.mkdir()
    place.chmod(0o777)
    with pytest.raises(SpoolUnsafe, match="can be written by others"), opened(str(place / "a/b"), keep_bytes=1):
        pass
    assert list(place.iterdir()) == []


def test_a_folder_that_others_write_is_refused(place: Path) -> None:
    """They could have put anything there."""
    place.mkdir()
    place.chmod(0o777)
    with pytest.raises(SpoolUnsafe, match="can be written by others"), opened(str(place), keep_bytes=1):
        pass


@pytest.mark.parametrize("name", ["node.jsonl", "job-1.json"])
def test_a_file_that_is_not_ours_alone_is_not_touched(place: Path, spool: Spool, name: str) -> None:
    """Nor is a link followed."""
    (place / name).touch()
    (place / name).chmod(0o666)
    with pytest.raises(SpoolUnsafe):
        spool.append(_record()) if name == "node.jsonl" else spool.load(name, Reading)
    (place / name).unlink()
    (place / name).symlink_to(place / "other")
    (place / "other").touch(0o600)
    with pytest.raises(OSError, match="symbolic links"):
        spool.append(_record()) if name == "node.jsonl" else spool.load(name, Reading)


def test_a_dry_run_makes_no_folder(place: Path) -> None:
    """Not even the one that it would write into."""
    with opened(str(place), keep_bytes=1000, owner=os.geteuid(), dry_run=True) as spool:
        spool.append(_record())
    assert not place.exists()


def test_a_dry_run_writes_nothing(place: Path) -> None:
    """And reads what is there."""
    place.mkdir(mode=0o700)
    with opened(str(place), keep_bytes=1000, owner=os.geteuid(), dry_run=True) as spool:
        spool.append(_record())
        spool.keep("job-1.json", reading())
        spool.drop("job-1.json")
    assert list(place.iterdir()) == []


def test_a_record_without_bound_is_not_written(spool: Spool) -> None:
    """One line must be written whole."""
    with pytest.raises(ValueError, match="a record of"):
        spool.append(NodeRecord(schema=1, at=NOW, hook="epilog", node="n" * 70_000, level="ok"))
