"""The whole ledger, read: what belongs together, what is left out, whom to believe."""

import errno
import os
from pathlib import Path

import pytest

from supervisor.errors import UsageError
from supervisor.ledger.site import walk
from supervisor.ledger.site.names import PSEUDONYM_KEY
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.walk import LARGEST
from tests.ledger.site.made import AT, BOB, MONTH, as_root, as_user, incident, job, lay, open_to_all, use

_DAY_S = 86_400.0
_HERE = f"c1/{MONTH}"
_FILE = f"{_HERE}/81234-a.jsonl"


# --- jobs -----------------------------------------------------------------------------------------------------------


def test_a_job_is_what_its_lines_say(tmp_path: Path) -> None:
    """Of an interruption the last line counts, of the use too."""
    lay(tmp_path, _FILE, job(), use(1.0), incident(), incident(is_closed=True), incident(2), use(100.0))
    history = read_site(tmp_path)
    (found,) = history.jobs
    assert (found.job, found.use, found.source) == (job(), use(100.0), "ledger")
    assert found.incidents == (incident(is_closed=True), incident(2))
    assert not history.problems


def test_jobs_come_in_the_order_of_time(tmp_path: Path) -> None:
    """From all folders: the month's, the cluster's, the ledger itself."""
    lay(tmp_path, f"{_HERE}/3-a.jsonl", job(3, at=AT + 3))
    lay(tmp_path, "c1/2-a.jsonl", job(2, at=AT + 2))
    lay(tmp_path, "1-a.jsonl", job(1, at=AT + 1))
    assert [found.job.job for found in read_site(tmp_path).jobs] == ["1", "2", "3"]


def test_a_job_in_two_files_of_its_user_is_one(tmp_path: Path) -> None:
    """The month's folder was made while it ran, or the first file was compacted."""
    lay(tmp_path, "c1/81234-a.jsonl", job(), incident(is_closed=True), use(10.0, at=AT + 10))
    lay(tmp_path, _FILE, job(), incident(), incident(2), use(50.0, at=AT + 50))
    (found,) = read_site(tmp_path).jobs
    assert found.use == use(50.0, at=AT + 50)
    assert found.incidents == (incident(is_closed=True), incident(2))


def test_an_incident_that_was_closed_stays_so(tmp_path: Path) -> None:
    """In whatever order the files of its job are read."""
    lay(tmp_path, _FILE, job(), incident(is_closed=True))
    lay(tmp_path, "c1/81234-a.jsonl", job(), incident(), incident(2))
    (found,) = read_site(tmp_path).jobs
    assert found.incidents == (incident(is_closed=True), incident(2))


def test_a_job_that_slurm_started_again_has_used_both_times(tmp_path: Path) -> None:
    """Its use counts from nothing each time; it began when it began first."""
    first, second = use(100.0, restarts=1, energy_j=5.0), use(30.0, at=AT + 900, restarts=2, step=7, end="completed")
    lay(tmp_path, _FILE, job(), use(1.0), first, job(at=AT + 800), use(0.5, at=AT + 800), second)
    (found,) = read_site(tmp_path).jobs
    assert found.job == job()
    assert found.use == use(
        130.0, at=AT + 900, computing_node_s=65.0, restarts=3, energy_j=5.0, step=7, end="completed"
    )


def test_the_last_words_on_the_job_before_belong_to_that(tmp_path: Path) -> None:
    """The successor closes the incident that its predecessor left open, in its own file."""
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1), incident(of=1))
    lay(tmp_path, f"{_HERE}/2-a.jsonl", job(2, at=AT + 500), incident(of=1, is_closed=True), incident(2, of=2))
    history = read_site(tmp_path)
    assert [found.incidents for found in history.jobs] == [(incident(of=1, is_closed=True),), (incident(2, of=2),)]
    assert not history.problems


def test_last_words_on_a_job_that_is_not_there_are_kept(tmp_path: Path) -> None:
    """Its file is too old for the window, or gone: nothing is wrong with that, and its cluster is the successor's."""
    lay(tmp_path, "2-a.jsonl", job(2, at=AT + 500), incident(of=1, is_closed=True))
    history = read_site(tmp_path)
    assert [(each.job.job, each.job.cluster) for each in history.jobs] == [("1", "c1"), ("2", "c1")]
    assert not history.problems


def test_a_job_whose_own_line_is_torn_is_shown_with_what_there_is(tmp_path: Path) -> None:
    """Its incidents happened all the same."""
    lay(tmp_path, _FILE, b'{"kind":"job","at":17\n', incident(), use())
    history = read_site(tmp_path)
    (found,) = history.jobs
    assert (found.job.at, found.job.cluster, found.job.user) == (AT + 100, "c1", "")
    assert found.incidents == (incident(),)
    assert any("job 81234, without the line of the job itself" in text for text in history.problems)


# --- the window -----------------------------------------------------------------------------------------------------


def test_jobs_that_ran_in_the_window_are_there(tmp_path: Path) -> None:
    """Also those that began long before it; each whole."""
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1), use(of=1))
    lay(tmp_path, f"{_HERE}/2-a.jsonl", job(2), incident(of=2), use(of=2, at=AT + 60 * _DAY_S))
    lay(tmp_path, "c1/2026-12/3-a.jsonl", job(3, at=AT + 80 * _DAY_S))
    found = read_site(tmp_path, since=AT + 30 * _DAY_S, until=AT + 70 * _DAY_S).jobs
    assert [each.job.job for each in found] == ["2"]
    assert found[0].incidents == (incident(of=2),)


def test_files_outside_of_the_window_are_not_opened(tmp_path: Path) -> None:
    """Neither months that begin after it, nor files that were not changed since."""
    old = lay(tmp_path, f"{_HERE}/1-a.jsonl", b"nonsense\n")
    os.utime(old, (AT, AT))
    lay(tmp_path, "c1/2026-12/2-a.jsonl", b"nonsense\n")
    assert not read_site(tmp_path, since=AT + 2 * _DAY_S, until=AT + 30 * _DAY_S).problems
    assert read_site(tmp_path).problems


def test_only_the_clusters_that_are_asked_for(tmp_path: Path) -> None:
    """By their folder and by what the job itself says."""
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1))
    lay(tmp_path, f"c2/{MONTH}/2-a.jsonl", job(2, cluster="c2"))
    lay(tmp_path, "3-a.jsonl", job(3, cluster="c1"))
    lay(tmp_path, "4-a.jsonl", job(4, cluster="c2"))
    assert [each.job.job for each in read_site(tmp_path, clusters=["c1"]).jobs] == ["1", "3"]
    assert read_site(tmp_path, clusters=[]).jobs == ()


def test_files_are_read_also_where_none_can_be_asked_for_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some filesystems know no such wish. More files than are open at once, and all of them closed at the end."""

    def refuse(*_: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    monkeypatch.setattr(walk, "_AT_ONCE", 3)
    for number in range(1, 9):
        lay(tmp_path, f"{_HERE}/{number}-a.jsonl", job(number))
    before = list(Path("/proc/self/fd").iterdir())
    assert [found.job.job for found in read_site(tmp_path).jobs] == list("12345678")
    assert list(Path("/proc/self/fd").iterdir()) == before


# --- what must not be read --------------------------------------------------------------------------------------------


def test_a_ledger_that_is_not_there_is_said(tmp_path: Path) -> None:
    """With the setting to look at."""
    with pytest.raises(UsageError, match=r"No such file.*SUPERVISE_LEDGER"):
        read_site(tmp_path / "none")


def test_nothing_is_followed_and_nothing_is_waited_for(tmp_path: Path) -> None:
    """Links to files and folders, pipes, sockets, folders in place of files: told, and the rest is read."""
    elsewhere = lay(tmp_path, "elsewhere.jsonl", job(1))
    root = tmp_path / "ledger"
    lay(root, _FILE, job())
    (root / _HERE / "2-a.jsonl").symlink_to(elsewhere)
    (root / _HERE / "3-a.jsonl").mkdir()
    os.mkfifo(root / _HERE / "4-a.jsonl")
    (root / "c2").symlink_to(root / "c1")
    (root / "c1/2026-10").symlink_to(root / _HERE)
    (root / "c1/other").mkdir()
    (root / _HERE / "README").write_text("?")
    history = read_site(root)
    assert [each.job.job for each in history.jobs] == ["81234"]
    assert len(history.problems) == 7
    for name in ("2-a.jsonl", "3-a.jsonl", "4-a.jsonl", "README", "c2", "c1/2026-10", "c1/other"):
        assert any(name in text for text in history.problems), name


def test_a_pipe_that_takes_the_place_of_a_file_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was listed as a file may be something else when it is opened."""
    path = lay(tmp_path, _FILE, job())
    really_open = os.open

    def swap_and_open(name: str, *args: int, **folder: int) -> int:
        if name == path.name:
            path.unlink()
            os.mkfifo(path)
        return really_open(name, *args, **folder)

    monkeypatch.setattr(os, "open", swap_and_open)
    history = read_site(tmp_path)
    assert not history.jobs
    assert any("is no plain file" in text for text in history.problems)


def test_drafts_and_the_key_are_no_part_of_the_ledger(tmp_path: Path) -> None:
    """What is hidden is passed over without a word."""
    lay(tmp_path, f"{_HERE}/.1-a.jsonl.77", b"half")
    lay(tmp_path, PSEUDONYM_KEY, b"k" * 32)
    (tmp_path / ".snapshot").mkdir()
    assert not read_site(tmp_path).problems


@as_root
def test_files_and_folders_that_may_not_be_read_are_told(tmp_path: Path) -> None:
    """Each by its name; the others are read."""
    open_to_all(tmp_path)
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1)).chmod(0o600)
    lay(tmp_path, f"{_HERE}/2-a.jsonl", job(2))
    lay(tmp_path, "c2/2026-10/3-a.jsonl", job(3)).parent.chmod(0o700)
    with as_user(BOB):
        history = read_site(tmp_path)
    assert [each.job.job for each in history.jobs] == ["2"]
    assert [text.partition(" cannot")[0] for text in history.problems] == ["c2/2026-10", f"{_HERE}/1-a.jsonl"]


@as_root
def test_a_huge_file_of_a_user_is_left_out(tmp_path: Path) -> None:
    """A job writes kilobytes; who fills the ledger is named. The ledger's owner may have large ones."""
    path = lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1), owner=BOB)
    os.truncate(path, LARGEST + 1)
    history = read_site(tmp_path)
    assert not history.jobs
    assert f"({BOB}) has {LARGEST + 1} bytes" in history.problems[0]
    os.chown(path, os.geteuid(), -1)
    assert len(read_site(tmp_path).jobs) == 1


def test_problems_are_bounded(tmp_path: Path) -> None:
    """Who lays ten thousand bad files does not fill the report."""
    for number in range(1010):
        lay(tmp_path, f"{_HERE}/{number}-a.jsonl", b"nonsense\n")
    problems = read_site(tmp_path).problems
    assert len(problems) == 1001
    assert problems[-1] == "10 more problems of this kind"


def test_hostile_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """File names are anything: what does not print is replaced in what is told."""
    lay(tmp_path, f"{_HERE}/\x1b[2Jx\n.jsonl", b"nonsense\n")
    lay(tmp_path, f"{_HERE}/" + os.fsdecode(b"\xff") + ".jsonl", b"nonsense\n")
    problems = read_site(tmp_path).problems
    assert len(problems) == 2
    assert all(text.isprintable() and "?" in text for text in problems)


def test_lines_left_out_are_told_with_file_and_owner(tmp_path: Path) -> None:
    """So that a person can be asked."""
    lay(tmp_path, _FILE, job(), b'{"kind":"use","schema":2}\n', b"nonsense\n", b'{"kind":"us')
    (told,) = read_site(tmp_path).problems
    assert told.startswith(f"{_FILE} (")
    assert told.endswith(
        "left out: 1 line torn at the end, 1 line of a newer version of supervise, 1 line not readable"
    )
