"""Several readers of one ledger come to what one comes to."""

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from supervisor.errors import SuperviseError, UsageError
from supervisor.ledger.site import answering, in_parts
from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.in_parts import fold_site
from supervisor.ledger.site.lines import SiteOwner
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.share import Share
from supervisor.ledger.site.walk import Window
from tests.ledger.site.made import ALICE, AT, BOB, MONTH, as_root, bytes_of, incident, job, lay, use


@dataclass
class _Seen:
    """Sums that keep all they were given."""

    jobs: list[JobHistory] = field(default_factory=list)

    def add_all(self, histories: Iterable[JobHistory]) -> "_Seen":
        self.jobs += histories
        return self

    def merge(self, other: "_Seen") -> None:
        self.jobs += other.jobs

    def known(self) -> list[JobHistory]:
        return sorted(self.jobs, key=lambda history: (history.job.job, history.job.run))


def _one_and_many(root: Path, window: Window | None = None) -> tuple[list[JobHistory], tuple[str, ...]]:
    """What all numbers of readers agree on."""
    one, problems = fold_site(root, _Seen, window or Window(), readers=1)
    for readers in (2, 3):
        many, told = fold_site(root, _Seen, window or Window(), readers=readers)
        assert many.known() == one.known()
        assert sorted(told) == sorted(problems)
    return one.known(), problems


def _file(number: int, run: str) -> str:
    return f"c1/{MONTH}/{number}-{run}.jsonl"


def test_every_job_is_folded_once(tmp_path: Path) -> None:
    """Whoever reads its file."""
    for number in range(1, 30):
        run = f"{number:012x}"
        lay(tmp_path, _file(number, run), job(number, run=run), incident(of=number, run=run), use(of=number, run=run))
    found, problems = _one_and_many(tmp_path)
    assert len(found) == 29
    assert problems == ()
    assert len(_one_and_many(tmp_path, Window(until=AT - 1))[0]) == 0


@as_root
def test_what_two_readers_know_of_one_job_is_put_together(tmp_path: Path) -> None:
    """Somebody else has written of the job, in a file of another name: one of both is right, as ever."""
    for number in range(1, 9):
        run, other = f"{number:012x}", f"{number + 77:012x}"
        mine = job(number, user=str(ALICE), run=run)
        lay(tmp_path, _file(number, run), mine, incident(of=number, run=run), owner=ALICE)
        lay(tmp_path, _file(number, other), job(number, user=str(ALICE), run=other), owner=BOB)
    found, problems = _one_and_many(tmp_path)
    assert len(found) == 8
    assert all(history.is_trusted and history.owner == str(ALICE) for history in found)
    assert len(problems) == 8


def test_the_file_of_a_month_is_read_in_pieces(tmp_path: Path) -> None:
    """Cut between sections; last words of a later job find the job before wherever it was read."""
    sections = []
    for number in range(1, 200):
        last_words = [incident(2, of=number - 1, is_closed=True)] if number > 1 else []
        lines = (SiteOwner(owner="0"), *last_words, job(number, at=AT + number), incident(of=number), use(of=number))
        sections.append(bytes_of(*lines))
    lay(tmp_path, f"c1/{MONTH}.jsonl", b"".join(sections))
    found, _ = _one_and_many(tmp_path)
    assert len(found) == 199
    assert sum(len(history.incidents) for history in found) == 199 + 198


@pytest.mark.parametrize("size", [0, 1, 30, 5000])
def test_pieces_are_whole_sections_and_leave_nothing_out(tmp_path: Path, size: int) -> None:
    """Also of a file without any section."""
    path = tmp_path / f"{MONTH}.jsonl"
    path.write_bytes((bytes_of(SiteOwner(owner="a"), job())) * size + b"x" * size)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        end = path.stat().st_size
        pieces = [Share(number, 4).piece(path.name, descriptor, end) for number in range(4)]
        assert [begin for begin, _ in pieces][1:] == [end for _, end in pieces][:-1]
        assert (pieces[0][0], pieces[-1][1]) == (0, end)
        for begin, _ in pieces:
            assert begin in {0, end} or os.pread(descriptor, 15, begin) == b'{"kind":"owner"'
        assert Share(1, 4).piece("81234-4f0c2a9b7d11.jsonl", descriptor, end) == (0, end)
    finally:
        os.close(descriptor)


def test_a_ledger_that_cannot_be_read_is_told_as_by_one_reader(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(UsageError, match="cannot be read"):
        fold_site(tmp_path / "none", _Seen, Window(), readers=2)


def test_a_reader_that_is_killed_is_told(tmp_path: Path) -> None:
    """And nothing hangs: no figures are better than half of them."""

    class _Dies(_Seen):
        def add_all(self, histories: Iterable[JobHistory]) -> "_Seen":
            del histories
            os._exit(9)

    lay(tmp_path, _file(1, "0"), job(1))
    with pytest.raises(SuperviseError, match="was killed"):
        fold_site(tmp_path, _Dies, Window(), readers=2)


def test_a_small_ledger_needs_no_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many files do, and so does a large one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    lay(tmp_path, _file(1, "0"), job(1))
    assert in_parts._readers(tmp_path) == 1
    monkeypatch.setattr(in_parts, "_MANY", 1)
    assert in_parts._readers(tmp_path) == 3
    monkeypatch.setattr(in_parts, "_MANY", 10)
    monkeypatch.setattr(in_parts, "_LARGE", 10)
    assert in_parts._readers(tmp_path) == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert in_parts._readers(tmp_path) == 1


def test_what_is_nested_in_a_ledger_is_no_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever nests folders in a month makes nobody look for what lies below."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    deep = lay(tmp_path, f"c1/{MONTH}/deep/deeper/1-a.jsonl", b"x" * 100)
    monkeypatch.setattr(in_parts, "_LARGE", deep.parent.stat().st_size * 100)
    os.truncate(deep, in_parts._LARGE)
    assert in_parts._readers(tmp_path) == 1
    os.truncate(lay(tmp_path, f"c1/{MONTH}/1-a.jsonl", job(1)), in_parts._LARGE)
    assert in_parts._readers(tmp_path) == 2


def test_a_dead_ledger_is_told_and_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file server is away: whoever asks gets a sentence, not a terminal that hangs."""
    released = threading.Event()
    monkeypatch.setattr(answering, "_ANSWER_S", 0.2)
    monkeypatch.setattr(answering, "_look", lambda *_: released.wait(60))
    began = time.monotonic()
    try:
        for read in (lambda: fold_site(tmp_path, _Seen, Window()), lambda: read_site(tmp_path)):
            with pytest.raises(SuperviseError, match=r"gives no answer in 0\.2 s: see whether its file server is well"):
                read()
    finally:
        released.set()
    assert time.monotonic() - began < 30
