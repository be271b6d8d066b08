"""What the chaos run complains about: each rule with a run that breaks it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from chaos import checks
from chaos.arena import Arena
from chaos.faults import KINDS, Done

_BY_NAME = {kind.name: kind for kind in KINDS}


def _arena(**more: Any) -> Arena:  # fields of Arena that the check looks at
    return cast("Arena", SimpleNamespace(**more))


def _incident(cls: str, cause: str, *, opened_at: float, exclude: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "incident": 1,
        "opened_at": opened_at,
        "verdict": {"cls": cls, "cause": cause, "exclude_nodes": list(exclude)},
    }


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([(1, 1), (2, 1), (2, 2), (3, 2)], ""),
        ([(1, 1), (2, 1), (2, 2), (3, 1), (3, 2)], "two live attempts"),
        ([(100, 1), (1, 2)], "began at step 1"),
        ([(100, 1), (81, 2), (82, 2)], ""),
    ],
)
def test_attempts_follow_each_other(lines: list[tuple[int, int]], told: str) -> None:
    """As the trainers themselves wrote it down."""
    found = list(checks._attempts(_arena(step_lines=lines)))
    assert bool(found) == bool(told)
    assert all(told in complaint for complaint in found)


@pytest.mark.parametrize(
    ("fault", "verdict", "told"),
    [
        ("node dies", _incident("hardware", "node_unreachable", opened_at=11.0, exclude=("n2",)), ""),
        ("node dies", _incident("software", "segfault", opened_at=11.0), "is software/segfault after: node dies"),
        ("node dies", _incident("hardware", "node_unreachable", opened_at=11.0, exclude=("n3",)), "excludes n3"),
        ("rank crashes", _incident("software", "segfault", opened_at=11.0), ""),
        ("supervisor is killed", _incident("unknown", "unattributed", opened_at=11.0), "after: supervisor is killed"),
        ("rank crashes", _incident("software", "segfault", opened_at=5.0), "after: nothing"),
        ("rank crashes", _incident("planned", "walltime", opened_at=5.0), ""),
    ],
)
def test_a_verdict_is_held_against_what_was_done(fault: str, verdict: dict[str, Any], told: str) -> None:
    """An interruption without a cause of ours is one that we made ourselves."""
    arena = _arena(run=SimpleNamespace(incidents=lambda: [verdict]), suspects={"n2"})
    found = list(checks._verdicts(arena, [Done(10.0, _BY_NAME[fault])]))
    assert bool(found) == bool(told)
    assert all(told in complaint for complaint in found)


@pytest.mark.parametrize(("opened", "told"), [([12.0], []), ([], ["node dies"]), ([70.0], ["node dies"])])
def test_what_must_interrupt_is_noticed(opened: list[float], told: list[str]) -> None:
    """A node that dies and is in no record was never seen; what only disturbs need not be."""
    arena = _arena(run=SimpleNamespace(incidents=lambda: [{"opened_at": at} for at in opened]))
    done = [Done(9.0, _BY_NAME["broker is killed"]), Done(10.0, _BY_NAME["node dies"])]
    assert list(checks._unnoticed(arena, done)) == [f"nobody noticed: {name}" for name in told]


def test_another_result_is_told() -> None:
    """Bit by bit the same as undisturbed, or it is wrong."""
    from pathlib import Path

    assert list(checks._result(_arena(folder=Path("/nowhere")), "abc"))
