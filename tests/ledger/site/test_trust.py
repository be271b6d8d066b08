"""Whom a reader of the ledger believes: files of users who claim what is not theirs."""

from pathlib import Path

from supervisor.ledger.site.names import PSEUDONYM_KEY
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.users import pseudonym
from tests.ledger.site.made import ALICE, AT, BOB, MONTH, as_root, incident, job, lay

_HERE = f"c1/{MONTH}"


@as_root
def test_a_file_in_another_users_name_is_not_trusted(tmp_path: Path) -> None:
    """Its owner shows; what it says is told, and believed in nothing."""
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1, user=str(ALICE)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/2-a.jsonl", job(2, user=str(ALICE)), owner=BOB)
    history = read_site(tmp_path)
    assert [(each.job.job, each.owner, each.is_trusted) for each in history.jobs] == [
        ("1", str(ALICE), True),
        ("2", str(BOB), False),
    ]
    assert history.problems == (
        f"{_HERE}/2-a.jsonl ({BOB}): job 2, written by {BOB} in the name of {ALICE}: not trusted",
    )


@as_root
def test_of_two_who_claim_a_job_its_user_is_right(tmp_path: Path) -> None:
    """Whoever wrote first, and whatever the file of the other is called."""
    lay(tmp_path, f"{_HERE}/81234-a.jsonl", job(user=str(ALICE)), incident(cause="forged"), owner=BOB)
    lay(tmp_path, f"{_HERE}/81234-b.jsonl", job(user=str(ALICE)), incident(), owner=ALICE)
    history = read_site(tmp_path)
    (found,) = history.jobs
    assert (found.owner, found.is_trusted, found.incidents) == (str(ALICE), True, (incident(),))
    assert history.problems == (f"{_HERE}/81234-a.jsonl ({BOB}): job 81234, also written by {ALICE}: left out",)


@as_root
def test_an_invented_run_does_not_hide_a_forger(tmp_path: Path) -> None:
    """A job id belongs to one user; his own runs in it, one after the other, are each a job's history."""
    lay(tmp_path, f"{_HERE}/81234-a.jsonl", job(user=str(ALICE)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/81234-b.jsonl", job(user=str(ALICE), run="second", at=AT + 9), owner=ALICE)
    lay(tmp_path, f"{_HERE}/81234-c.jsonl", job(user=str(ALICE), run="invented"), owner=BOB)
    history = read_site(tmp_path)
    assert [(each.job.run, each.owner) for each in history.jobs] == [(job().run, str(ALICE)), ("second", str(ALICE))]
    assert history.problems == (f"{_HERE}/81234-c.jsonl ({BOB}): job 81234, also written by {ALICE}: left out",)


@as_root
def test_a_named_user_is_believed_before_a_nameless_one(tmp_path: Path) -> None:
    """Who names himself is accountable."""
    lay(tmp_path, f"{_HERE}/81234-a.jsonl", job(), owner=BOB)
    lay(tmp_path, f"{_HERE}/81234-b.jsonl", job(user=str(ALICE)), owner=ALICE)
    (found,) = read_site(tmp_path).jobs
    assert (found.owner, found.is_trusted) == (str(ALICE), True)


@as_root
def test_of_two_who_both_say_it_is_theirs_neither_is_trusted(tmp_path: Path) -> None:
    """Nothing here tells who is right: the job is there once, and decides nothing."""
    lay(tmp_path, f"{_HERE}/81234-a.jsonl", job(user=str(ALICE)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/81234-b.jsonl", job(user=str(BOB)), owner=BOB)
    history = read_site(tmp_path)
    (found,) = history.jobs
    assert not found.is_trusted
    assert f"and {ALICE} may be as wrong" in history.problems[0]


@as_root
def test_pseudonyms_are_checked_by_who_has_the_key(tmp_path: Path) -> None:
    """Without it they are believed: they claim nothing about a person."""
    key = b"k" * 32
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1, user=pseudonym(str(ALICE), key)), owner=ALICE)
    lay(tmp_path, f"{_HERE}/2-a.jsonl", job(2, user=pseudonym(str(ALICE), key)), owner=BOB)
    assert [each.is_trusted for each in read_site(tmp_path).jobs] == [True, True]
    lay(tmp_path, PSEUDONYM_KEY, key)
    assert [each.is_trusted for each in read_site(tmp_path).jobs] == [True, False]


@as_root
def test_only_the_ledgers_owner_says_whose_lines_are_whose(tmp_path: Path) -> None:
    """In a month's file; the same lines of a user are his own."""
    said = b'{"kind":"owner","owner":"60001"}\n'
    lay(tmp_path, f"c1/{MONTH}.jsonl", said, job(1, user=str(ALICE)), b'{"kind":"owner","owner":""}\n', job(2))
    lay(tmp_path, f"{_HERE}/3-a.jsonl", said, job(3, user=str(ALICE)), owner=BOB)
    history = read_site(tmp_path)
    assert [(each.job.job, each.owner, each.is_trusted) for each in history.jobs] == [
        ("1", str(ALICE), True),
        ("2", "", True),
        ("3", str(BOB), False),
    ]
    assert any(f"({BOB}) names owners of lines, which it may not" in text for text in history.problems)
