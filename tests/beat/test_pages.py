"""The agent's reading of the beat pages."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supervisor.beat import supervise_beat as layout
from supervisor.beat.pages import Pages

Start = Callable[..., Any]


def test_age_counts_from_the_last_change_of_the_count(rank: Start, folder: Path) -> None:
    """A count that stands still grows old by the agent's clock; any beat makes it young, also at the same step."""
    started, pages = rank(), Pages(folder)
    started.do("beat(1)")
    assert pages.read(now=100.0)[0].age_s == 0.0
    assert pages.read(now=107.0)[0].age_s == 7.0
    started.do("beat(1)")
    assert pages.read(now=109.0)[0].age_s == 0.0


def test_the_state_of_who_stands_still_is_told(rank: Start, folder: Path) -> None:
    """Stopped is another thing than waiting; of who moves nobody asks."""
    started, pages = rank(), Pages(folder)
    started.do("beat(1)")
    (beat,) = pages.read(now=1.0)
    assert beat.state == ""
    os.kill(beat.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, beat.pid, os.WSTOPPED)
    try:
        assert pages.read(now=4.0)[0].state == "T"
    finally:
        os.kill(beat.pid, signal.SIGCONT)


@pytest.mark.parametrize(("phase", "tells"), [("setup", False), ("data", False), ("checkpoint", True), ("eval", True)])
def test_a_program_that_tells_of_its_saves_is_known_by_it(rank: Start, folder: Path, phase: str, tells: bool) -> None:  # noqa: FBT001
    """Also where the save was over before the page was read."""
    started, pages = rank(), Pages(folder)
    started.do(f"beat(1); beat(1, phase={phase!r}); beat(2)")
    assert pages.read(now=1.0)[0].tells is tells


def test_a_dead_rank_is_seen_dead(rank: Start, folder: Path) -> None:
    """The page outlives its process, and the reading says so."""
    started, pages = rank(), Pages(folder)
    started.do("beat(1)")
    assert pages.read(now=1.0)[0].is_alive
    started.end()
    assert not pages.read(now=2.0)[0].is_alive


def test_only_the_newest_attempt_is_read(rank: Start, folder: Path) -> None:
    """Pages of older attempts are history."""
    rank().do("beat(1)")
    pages = Pages(folder)
    assert [beat.step for beat in pages.read(now=1.0)] == [1]
    assert pages.attempt == 3
    rank(SUPERVISE_ATTEMPT="4", SLURM_PROCID="0").do("beat(70)")
    rank(SUPERVISE_ATTEMPT="4", SLURM_PROCID="11").do("beat(71)")
    assert [(beat.rank, beat.step) for beat in pages.read(now=2.0)] == [(0, 70), (11, 71)]
    assert pages.attempt == 4


def test_a_deleted_page_is_remade_and_the_rank_follows(rank: Start, folder: Path) -> None:
    """Deleting the file loses nothing: the old page is read on until the rank has gone over to the new one."""
    started, pages = rank(), Pages(folder)
    started.do("beat(1); beat(2)")
    pages.read(now=1.0)
    (folder / "3-5").unlink()
    assert pages.read(now=2.0)[0].step == 2
    started.do("beat(3)")  # into the old page, but now the rank knows
    started.do("beat(4)")
    (beat,) = pages.read(now=3.0)
    assert (beat.step, beat.count) == (4, 4)
    assert [beat.step for beat in Pages(folder).read(now=3.0)] == [4]


def test_a_deleted_folder_is_remade_as_well(rank: Start, folder: Path) -> None:
    """Even a cleaner that takes the whole folder does not silence a rank."""
    started, pages = rank(), Pages(folder)
    started.do("beat(1)")
    pages.read(now=1.0)
    (folder / "3-5").unlink()
    folder.rmdir()
    pages.read(now=2.0)
    started.do("beat(2); beat(3)")
    assert pages.read(now=3.0)[0].step == 3
    assert [path.name for path in folder.iterdir()] == ["3-5"]


def test_save_and_stop_reaches_the_rank_and_outlives_the_page(rank: Start, folder: Path) -> None:
    """What the agent asks for is beat's answer, in a remade page and in ranks that come later too."""
    started, pages = rank(), Pages(folder)
    started.do("beat(1)")
    pages.read(now=1.0)
    pages.ask_to_stop()
    assert started.do("print(beat(2))") == "True"
    (folder / "3-5").unlink()
    pages.read(now=2.0)
    started.do("beat(3)")
    assert started.do("print(beat(4))") == "True"
    late = rank(SLURM_PROCID="6")
    late.do("beat(4)")
    pages.read(now=3.0)
    assert late.do("print(beat(5))") == "True"


def test_a_torn_page_keeps_the_last_whole_reading(rank: Start, folder: Path) -> None:
    """A rank that is killed in the middle of storing leaves two counts that differ; the record before it stands."""
    started, pages = rank(), Pages(folder)
    started.do("beat(6)")
    pages.read(now=1.0)
    started.end()
    with (folder / "3-5").open("r+b") as page:
        page.seek(layout.RECORD_AT)
        page.write(layout.RECORD.pack(2, 999, 0.0, 2, 1))
    (beat,) = pages.read(now=3.0)
    assert (beat.step, beat.count, beat.age_s) == (6, 1, 2.0)
    assert Pages(folder).read(now=3.0) == ()


def test_a_page_cleared_for_storing_is_torn(rank: Start, folder: Path) -> None:
    """Between clearing and storing both counts are 0, as in a new page, but there is a step."""
    started, pages = rank(), Pages(folder)
    started.do("beat(6)")
    pages.read(now=1.0)
    started.end()
    with (folder / "3-5").open("r+b") as page:
        page.seek(layout.RECORD_AT)
        page.write(bytes(layout.RECORD.size))
    assert pages.read(now=3.0)[0].step == 6


def test_files_that_are_no_pages_are_passed_over(rank: Start, folder: Path) -> None:
    """Half-made, foreign and oddly named files are not read, and do no harm to the others."""
    (folder / "3-0").write_bytes(b"")
    (folder / "3-1").write_bytes(b"\0" * layout.PAGE_BYTES)
    (folder / "3-x").write_bytes(b"?")
    (folder / "3-2").symlink_to("/etc/passwd")
    rank().do("beat(1)")
    assert [beat.rank for beat in Pages(folder).read(now=1.0)] == [5]


def test_no_folder_is_no_ranks(tmp_path: Path) -> None:
    """A job whose ranks never beat has no folder, and that is all."""
    assert Pages(tmp_path / "none").read(now=1.0) == ()


def test_removing_takes_the_folder_away(rank: Start, folder: Path) -> None:
    """When the last rank is gone the node keeps nothing."""
    rank().do("beat(1)")
    pages = Pages(folder)
    pages.read(now=1.0)
    pages.remove()
    assert not folder.exists()


def test_removing_takes_nothing_of_the_users_away(rank: Start, folder: Path) -> None:
    """`SUPERVISE_BEAT_DIR` may name a folder that holds other things as well."""
    rank().do("beat(1)")
    (folder / "results.csv").write_text("1")
    (folder / "3-5.txt").write_text("2")
    pages = Pages(folder)
    pages.read(now=1.0)
    pages.remove()
    assert sorted(path.name for path in folder.iterdir()) == ["3-5.txt", "results.csv"]


@pytest.mark.parametrize(
    ("last_words", "has_ended"),
    [
        ("", True),
        ("sys.exit(3)", True),
        ("raise KeyError('loss_mask')", False),
        ("os._exit(0)", False),
        ("os.kill(os.getpid(), 9)", False),
    ],
)
def test_a_rank_says_that_it_ends(rank: Start, folder: Path, last_words: str, *, has_ended: bool) -> None:
    """A process that comes to its end tells it; one that is killed, crashes or raises does not."""
    started, pages = rank(), Pages(folder)
    started.do("beat(7)")
    assert [beat.has_ended for beat in pages.read(now=1.0)] == [False]
    assert started.process.stdin is not None
    started.process.stdin.write(f"{last_words}\n")
    started.process.stdin.close()
    started.process.wait(30)
    (beat,) = pages.read(now=2.0)
    assert (beat.is_alive, beat.has_ended) == (False, has_ended)


def test_a_page_that_is_taken_over_has_not_ended(rank: Start, folder: Path) -> None:
    """A launcher starts a rank again in the same attempt."""
    first, pages = rank(), Pages(folder)
    first.do("beat(7)")
    assert first.process.stdin is not None
    first.process.stdin.close()
    first.process.wait(30)
    rank().do("beat(8)")
    assert [(beat.is_alive, beat.has_ended) for beat in pages.read(now=2.0)] == [(True, False)]
