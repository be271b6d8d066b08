"""What Slurm says about jobs that could never start, and what is asked for instead."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.model.ids import NodeName
from supervisor.slurm.process import Answer, CallCount
from supervisor.slurm.startable import asking, first_startable, is_startable, question
from supervisor.slurm.successor import Affordable, Successor, lesser

DATA = Path(__file__).parents[1] / "data" / "slurm"
RELEASES = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())
ARGV = ("env", "-u", "LC_ALL", "sbatch", "-N2", "--exclude=n1", "--parsable", "/w/r/submitted/t.sh", "--lr", "0.1")


def _recorded(release: str, case: str) -> Answer:
    lines = (DATA / release / "test_only.txt").read_text(encoding="utf-8").splitlines()
    code, _, command, text = next(line.split("|") for line in lines if line.split("|")[1] == case)
    return Answer(argv=tuple(command.split()), code=int(code), stdout="", stderr=text, took_s=0.1)


def _wish(**changes: object) -> Successor:
    facts: dict[str, object] = {"argv": ARGV, "environment": {}, "cwd": "/"}
    return Successor(**{**facts, **changes})  # type: ignore[arg-type]  # fields by name


def _room(kept: str, *, spares: int = 0) -> Affordable:
    return Affordable(kept=tuple(map(NodeName, kept.split())), dropped=(NodeName("n9"),), spares=spares)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("idle", True),
        ("busy", True),
        ("reservation", True),
        ("excluded", False),
        ("busy-excluded", False),
        ("reservation-excluded", False),
        ("gpus", False),
        ("memory", False),
        ("drained", False),
        ("feature", None),
        ("unknown-node", None),
        ("partition", None),
    ],
)
def test_slurms_own_words_are_understood(release: str, case: str, expected: bool | None) -> None:  # noqa: FBT001
    """Busy nodes are no refusal; a refusal that has nothing to do with nodes says nothing about exclusions."""
    assert is_startable(_recorded(release, case)) is expected


def test_an_answer_that_says_nothing_is_none() -> None:
    """Nor does a success without the words that tell when the job would start."""
    assert is_startable(Answer(argv=("sbatch",), code=0, stdout="17", stderr="", took_s=0.1)) is None


def test_the_question_is_the_request_without_its_script() -> None:
    """All options as they will be sent; the script comes on stdin, so that no file has to be written for it."""
    assert question(_wish()) == ["env", "-u", "LC_ALL", "sbatch", "--test-only", "-N2", "--exclude=n1", "--parsable"]


def test_a_request_with_an_unknown_option_is_not_asked() -> None:
    """Where the script begins is then not certain."""
    assert question(_wish(argv=("env", "sbatch", "--of-a-plugin", "x", "/w/t.sh"))) is None


def test_spares_are_given_up_first_then_the_least_suspected_node() -> None:
    """The worst node stands first and stays longest."""
    asked = [(room.spares, " ".join(room.kept)) for room in lesser(_room("n1 n2", spares=2))]
    assert asked == [(2, "n1 n2"), (1, "n1 n2"), (0, "n1 n2"), (0, "n1"), (0, "")]
    assert lesser(_room("n1 n2"))[-1].dropped == ("n1", "n2", "n9")


@given(st.integers(0, 40), st.integers(0, 40))
async def test_the_first_that_starts_is_found_with_few_questions(beyond: int, startable: int) -> None:
    """Whatever the number of exclusions; where none at all does not help either, all are kept."""
    wishes = [_wish(spares=at) for at in range(beyond + 1)]
    asked: list[int] = []

    async def ask(wish: Successor) -> bool:
        asked.append(wish.spares)
        return wish.spares >= startable

    assert await first_startable(wishes, ask) == (startable if startable <= beyond else 0)
    assert len(asked) <= 8
    assert beyond or not asked


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({0: True}, 0),
        ({0: None}, 0),
        ({0: False, 4: False}, 0),
        ({0: False, 4: None}, 0),
        ({0: False, 4: True, 2: None}, 4),
        ({0: False, 4: True, 2: True, 1: False}, 2),
    ],
)
async def test_what_slurm_does_not_tell_leaves_it_as_it_was(answers: Mapping[int, bool | None], expected: int) -> None:
    """Without an answer the count of nodes has the last word; what is known to start is taken before a guess."""

    async def ask(wish: Successor) -> bool | None:
        return answers[wish.spares]

    assert await first_startable([_wish(spares=at) for at in range(5)], ask) == expected


async def test_sbatch_gets_the_script_that_will_be_sent(tmp_path: Path) -> None:
    """With the lines that must not hold again taken out; the call is counted."""
    fake = tmp_path / "sbatch"
    fake.write_text(f'#!/bin/sh\ncat >{tmp_path}/stdin\necho "$@" >{tmp_path}/argv\necho " to start at 1" >&2\n')
    fake.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    count = CallCount()
    ask = asking(b"as it lies there", deadline_s=60, count=count)
    assert await ask(_wish(environment=env, files={"submitted/t.sh": b"masked"})) is True
    assert (tmp_path / "stdin").read_text() == "masked"
    assert (tmp_path / "argv").read_text().split()[0] == "--test-only"
    assert await ask(_wish(environment=env)) is True
    assert (tmp_path / "stdin").read_text() == "as it lies there"
    assert count.total == 2


@pytest.mark.parametrize("text", ["exec sleep 60", "exit 3"])
async def test_an_sbatch_without_an_answer_tells_nothing(tmp_path: Path, text: str) -> None:
    """It hangs beyond the deadline, or fails in another way."""
    fake = tmp_path / "sbatch"
    fake.write_text(f"#!/bin/sh\n{text}\n")
    fake.chmod(0o755)
    ask = asking(b"", deadline_s=1)
    assert await ask(_wish(environment={"PATH": f"{tmp_path}:/usr/bin:/bin"})) is None


async def test_nothing_is_asked_once_the_time_is_over(tmp_path: Path) -> None:
    """All questions share one deadline."""
    count = CallCount()
    assert await asking(b"", deadline_s=0, count=count)(_wish(cwd=str(tmp_path))) is None
    assert count.total == 0
