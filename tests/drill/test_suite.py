"""Versioned lists of faults."""

import pytest

from supervisor.drill.kinds import KINDS
from supervisor.drill.suite import DEFAULT, Limits, of_faults, parse_suite, read_suite, suite_names
from supervisor.errors import UsageError
from tests.docs.pages import rows, section


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_of_the_package_can_be_read(name: str) -> None:
    """With faults that exist, each once."""
    suite = read_suite(name)
    assert suite.name == name
    assert suite.faults
    assert len(set(suite.faults)) == len(suite.faults)
    assert set(suite.own_limits) <= set(suite.faults)


def test_standard_has_every_kind() -> None:
    """Nothing that can be drilled is left out; what ends the run comes last, and costs no second job."""
    suite = read_suite("standard@1")
    assert set(suite.faults) == set(KINDS)
    assert KINDS[suite.faults[-1]].stops
    assert suite.pace is not None
    assert DEFAULT in suite_names()


def test_a_fault_may_have_limits_of_its_own() -> None:
    """What it does not say is everybody's."""
    text = 'faults = ["rank_hung", "rank_killed"]\n[limits]\nback_s = 30.0\n[limits.rank_hung]\nseen_s = 60.0\n'
    suite = parse_suite("x@1", text)
    assert suite.limits_of("rank_hung") == Limits(seen_s=60.0, back_s=30.0)
    assert suite.limits_of("rank_killed") == Limits(seen_s=10.0, back_s=30.0)
    assert suite.pace is None


@pytest.mark.parametrize(
    "text",
    [
        "faults = [",
        'faults = ["gpu_melts"]',
        "",
        'faults = ["rank_killed"]\nlimit = 1',
        'faults = ["rank_killed"]\n[limits]\nseen = 1.0',
        'faults = ["rank_killed"]\n[limits.rank_killed]\nseen_s = "soon"',
        'faults = ["rank_killed"]\n[pace]\nrounds = "many"',
        "faults = 1",
    ],
)
def test_a_suite_that_is_none_is_refused(text: str) -> None:
    """A word that nobody understands would make a limit that nobody keeps."""
    with pytest.raises(UsageError):
        parse_suite("x@1", text)


def test_the_page_names_every_kind() -> None:
    """And says truly which a user's own run may be asked to bear; suites are named with their number of faults."""
    told = {row[0].strip("`"): row[-1] == "yes" for row in rows(section("docs/drill.md", "What is drilled"))}
    assert told == {name: kind.is_safe for name, kind in KINDS.items()}
    suites = [row[0].strip("`").partition("`")[0] for row in rows(section("docs/drill.md", "Suites"))]
    assert suites == suite_names()
    assert f"| all {len(KINDS)}, " in section("docs/drill.md", "Suites")


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    """Refuse with the remedy."""
    with pytest.raises(UsageError, match="there are quick@1, standard@1"):
        read_suite("standard@9")
    with pytest.raises(UsageError, match="no fault is called x; there are rank_killed"):
        of_faults(("x",), read_suite(DEFAULT))


def test_faults_that_are_named_keep_the_limits() -> None:
    """And are no suite: their result is not compared with those of one."""
    suite = of_faults(("rank_hung",), read_suite("standard@1"))
    assert (suite.name, suite.faults, suite.pace) == ("", ("rank_hung",), None)
    assert suite.limits_of("rank_hung").seen_s == 60.0
