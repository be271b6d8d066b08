"""The report: the first line is the conclusion."""

from itertools import pairwise

from supervisor.drill.pace import WARM_UP
from supervisor.drill.record import Paces
from supervisor.drill.report import conclusion, figures, lines, report
from supervisor.drill.suite import of_faults, read_suite
from tests.drill.made import drill, seen, undisturbed

STANDARD = read_suite("standard@1")
TWO = of_faults(("rank_killed", "agent_killed"), STANDARD)


def test_all_handled_is_ok() -> None:
    """With the medians, and nothing that blocks."""
    found = report(drill(seen(), undisturbed()), TWO)
    told = "OK: 2 of 2 faults handled as they should be, noticed in 1.2 s and at the furthest step again in 3.9 s"
    assert conclusion(found) == f"{told} (medians)."
    assert found.blockers == []
    assert found.is_ok


def test_one_that_was_not_handled_blocks_by_name() -> None:
    """The first line says how many, the next what and why."""
    text = lines(report(drill(seen(record=None), undisturbed()), TWO))
    assert text[0] == "NOT OK: 1 of 2 faults handled as they should be."
    assert text[1] == "  blocks: rank_killed: nobody noticed"
    assert any(line.startswith("rank_killed !") for line in text)


def test_each_fault_has_its_row() -> None:
    """When it was noticed, what it was taken for, who was blamed, how fine, how long, where the time went."""
    text = "\n".join(lines(report(drill(seen(), undisturbed()), TWO)))
    row, split = next(pair for pair in pairwise(text.splitlines()) if pair[0].startswith("rank_killed"))
    assert row.endswith("1.2 s    unknown/unattributed  rank 3 on node002  rank       3.9 s  17")
    assert split == "    detect 1.0 s, collect 0.3 s, stop 0.4 s, launch 0.5 s, init 0.6 s, catch up 0.9 s"
    assert "agent_killed  -        no interruption" in text
    assert "Not drilled: a node that loses its power" in text
    assert "Kept: /w/.supervise/drill-1" in text


def test_what_was_not_reached_is_not_good() -> None:
    """A drill that was broken off is neither OK nor a fault of those it did not come to."""
    found = report(drill(seen(), problem="job 7 has not begun (Priority)"), TWO)
    assert conclusion(found).startswith("UNKNOWN: 1 of 2 faults")
    assert found.blockers == ["job 7 has not begun (Priority)"]
    assert not found.is_ok
    assert "  not reached: agent_killed" in lines(found)
    nothing = report(drill(problem="sbatch: error"), TWO)
    assert conclusion(nothing) == "UNKNOWN: nothing was drilled: sbatch: error."


def test_the_pace_is_told_and_can_block() -> None:
    """In milliseconds, with ratio and interval."""
    plain, ours = ((step,) * (WARM_UP + 5) for step in (0.010, 0.013))
    suite = of_faults(("rank_killed",), STANDARD)
    record = drill(seen(), paces=Paces(plain=(plain,) * 3, ours=(ours,) * 3))
    assert report(record, suite).pace is None
    paced = report(record, STANDARD)
    text = "\n".join(lines(paced))
    assert "Step time: 13.0 ms with us, 10.0 ms without, ratio 1.300 (95%: 1.300 to 1.300), 3 rounds" in text
    assert any("a step takes at least 1.300 times as long" in blocker for blocker in paced.blockers)


def test_scripts_get_the_same_numbers() -> None:
    """And the injection itself, with its moment."""
    told = figures(report(drill(seen(), undisturbed()), TWO))
    first, second = told["faults"]
    assert (first["fault"], first["is_handled"], first["class"], first["isolation"]) == (
        "rank_killed",
        True,
        "unknown",
        "rank",
    )
    assert first["split"]["stop"] == 0.4
    assert first["injected"]["pid"] == 4711
    assert second["incident"] is None
    assert told["handled"] == 2
