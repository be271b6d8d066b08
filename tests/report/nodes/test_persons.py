"""Who is one user."""

import time
from dataclasses import replace
from itertools import permutations

import msgspec

from supervisor.ledger.site.history import JobHistory
from supervisor.report.nodes.blame import blame
from supervisor.report.nodes.persons import NOBODY, Persons
from tests.report.nodes.fleets import DAY_S, HOUR_S, LOOK, SINCE, incident, job


def _of(owner: str, user: str, number: int = 0) -> JobHistory:
    """One of his jobs that blames a node, apart from the others by hours."""
    at = SINCE + DAY_S + number * 3 * HOUR_S
    history = job(incident(at + 60, "n000", run=f"r{number}"), at=at, run=f"r{number}", job=f"{number}", owner=owner)
    return JobHistory(
        job=msgspec.structs.replace(history.job, user=user),
        incidents=history.incidents,
        use=history.use,
        owner=history.owner,
    )


def test_a_user_is_one_under_his_name_and_under_his_pseudonym() -> None:
    """A month that was put together holds his pseudonym alone: he does not become his own second witness."""
    fresh, old = _of("alice", "p-1", 0), _of("p-1", "p-1", 1)
    for jobs in permutations([fresh, old, _of("bob", "bob", 2)]):
        persons = Persons(jobs)
        assert persons.of(fresh) == persons.of(old)
        assert persons.of(fresh) != persons.of(jobs[[each.owner for each in jobs].index("bob")])
        assert persons.run(fresh)[1] == persons.run(old)[1]
    assert blame([fresh, old], LOOK)["n000"].number == 0


def test_who_invents_pseudonyms_stays_one() -> None:
    """Whoever has not the ledger's key cannot see that they are invented."""
    assert blame([_of("mallory", f"p-{number}", number) for number in range(9)], LOOK)["n000"].number == 0


def test_many_invented_names_cost_no_time() -> None:
    """However they are sorted: the way to the word that stands for all of them stays short."""
    base = _of("zed", "p-0")
    names = [f"p-{number:06d}" for number in reversed(range(30_000))]
    jobs = [replace(base, job=msgspec.structs.replace(base.job, user=name)) for name in names]
    began = time.monotonic()
    persons = Persons(jobs)
    assert {persons.of(history) for history in jobs} == {"p-000000"}
    assert time.monotonic() - began < 5


def test_who_is_named_nowhere_is_nobody() -> None:
    """And a file without a name is its owner's."""
    assert Persons([]).of(_of("", "")) == NOBODY
    assert Persons([]).of(_of("alice", "")) == "alice"


def test_one_whom_the_ledgers_key_knows_is_one_under_all_his_names() -> None:
    """By name in one file, by pseudonym in another: the reader who has the key says that both are his."""
    named, hidden = _of("alice", "alice", 0), _of("p-1", "p-1", 1)
    assert blame([named, hidden], LOOK)["n000"].number == 2
    known = [replace(history, person="p-1") for history in (named, hidden)]
    assert blame(known, LOOK)["n000"].number == 0


def test_who_stands_for_somebody_nameless_is_nobody() -> None:
    """Two of them may be one user, or one who is named elsewhere."""
    nameless = [_of(f"n-{number:016x}", "", number) for number in range(3)]
    assert {Persons(nameless).of(history) for history in nameless} == {NOBODY}
    assert blame([*nameless, _of("alice", "alice", 4)], LOOK)["n000"].number == 0
