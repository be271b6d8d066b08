"""Whom a reader of the ledger believes: files of users who claim what is not theirs."""

from pathlib import Path

import pytest

from supervisor.ledger.site.names import PSEUDONYM_KEY
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.users import pseudonym
from tests.ledger.site.made import ALICE, AT, BOB, MONTH, RUN, as_root, bytes_of, incident, job, lay, use

_HERE = f"c1/{MONTH}"


@as_root
def test_a_file_in_another_users_name_is_not_trusted(tmp_path: Path) -> None:
    """Its owner shows; what it says is told, and believed in nothing."""
    lay(tmp_path, f"{_HERE}/1-{RUN}.jsonl", job(1, user=str(ALICE)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/2-{RUN}.jsonl", job(2, user=str(ALICE)), owner=BOB)
    history = read_site(tmp_path)
    assert [(each.job.job, each.owner, each.is_trusted) for each in history.jobs] == [
        ("1", str(ALICE), True),
        ("2", str(BOB), False),
    ]
    assert history.problems == (
        f"{_HERE}/2-{RUN}.jsonl ({BOB}): job 2, written by {BOB} in the name of {ALICE}: not trusted",
    )


@as_root
def test_of_two_who_claim_a_job_its_user_is_right(tmp_path: Path) -> None:
    """Whoever wrote first, and whatever the file of the other is called."""
    lay(tmp_path, f"{_HERE}/81234-{RUN}.jsonl", job(user=str(ALICE)), incident(cause="forged"), owner=BOB)
    lay(tmp_path, f"{_HERE}/81234-{RUN}.1.jsonl", job(user=str(ALICE)), incident(), owner=ALICE)
    history = read_site(tmp_path)
    (found,) = history.jobs
    assert (found.owner, found.is_trusted, found.incidents) == (str(ALICE), True, (incident(),))
    assert history.problems == (f"{_HERE}/81234-{RUN}.jsonl ({BOB}): job 81234, also written by {ALICE}: left out",)


@as_root
def test_an_invented_run_does_not_hide_a_forger(tmp_path: Path) -> None:
    """A job id belongs to one user; his own runs in it, one after the other, are each a job's history."""
    lay(tmp_path, f"{_HERE}/81234-{RUN}.jsonl", job(user=str(ALICE)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/81234-second.jsonl", job(user=str(ALICE), run="second", at=AT + 9), owner=ALICE)
    lay(tmp_path, f"{_HERE}/81234-invented.jsonl", job(user=str(ALICE), run="invented"), owner=BOB)
    history = read_site(tmp_path)
    assert [(each.job.run, each.owner) for each in history.jobs] == [(job().run, str(ALICE)), ("second", str(ALICE))]
    assert history.problems == (f"{_HERE}/81234-invented.jsonl ({BOB}): job 81234, also written by {ALICE}: left out",)


@as_root
def test_a_name_is_believed_no_more_than_none(tmp_path: Path) -> None:
    """At a site that keeps no names a forger has one: he takes nobody's place, and shows."""
    lay(tmp_path, f"{_HERE}/81234-{RUN}.jsonl", job(), owner=BOB)
    lay(tmp_path, f"{_HERE}/81234-{RUN}.1.jsonl", job(user=str(ALICE)), owner=ALICE)
    history = read_site(tmp_path)
    (found,) = history.jobs
    assert not found.is_trusted
    assert (
        f"81234-{RUN}.jsonl ({BOB}): job 81234, also written by {ALICE}, and {ALICE} may be as" in history.problems[0]
    )


@as_root
def test_of_two_who_both_say_it_is_theirs_neither_is_trusted(tmp_path: Path) -> None:
    """Nothing here tells who is right: the job is there once, and decides nothing."""
    lay(tmp_path, f"{_HERE}/81234-{RUN}.jsonl", job(user=str(ALICE)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/81234-{RUN}.1.jsonl", job(user=str(BOB)), owner=BOB)
    history = read_site(tmp_path)
    (found,) = history.jobs
    assert not found.is_trusted
    assert f"and {ALICE} may be as wrong" in history.problems[0]


@as_root
def test_pseudonyms_are_checked_by_who_has_the_key(tmp_path: Path) -> None:
    """Without it they are believed: they claim nothing about a person."""
    key = b"k" * 32
    lay(tmp_path, f"{_HERE}/1-{RUN}.jsonl", job(1, user=pseudonym(str(ALICE), key)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/2-{RUN}.jsonl", job(2, user=pseudonym(str(ALICE), key)), owner=BOB)
    assert [each.is_trusted for each in read_site(tmp_path).jobs] == [True, True]
    lay(tmp_path, PSEUDONYM_KEY, key)
    assert [each.is_trusted for each in read_site(tmp_path).jobs] == [True, False]


@as_root
def test_only_the_ledgers_owner_says_whose_lines_are_whose(tmp_path: Path) -> None:
    """In a month's file; the same lines of a user are his own."""
    said = b'{"kind":"owner","owner":"60001"}\n'
    lay(tmp_path, f"c1/{MONTH}.jsonl", said, job(1, user=str(ALICE)), b'{"kind":"owner","owner":""}\n', job(2))
    lay(tmp_path, f"{_HERE}/3-{RUN}.jsonl", said, job(3, user=str(ALICE)), owner=BOB)
    history = read_site(tmp_path)
    assert [(each.job.job, each.owner, each.is_trusted) for each in history.jobs] == [
        ("1", str(ALICE), True),
        ("2", "", True),
        ("3", str(BOB), False),
    ]
    assert any(f"({BOB}) names owners of lines, which it may not" in text for text in history.problems)


@as_root
@pytest.mark.parametrize("user", ["", str(ALICE)])
def test_one_file_puts_no_other_jobs_in_doubt(tmp_path: Path, user: str) -> None:
    """Neither by a line that begins another's job, nor by words on it: the job's own file is its user's."""
    for number in (1, 2):
        lay(tmp_path, f"{_HERE}/{number}-{RUN}.jsonl", job(number, user=user), incident(of=number), owner=ALICE)
    forged = [job(1), incident(2, of=1), use(90.0, of=1), incident(of=2, is_closed=True), use(50.0, of=2)]
    lay(tmp_path, f"{_HERE}/3-{RUN}.jsonl", job(3), *forged, owner=BOB)
    history = read_site(tmp_path)
    assert [(each.job.job, each.owner, each.is_trusted) for each in history.jobs] == [
        ("1", str(ALICE), True),
        ("2", str(ALICE), True),
        ("3", str(BOB), True),
    ]
    assert [(each.incidents, each.use) for each in history.jobs[:2]] == [
        ((incident(of=1),), None),
        ((incident(of=2),), None),
    ]
    mine = f"{_HERE}/3-{RUN}.jsonl ({BOB})"
    assert history.problems == (
        f"{mine} begins 1 job of other files: ignored",
        f"{mine}: job 1, whose file is that of {ALICE}: left out",
        f"{mine}: job 2, whose file is that of {ALICE}: left out",
    )


@as_root
def test_a_line_that_begins_another_job_does_so_nowhere_in_a_file(tmp_path: Path) -> None:
    """Not behind words on that job either; and a file that speaks of nobody's job begins none."""
    forged = lay(tmp_path, f"{_HERE}/3-{RUN}.jsonl", incident(of=1), job(1, nodes=()), owner=BOB)
    assert [each.job.nodes for each in read_site(tmp_path).jobs] == [()]
    assert read_site(tmp_path).jobs[0].job.at == incident().at
    forged.write_bytes(bytes_of(job(1)))
    assert read_site(tmp_path).jobs == ()


@as_root
def test_a_file_beside_a_strangers_speaks_for_its_job(tmp_path: Path) -> None:
    """Who found his name taken has another one, and no tenth."""
    lay(tmp_path, f"{_HERE}/1-{RUN}.3.jsonl", job(1), owner=ALICE)
    lay(tmp_path, f"{_HERE}/2-{RUN}.10.jsonl", job(2), owner=ALICE)
    lay(tmp_path, f"{_HERE}/17_3-{RUN}.jsonl", job(17, job="17_3"), owner=ALICE)
    assert [each.job.job for each in read_site(tmp_path).jobs] == ["1", "17_3"]


@as_root
def test_a_user_is_one_person_under_all_his_names(tmp_path: Path) -> None:
    """His file's owner, and his pseudonym in a month that is over, as far as the key proves it; others are others."""
    key = b"k" * 32
    hidden = pseudonym(str(ALICE), key)
    head = b'{"kind":"owner","owner":"%s"}\n' % hidden.encode()
    lay(
        tmp_path,
        f"c1/{MONTH}.jsonl",
        head,
        job(1, user=hidden),
        b'{"kind":"owner","owner":"n-%s"}\n' % (b"0" * 16),
        job(5),
    )
    lay(tmp_path, f"{_HERE}/2-{RUN}.jsonl", job(2, user=hidden), incident(2, of=1), owner=ALICE)
    lay(tmp_path, f"{_HERE}/3-{RUN}.jsonl", job(3, user=hidden), incident(3, of=1), owner=BOB)
    lay(tmp_path, f"{_HERE}/4-{RUN}.jsonl", job(4, user=str(ALICE)), owner=ALICE)
    without = read_site(tmp_path).jobs
    assert [each.person for each in without] == [hidden, str(ALICE), str(BOB), str(ALICE), ""]
    assert without[0].incidents == ()
    lay(tmp_path, PSEUDONYM_KEY, key)
    found = read_site(tmp_path).jobs
    assert [each.person for each in found] == [hidden, hidden, pseudonym(str(BOB), key), hidden, ""]
    assert [each.owner for each in found[1:4]] == [str(ALICE), str(BOB), str(ALICE)]
    assert [each.is_trusted for each in found] == [True, True, False, True, True]
    assert found[0].incidents == (incident(2, of=1),)
