"""The ranks' last lines in one file: what was written is read again, and a folder of files still is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.bundle import Log
from supervisor.diagnose.rank_tails import FILE, is_tail, joined, parted
from supervisor.diagnose.reading import folder
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.model.ids import Rank

_TEXT = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20)
_LINES = st.lists(_TEXT | st.sampled_from(["7: x", "task7: x", ": ", "12:"]), min_size=1, max_size=5).map(tuple)


def _rank(number: int, *lines: str) -> Log:
    return Log(name=f"ranks/{number}.log", lines=lines, kind="ranks", rank=Rank(number))


@given(st.dictionaries(st.integers(0, 9_999_999), _LINES), st.dictionaries(st.integers(0, 99), _LINES))
def test_what_is_joined_is_parted_again(ranks: dict[int, tuple[str, ...]], tasks: dict[int, tuple[str, ...]]) -> None:
    """Names, ranks, order and every line, whatever it looks like itself."""
    logs = [_rank(number, *lines) for number, lines in ranks.items()]
    logs += [Log(name=f"ranks/task{number}.log", lines=lines, kind="ranks") for number, lines in tasks.items()]
    assert all(map(is_tail, logs))
    assert parted(joined(logs).split("\n")[:-1]) == tuple(logs)


def test_what_is_no_ranks_log_is_left_out() -> None:
    """The job's output has a file of its own."""
    other = Log(name="slurm.log", lines=("a",))
    assert not is_tail(other)
    assert joined([other, _rank(3, "b")]) == "3: b\n"


def test_lines_without_a_label_stay_together() -> None:
    """Somebody else's file of that name loses nothing."""
    assert parted(["first", "3: b", "last"]) == (Log(name=FILE, lines=("first", "last")), _rank(3, "b"))


def test_a_bundle_has_its_ranks_in_one_file_or_in_a_folder(tmp_path: Path) -> None:
    """Both shapes give the same logs."""
    (tmp_path / FILE).write_text("3: a\n3: b\n12: c\n")
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks/4.log").write_text("d\n")
    logs = {log.name: (log.rank, log.kind, b"".join(log.data())) for log in read_bundle(tmp_path).logs}
    assert logs == {
        "ranks/3.log": (3, "ranks", b"a\nb\n"),
        "ranks/12.log": (12, "ranks", b"c\n"),
        "ranks/4.log": (4, "ranks", b"d\n"),
    }


def test_a_huge_file_of_that_name_is_a_log_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is scanned piece by piece, not held in memory."""
    monkeypatch.setattr(folder, "_TAILS_BYTES", 3)
    (tmp_path / FILE).write_text("3: a\n")
    (log,) = read_bundle(tmp_path).logs
    assert (log.name, log.rank) == (FILE, None)
