"""Waiting, and reading a run folder from outside."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from story.run_folder import RunFolder, tail
from story.waiting import Late, wait_for


def test_the_first_true_answer_ends_the_wait() -> None:
    """Nothing, an empty list and zero are not yet an answer."""
    answers: Iterator[object] = iter([None, [], 0, "there"])
    assert wait_for(lambda: next(answers), "it", 30, poll_s=0) == "there"


def test_a_wait_that_is_too_long_says_for_what() -> None:
    """With its deadline."""
    with pytest.raises(Late, match="the node comes back: not within 0 s"):
        wait_for(lambda: None, "the node comes back", 0)


def test_what_is_missing_or_torn_is_empty(tmp_path: Path) -> None:
    """A file may be looked at while it is written."""
    run = RunFolder(tmp_path)
    assert (run.status, run.events(), run.incidents(), run.attempts, run.jobs()) == ({}, [], [], 0, [])
    (tmp_path / "events.jsonl").write_text('{"type":"attempt_started","attempt":2}\n{"type":"tick"}\n{"type":"att')
    (tmp_path / "status.json").write_text('{"st')
    assert run.attempts == 2
    assert [event["type"] for event in run.events()] == ["attempt_started", "tick"]
    assert run.status == {}


def test_a_tail_is_the_last_lines() -> None:
    """No more than asked for."""
    assert tail("a\nb\nc\n", 2) == "b\nc"
