"""One job's file where nothing works, and where many work at once."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from supervisor.ledger.site.append import SiteFile
from supervisor.ledger.site.read import read_site
from supervisor.model.site import SiteJob
from tests.ledger.site.made import BOB, MONTH, as_root, as_user, incident, job, open_to_all

_WRITERS = 200


def _file(root: Path, of: SiteJob | None = None) -> SiteFile:
    return SiteFile(root, of or job(), users="none")


def test_a_ledger_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """It is never made by a job: it would belong to its user."""
    with pytest.raises(FileNotFoundError):
        _file(tmp_path / "none").begin()
    assert not (tmp_path / "none").exists()


@as_root
def test_a_folder_that_is_read_only_is_an_error(tmp_path: Path) -> None:
    """The user may not write there."""
    open_to_all(tmp_path)
    with as_user(BOB), pytest.raises(PermissionError, match="takes no line"):
        _file(tmp_path).begin()


def test_a_line_that_is_written_in_part_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk took half of it: told, and the next line is whole."""
    file = _file(tmp_path)
    file.begin()
    really_write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: really_write(descriptor, data[: len(data) // 2]))
        with pytest.raises(OSError, match="No space"):
            file.add(incident())
    file.add(incident(2))
    assert [each.incident for each in read_site(tmp_path).jobs[0].incidents] == [2]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 64 KiB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mounted], check=False)
    if done.returncode:
        pytest.skip("no filesystem can be mounted here")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", mounted], check=True)


@as_root
def test_a_full_disk_costs_lines_and_no_more(small_disk: Path) -> None:
    """It is an error each time; what was written before is read, and writing goes on once there is room."""
    file = _file(small_disk)
    file.begin()
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 56 * 1024)

    def fill() -> None:
        for _ in range(1000):
            file.add(incident())

    with pytest.raises(OSError, match="No space") as refused:
        fill()
    assert refused.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="No space"):
        file.add(incident(2))
    assert read_site(small_disk).jobs[0].incidents == (incident(),)
    filler.unlink()
    file.add(incident(3))
    assert [each.incident for each in read_site(small_disk).jobs[0].incidents] == [1, 3]


def test_many_jobs_at_once_lose_nothing(tmp_path: Path) -> None:
    """Processes that write into the same folder at the same moment, as a cluster's jobs do."""
    (tmp_path / "c1" / MONTH).mkdir(parents=True)
    code = (
        "import sys; from pathlib import Path; from tests.ledger.site.made import job, incident, use\n"
        "from supervisor.ledger.site.append import SiteFile\n"
        "for number in map(int, sys.argv[2:]):\n"
        "    file = SiteFile(Path(sys.argv[1]), job(number), users='none')\n"
        "    file.begin()\n"
        "    for each in range(1, 6): file.add(incident(each, of=number))\n"
        "    file.add(use(of=number))\n"
    )
    checkout = Path(__file__).resolve().parents[3]

    def run(first: int) -> None:
        numbers = [str(number) for number in range(first, _WRITERS, 8)]
        subprocess.run([sys.executable, "-c", code, tmp_path, *numbers], check=True, cwd=checkout)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    history = read_site(tmp_path)
    assert not history.problems
    assert len(history.jobs) == _WRITERS
    assert all(len(found.incidents) == 5 and found.use for found in history.jobs)


def test_two_hundred_writers_of_one_process_lose_nothing(tmp_path: Path) -> None:
    """Also where two of them are supervisors of one job, as around a takeover: lines never mix."""
    (tmp_path / "c1" / MONTH).mkdir(parents=True)

    def write(number: int) -> None:
        file = _file(tmp_path, job(number // 2))
        if number % 2:
            file.begin()
        for each in range(5):
            file.add(incident(1 + each + 5 * (number % 2), of=number // 2))

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(write, range(_WRITERS)))
    history = read_site(tmp_path)
    assert not history.problems
    assert len(history.jobs) == _WRITERS // 2
    assert all(len(found.incidents) == 10 for found in history.jobs)
