"""Old months of the ledger become one file, and nothing is lost or believed by that."""

import os
import re
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from supervisor.ledger.site import compact as module
from supervisor.ledger.site.history import SiteHistory
from supervisor.ledger.site.init import initialised
from supervisor.ledger.site.lines import Lines
from supervisor.ledger.site.names import PSEUDONYM_KEY, is_draft
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.upkeep import Upkeep, keep_up, parse_keep
from supervisor.ledger.site.users import pseudonym
from supervisor.ledger.site.walk import user_name
from tests.ledger.site.made import ALICE, AT, BOB, MONTH, RUN, as_root, bytes_of, incident, job, lay, use

_DAY_S = 86_400.0
_NOW = AT + 100 * _DAY_S
"""2026-12-30: September is long over."""
_HERE = f"c1/{MONTH}"


def _up(root: Path, *, now: float = _NOW, keep: str = "400d", is_dry: bool = False) -> Upkeep:
    return keep_up(root, keep_s=parse_keep(keep), now=now, is_dry=is_dry)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A ledger with one cluster, as it was in September."""
    made = tmp_path / "ledger"
    initialised(made, ["c1"], "", now=AT, is_dry=False)
    return made


def _old(path: Path, at: float = AT + 1000) -> Path:
    os.utime(path, (at, at))
    return path


def _names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.name.startswith("."))


def _seen(history: SiteHistory) -> Sequence[object]:
    return [(each.job, each.incidents, each.use, each.owner, each.is_trusted) for each in history.jobs]


@as_root
def test_an_old_month_becomes_one_file_that_says_the_same(root: Path) -> None:
    """Jobs, incidents, use, owners and whom to trust; what later lines had replaced is gone."""
    lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1, user=str(ALICE)), use(1.0, of=1), incident(of=1), owner=ALICE)
    with (root / f"{_HERE}/1-{RUN}.jsonl").open("ab") as file:
        file.write(bytes_of(incident(of=1, is_closed=True), use(2.0, of=1), job(1, at=AT + 500), use(3.0, of=1)))
    lay(root, f"{_HERE}/2-{RUN}.jsonl", job(2, user=str(ALICE)), incident(of=2), owner=BOB)
    lay(root, f"{_HERE}/3-{RUN}.jsonl", job(3), b'{"torn', owner=BOB)
    for path in (root / _HERE).iterdir():
        _old(path)
    before = _seen(read_site(root))
    done = _up(root)
    assert done.compacted == {f"{_HERE}.jsonl": 3}
    assert not (root / _HERE).exists()
    after = _seen(read_site(root))
    assert after[:2] == before[:2]
    assert len((root / f"{_HERE}.jsonl").read_bytes().splitlines()) == 11
    assert (root / f"{_HERE}.jsonl").stat().st_mode & 0o777 == 0o644
    assert (root / f"{_HERE}.jsonl").stat().st_mtime == AT + 1000


@as_root
def test_who_has_no_name_in_his_record_has_none_in_the_months_file(root: Path) -> None:
    """Nor behind a pseudonym that is his; one that is not his, and a forged name, keep the owner."""
    key = (root / PSEUDONYM_KEY).read_bytes()
    hidden = pseudonym(str(ALICE), key)
    lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1), owner=ALICE)
    lay(root, f"{_HERE}/2-{RUN}.jsonl", job(2, user=hidden), owner=ALICE)
    lay(root, f"{_HERE}/3-{RUN}.jsonl", job(3, user=hidden), owner=BOB)
    lay(root, f"{_HERE}/4-{RUN}.jsonl", b'{"torn\n', incident(of=4), owner=ALICE)
    for path in (root / _HERE).iterdir():
        _old(path)
    _up(root)
    found = {str(each.job.job): each for each in read_site(root).jobs}
    assert [(found[job].owner, found[job].is_trusted) for job in "23"] == [(hidden, True), (str(BOB), False)]
    assert found["1"].owner == found["4"].owner
    assert re.fullmatch("n-[0-9a-f]{16}", found["1"].owner)


@as_root
def test_who_has_no_name_stays_apart_from_others_who_have_none(root: Path) -> None:
    """What one of them has written of another's job is not that job's, once both are in the file of a month."""
    _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1), incident(of=1), owner=ALICE))
    forged = [incident(of=1, cause="forged", is_closed=True), incident(2, of=1), job(1, nodes=()), use(1.0, of=1)]
    _old(lay(root, f"{_HERE}/2-{RUN}.jsonl", job(2), *forged, owner=BOB))
    before = read_site(root)
    _up(root)
    after = read_site(root)
    for history in (before, after):
        first, second = history.jobs
        assert (first.job.job, first.incidents, first.use, first.is_trusted) == ("1", (incident(of=1),), None, True)
        assert first.owner != second.owner
    assert after.jobs[0].job == job(1)
    assert b"n1" in (root / f"{_HERE}.jsonl").read_bytes()


@as_root
def test_without_the_key_a_pseudonym_waits(root: Path) -> None:
    """Somebody else may have taken it: put away it would be his for ever."""
    key = root / PSEUDONYM_KEY
    path = _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1, user=pseudonym(str(ALICE), key.read_bytes())), owner=BOB))
    key.unlink()
    assert any("the key that proves it cannot be read" in text for text in _up(root).problems.all())
    assert path.exists()


def test_a_month_goes_on_growing_by_what_comes_late(root: Path) -> None:
    """A file that was written to a while ago only is taken the next time, behind what is there."""
    (root / "c1/2020-01").mkdir()
    _old(lay(root, f"c1/2020-01/1-{RUN}.jsonl", job(1)))
    late = lay(root, f"c1/2020-01/2-{RUN}.jsonl", job(2))
    soon = time.time() + _DAY_S
    assert _up(root, now=soon, keep="99999d").compacted == {"c1/2020-01.jsonl": 1}
    assert late.exists()
    assert _up(root, now=soon + 40 * _DAY_S, keep="99999d").compacted == {"c1/2020-01.jsonl": 1}
    assert [each.job.job for each in read_site(root).jobs] == ["1", "2"]
    assert not (root / "c1/2020-01").exists()


def test_a_file_of_the_year_2100_is_as_old_as_its_last_change(root: Path) -> None:
    """Whoever may set its time cannot keep a month from being put together, nor make the month's file look new."""
    (root / "c1/2020-01").mkdir()
    _old(lay(root, f"c1/2020-01/1-{RUN}.jsonl", job(1)), 4.1e9)
    now = time.time()
    assert _up(root, now=now + 40 * _DAY_S, keep="99999d").compacted == {"c1/2020-01.jsonl": 1}
    assert (root / "c1/2020-01.jsonl").stat().st_mtime <= now + 60


def test_a_month_of_large_files_needs_no_memory_for_all_of_them(root: Path) -> None:
    """One user alone may lay gigabytes into it: each is written before the next one is read."""
    numbers = [incident(number, of=1) for number in range(1, 1001)]
    for number in range(20):
        _old(lay(root, f"{_HERE}/{number}-{RUN}.jsonl", job(number), *numbers))
    whole = sum(path.stat().st_size for path in (root / _HERE).iterdir())
    tracemalloc.start()
    try:
        assert _up(root).compacted == {f"{_HERE}.jsonl": 20}
        assert tracemalloc.get_traced_memory()[1] < whole / 2
    finally:
        tracemalloc.stop()


def test_nothing_is_written_where_nothing_can_be_taken(root: Path) -> None:
    """A file that stays for ever does not make the whole month be copied each day."""
    _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", b'{"kind":"use","schema":9}\n'))
    whole = lay(root, f"{_HERE}.jsonl", job(7))
    before = whole.stat()
    _up(root)
    assert (whole.stat().st_ino, whole.stat().st_mtime) == (before.st_ino, before.st_mtime)


def test_nobody_can_foresee_what_a_months_file_is_called_while_it_is_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links laid there for all process numbers would keep every month from being put together."""
    names = []
    really_rename = os.rename

    def note(name: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        names.append(name)
        really_rename(name, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", note)
    for month in ("2026-07", "2026-08"):
        (root / "c1" / month).mkdir()
        _old(lay(root, f"c1/{month}/1-{RUN}.jsonl", job(1)))
    assert len(_up(root).compacted) == 2
    assert len({name.rpartition("-")[2] for name in names}) == 2
    assert all(is_draft(name) for name in names)


def test_what_would_be_lost_stays(root: Path) -> None:
    """Lines of a newer version, links, and files with a second name."""
    newer = _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1), b'{"kind":"use","schema":2}\n'))
    twin = _old(lay(root, f"{_HERE}/2-{RUN}.jsonl", job(2)))
    os.link(twin, root / "c1/twin")
    (root / f"{_HERE}/3-{RUN}.jsonl").symlink_to(twin)
    os.utime(root / f"{_HERE}/3-{RUN}.jsonl", (AT, AT), follow_symlinks=False)
    done = _up(root)
    assert newer.exists()
    assert twin.exists()
    assert not done.compacted
    assert len(done.problems.all()) == 3


def test_a_file_that_grows_meanwhile_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the month's file and in its own counts once; nothing is lost."""
    path = _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1, user=user_name(os.geteuid())), incident(of=1)))
    really_write = module._write

    def write_late(*args: object) -> None:
        really_write(*args)  # type: ignore[arg-type]  # handed on as they came
        with path.open("ab") as file:
            file.write(bytes_of(incident(2, of=1)))

    monkeypatch.setattr(module, "_write", write_late)
    assert "it is being written" in _up(root).problems.all()[0]
    (found,) = read_site(root).jobs
    assert [each.incident for each in found.incidents] == [1, 2]


def test_a_disk_that_takes_nothing_costs_no_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The month's file is there whole before the first one goes, and no draft stays."""
    path = _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1)))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = _up(root)
    assert path.exists()
    assert done.problems.all() == (f"{_HERE}: No space left on device: left as it is",)
    assert not (root / f"{_HERE}.jsonl").exists()
    assert [each.name for each in (root / "c1").iterdir() if each.name.startswith(".")] == []


@as_root
def test_what_a_user_has_laid_in_the_place_of_a_months_file_is_not_believed(root: Path) -> None:
    """It is replaced, since nothing but the ledger's owner's own file counts as one."""
    lay(root, f"{_HERE}.jsonl", b'{"kind":"owner","owner":"60001"}\n', job(7, user=str(ALICE)), owner=BOB)
    _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1)))
    _up(root)
    assert [each.job.job for each in read_site(root).jobs] == ["1"]
    assert (root / f"{_HERE}.jsonl").stat().st_uid == 0


def test_a_link_in_the_place_of_a_months_file_leads_nowhere(root: Path, tmp_path: Path) -> None:
    """It is replaced, and what it led to is as it was."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine\n")
    (root / f"{_HERE}.jsonl").symlink_to(precious)
    _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1)))
    assert not _up(root).problems.all()
    assert precious.read_bytes() == b"mine\n"
    assert [each.job.job for each in read_site(root).jobs] == ["1"]


def test_a_months_file_that_cannot_be_read_is_not_replaced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines would be lost; the month stays as it is until somebody has mended that."""
    whole = lay(root, f"{_HERE}.jsonl", job(7))
    path = _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1)))
    really_open = os.open

    def refuse(name: str, *args: int, **folder: int) -> int:
        if name == whole.name:
            raise PermissionError(13, "Permission denied")
        return really_open(name, *args, **folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        assert _up(root).problems.all() == (f"{_HERE}: Permission denied: left as it is",)
    assert path.exists()
    assert [each.job.job for each in read_site(root).jobs] == ["1", "7"]


@as_root
def test_a_file_whose_owner_has_no_name_here_waits_for_a_machine_that_knows_him(root: Path) -> None:
    """Names may be away for a minute: what is put together then would be in nobody's name for ever."""
    path = _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1, user="alice"), owner=ALICE))
    done = _up(root)
    assert path.exists()
    assert any(f"its owner, {ALICE}, has no name on this machine" in text for text in done.problems.all())


def test_a_file_that_grows_while_it_is_read_has_an_end(root: Path) -> None:
    """What its owner adds at that moment is not read: he could add without end."""
    path = lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1), use(1.0, of=1))
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(bytes_of(use(2.0, of=1)))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert len(list(module._all_lines(descriptor, Lines(), size))) == 2
    finally:
        os.close(descriptor)
