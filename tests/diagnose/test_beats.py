"""Ranks' last signs of life as evidence."""

from typing import Any

import pytest

from supervisor.diagnose.bundle import Bundle, Facts, Log
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.evidence.beats import BUSY, FIRST, GONE, LATE, find
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Class, Verdict

_TIMEOUT = (
    "[rank{rank}]:[E ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600009 milliseconds"
)


def _rank(rank: int, **changes: Any) -> dict[str, Any]:
    usual = {"rank": rank, "pid": 10 + rank, "step": 25, "phase": "step", "count": 26, "age_s": 9.0, "is_alive": True}
    return {**usual, **changes}


def _beats(*ranks: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Two ranks on each node."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    for one in ranks:
        nodes.setdefault(f"node00{one['rank'] // 2 + 1}", []).append(one)
    return tuple({"type": "beats", "node": node, "at": 1.0, "attempt": 1, "ranks": on} for node, on in nodes.items())


def _named(*ranks: dict[str, Any]) -> list[tuple[str, int | None]]:
    return [(one.signature, one.rank) for one in find(_beats(*ranks))]


def _verdict(*ranks: dict[str, Any], lines: tuple[str, ...] = (), facts: Facts | None = None) -> Verdict:
    logs = (Log(name="job.log", lines=lines),) if lines else ()
    return diagnose(Bundle(logs=logs, facts=facts or Facts(), beats=_beats(*ranks)))


def test_a_rank_whose_process_is_gone() -> None:
    """It did not say that it ends, and the others live: it is named, the one that has stood still longest first."""
    ranks = (_rank(0), _rank(1, is_alive=False, age_s=11.0), _rank(2), _rank(3, is_alive=False, age_s=12.0))
    assert _named(*ranks) == [(GONE, 3), (GONE, 1)]


def test_a_rank_that_has_ended_is_not_gone() -> None:
    """Its interpreter came to its end."""
    assert _named(_rank(0), _rank(1), _rank(2, is_alive=False, has_ended=True)) == []


def test_all_gone_together_names_nobody() -> None:
    """Somebody ended them all: who was first shows only if it stood still well before."""
    assert _named(*(_rank(rank, is_alive=False, age_s=9.0 + rank / 10) for rank in range(4))) == []
    assert _named(_rank(0, is_alive=False), _rank(1, is_alive=False), _rank(2, is_alive=False, age_s=15.0)) == [
        (FIRST, 2)
    ]


def test_a_late_rank() -> None:
    """All stand still, one at a lower step: the others wait for it."""
    assert _named(_rank(0), _rank(1), _rank(2, step=24)) == [(LATE, 2)]


def test_ranks_on_their_way_are_not_late() -> None:
    """A pipeline's ranks differ by a step while they work; half of the ranks are late for nobody."""
    assert _named(_rank(0, age_s=0.4), _rank(1), _rank(2, step=24)) == []
    assert _named(_rank(0, step=24), _rank(1, step=24), _rank(2)) == []


@pytest.mark.parametrize(("phase", "mark"), [("checkpoint", "saving"), ("eval", "evaluating"), ("data", "loading")])
def test_a_rank_that_does_something_else(phase: str, mark: str) -> None:
    """In a phase of its own while the others wait in a step: the rules know it as what its log would say."""
    (found,) = find(_beats(_rank(0, phase=phase), _rank(1), _rank(2)))
    assert (found.signature, found.rank, found.marks) == (BUSY, 0, (mark,))


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"ranks": None},
        {"node": 3, "ranks": [None, 7, {}, {"rank": "x", "step": 1, "age_s": 1}]},
        {"ranks": [{"rank": True, "step": 1, "age_s": 1.0}, {"rank": -1, "step": 1, "age_s": 1.0}, {"rank": 1}]},
        {"ranks": {"0": 1}},
    ],
)
def test_wrong_shapes_are_left_out(told: dict[str, Any]) -> None:
    """Whatever stands in the file."""
    assert list(find([told])) == []


def test_a_vanished_rank_is_blamed() -> None:
    """Nothing tells how it ended: no cause, but the rank, its node, and a fingerprint of its own."""
    verdict = _verdict(_rank(0), _rank(1), _rank(2, is_alive=False), _rank(3))
    assert (verdict.cls, verdict.cause, verdict.fingerprint) == (Class.UNKNOWN, "unattributed", "unattributed|gone")
    assert (verdict.blame.ranks, verdict.blame.nodes, verdict.exclude_nodes) == ((2,), ("node002",), ())
    assert "the process of rank 2 on node002 is gone" in verdict.summary


def test_a_cause_that_names_no_rank_is_the_vanished_ranks() -> None:
    """The script's exit code says segmentation fault, the beats say whose."""
    verdict = _verdict(_rank(0), _rank(1), _rank(2, is_alive=False), _rank(3), facts=Facts(exit_code=139))
    assert (verdict.cause, verdict.blame.ranks, verdict.blame.nodes) == ("segfault", (2,), ("node002",))


def test_a_vanished_rank_costs_no_node() -> None:
    """A cause for which a node has to leave is not pinned on a node by a missing process alone."""
    lines = ("gpu_burn: uncorrectable ECC error encountered",)
    verdict = _verdict(_rank(0), _rank(2, is_alive=False), _rank(3), lines=lines)
    assert verdict.exclude_nodes == ()


def test_what_a_task_says_of_itself_counts_more() -> None:
    """What srun says of a task that failed: no beat displaces that."""
    lines = ("srun: error: node001: task 1: Exited with exit code 7",)
    verdict = _verdict(_rank(0), _rank(1), _rank(2, is_alive=False), lines=lines)
    assert (verdict.blame.ranks, verdict.fingerprint) == ((1,), "unattributed|exit 7")


def test_a_timeout_blames_who_is_late() -> None:
    """The watchdogs' lines name only those who waited; the beats name whom they waited for."""
    lines = tuple(_TIMEOUT.format(rank=rank) for rank in (0, 1, 3))
    verdict = _verdict(_rank(0), _rank(1), _rank(2, step=24), _rank(3), lines=lines)
    assert (verdict.cause, verdict.blame.ranks[:1]) == ("nccl_timeout_unattributed", (2,))


def test_a_first_rank_that_works_alone_explains_a_timeout() -> None:
    """Rank 0 evaluates while the others wait: also where no line of its log says so."""
    lines = tuple(_TIMEOUT.format(rank=rank) for rank in (1, 2, 3))
    verdict = _verdict(_rank(0, phase="eval"), _rank(1), _rank(2), _rank(3), lines=lines)
    assert (verdict.cause, verdict.blame.ranks[:1]) == ("rank0_long_work_timeout", (0,))


def test_a_deadlock_blames_who_stopped_first() -> None:
    """A watchdog of the site ended the job because it did not move, and names nobody."""
    lines = ("watchdog: no progress for 1800 s, killing the job",)
    without = _verdict(lines=lines)
    verdict = _verdict(_rank(0), _rank(1), _rank(2, step=24), _rank(3), lines=lines)
    assert (without.cause, without.blame.ranks) == ("deadlock", ())
    assert (verdict.cause, verdict.blame.ranks) == ("deadlock", (2,))
    assert verdict.confidence > without.confidence


def test_a_time_limit_for_ranks_that_had_hung() -> None:
    """They live and have not moved for an hour: the limit is not the cause."""
    facts = Facts(job_state="TIMEOUT")
    assert _verdict(_rank(0), _rank(1), facts=facts).cause == "walltime"
    assert _verdict(_rank(0, age_s=4000.0), _rank(1, age_s=4000.0), facts=facts).cause == "deadlock"


def test_a_lost_nodes_ranks_blame_nobody_else() -> None:
    """They are late because their node is lost: it alone is the cause."""
    ranks = (_rank(0), _rank(1), _rank(2, step=24), _rank(3, step=24))
    verdict = _verdict(*ranks, facts=Facts(lost_nodes=(NodeName("node002"),)))
    assert (verdict.cause, verdict.blame.nodes, verdict.exclude_nodes) == (
        "node_unreachable",
        ("node002",),
        ("node002",),
    )


@pytest.mark.parametrize("name", ["age_s", "step"])
def test_numbers_beyond_all_measure(name: str) -> None:
    """A number that no float holds is no sign of life, and no crash."""
    beat = {"rank": 0, "step": 1, "phase": "step", "age_s": 9.0, name: 10**400}
    assert list(find([{"node": "n1", "ranks": [beat]}])) == []


def test_a_hang_blames_the_rank_that_is_stopped() -> None:
    """The supervisor saw that nobody moves; all stand at the same step, and one process cannot run."""
    verdict = _verdict(_rank(0), _rank(1), _rank(2, state="T"), _rank(3, state="S"), facts=Facts(hung_s=9.0))
    assert (verdict.cls, verdict.cause, verdict.retry) == (Class.SOFTWARE, "deadlock", "yes")
    assert (verdict.blame.ranks, verdict.blame.nodes, verdict.exclude_nodes) == ((2,), ("node002",), ())
    assert verdict.summary == "all ranks live and none has moved for 9 s: rank 2 on node002 is stopped (SIGSTOP)"


def test_a_hang_blames_who_is_late() -> None:
    """Nobody is stopped, one has not come as far; how long it took makes no other failure of it."""
    ranks = (_rank(0), _rank(1), _rank(2, step=24), _rank(3))
    verdict = _verdict(*ranks, facts=Facts(hung_s=9.0))
    assert (verdict.cause, verdict.blame.ranks) == ("deadlock", (2,))
    assert verdict.fingerprint == _verdict(*ranks, facts=Facts(hung_s=19.0)).fingerprint


def test_a_hang_of_all_alike_blames_nobody() -> None:
    """All wait at the same step, or all processes are stuck in the same way."""
    for state in ("S", "D", "T"):
        verdict = _verdict(*(_rank(rank, state=state) for rank in range(4)), facts=Facts(hung_s=9.0))
        assert (verdict.cause, verdict.blame.ranks) == ("deadlock", ())
