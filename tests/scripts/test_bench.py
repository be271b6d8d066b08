"""What the benchmarks make of what they measured."""

import json
import random
from typing import Literal

import pytest
from bench.cli import chosen, needs_cluster, needs_root
from bench.floor import JobPair, floor_ratio, interval
from bench.measure import Measure, header, paired_difference, paired_ratio, without
from bench.ranks import launched_at
from bench.recover import recovery
from bench.steps import Windows, is_enough, measure, windows_of
from bench.traces import opened


@pytest.mark.parametrize(
    ("value", "way", "is_met"), [(2.0, "<=", True), (2.1, "<=", False), (2.0, ">=", True), (1.9, ">=", False)]
)
def test_a_bar_is_met_on_its_own_side_and_on_itself(
    value: float,
    way: Literal["<=", ">="],
    is_met: bool,  # noqa: FBT001
) -> None:
    """At most means at most, at least means at least."""
    assert Measure(measure="m", value=value, unit="s", limit=2, way=way).ok is is_met


def test_a_program_reads_value_bar_and_what_stands_beside() -> None:
    """One object on one line, with these names and no others."""
    line = Measure(measure="m", value=1 / 3, unit="s", limit=0.4, beside={"plain, s": 2 / 3, "how": "cited"}).as_json()
    assert "\n" not in line
    assert json.loads(line) == {
        "measure": "m",
        "value": 0.3333,
        "unit": "s",
        "bar": "<= 0.4",
        "ok": True,
        "beside": {"plain, s": 0.6667, "how": "cited"},
    }


def test_a_measure_without_a_bar_is_neither_met_nor_missed() -> None:
    """It explains another one."""
    shown = json.loads(Measure(measure="m", value=1, unit="s").as_json())
    assert (shown["bar"], shown["ok"]) == (None, None)


def test_a_missed_bar_stands_out_in_the_table() -> None:
    """In the column below the header's, and a met one says so, too."""
    over, met = (Measure(measure="m", value=value, unit="s", limit=2).as_row() for value in (3, 1))
    assert over.index("OVER") == met.index("ok")
    assert over.index("<= 2") == header().index("bar")


def test_what_slows_both_down_cancels_out() -> None:
    """The second is 1 s longer each time, or twice as long, however slow the machine was just then."""
    assert paired_difference([(1, 2), (50, 51), (3, 4)]) == 1
    assert paired_ratio([(1, 2), (50, 100), (3, 6)]) == 2
    assert without([(1, 2), (50, 100), (3, 6)]) == 3


def test_a_group_stands_for_its_measures_and_nothing_is_measured_twice() -> None:
    """In the order in which they are made."""
    assert chosen(["start", "sbatch"]) == ["command", "sbatch", "ranks", "agent", "steps"]
    assert chosen(["recover", "beat"]) == ["beat", "recover"]


def test_without_names_all_is_measured() -> None:
    """What stands alone first: it is over soon."""
    assert chosen([]) == [
        "beat",
        "command",
        "diagnose",
        "hook",
        "report",
        "sbatch",
        "ranks",
        "agent",
        "steps",
        "recover",
        "takeover",
    ]


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    """A mistyped name ends the program before anything is installed."""
    with pytest.raises(SystemExit, match=r"no measure 'stat'; there are start, beat"):
        chosen(["stat"])


def test_only_what_takes_place_on_slurm_needs_root() -> None:
    """The two others work for everybody."""
    assert not needs_cluster(["beat", "command"])
    assert needs_cluster(["beat", "steps"])
    assert not needs_cluster(["hook"])
    assert needs_root(["hook"])
    assert not needs_root(["beat", "command", "diagnose"])


def test_the_launch_of_a_job_is_found_to_the_millisecond() -> None:
    """In the log of the slurmd that ran it, and not that of a job whose id begins alike."""
    log = (
        "[2026-01-02T03:04:05.250] Launching batch job 12 for UID 20001\n"
        "[2026-01-02T03:04:06.750] Launching batch job 1 for UID 20001\n"
    )
    first, second = launched_at(log, "12"), launched_at(log, "1")
    assert first is not None
    assert second is not None
    assert second - first == 1.5
    assert launched_at(log, "2") is None


def test_a_recovery_is_counted_from_the_fault_and_from_the_verdict() -> None:
    """The record knows the verdict; only who broke it knows when it broke."""
    record = {"opened_at": 103.0, "recovery_s": 1.5, "split": {"collect": None}}
    found = recovery(record, fault_at=100.0, ranks_at=106.0)
    assert (found.seen, found.collect, found.verdict_to_ranks, found.fault_to_ranks) == (3, 0, 1.5, 6)


TRACES = {
    10: (
        'openat(AT_FDCWD, "/slurm/spool", O_RDONLY) = 5\n'
        'execve("/opt/python", ["/opt/python", "-I", "/x/agent/boot.py", "tar"], 0x7 /* 9 vars */) = -1 ENOENT\n'
        'execve("/usr/bin/python", ["/usr/bin/python", "-I", "/x/agent/boot.py", "tar"], 0x7 /* 9 vars */) = 0\n'
        'openat(AT_FDCWD, "/home/config", O_RDONLY|O_CLOEXEC) = 3\n'
        'open("/home/missing", O_RDONLY) = -1 ENOENT (No such file or directory)\n'
        "clone3({flags=CLONE_VM|CLONE_THREAD, child_tid=0x7}, 88) = 11\n"
    ),
    11: 'openat(AT_FDCWD, "/home/by-thread", O_RDONLY) = 4\nvfork() = 12\n',
    12: 'openat(AT_FDCWD, "/home/by-child", O_RDONLY) = 4\n',
    13: 'execve("/usr/bin/python", ["python", "train.py"], 0x7) = 0\nopen("/home/of-a-rank", O_RDONLY) = 3\n',
    14: 'execve("/bin/srun", ["srun", "python", "/x/agent/boot.pyc"], 0x7) = 0\nopen("/home/of-srun", O_RDONLY) = 3\n',
}


def test_opens_of_a_program_are_its_own_and_its_childrens_since_it_began() -> None:
    """Not those before it became the program, nor other programs'; tried ones count, they cost the server the same."""
    assert opened(TRACES, "/agent/boot.py") == ["/home/config", "/home/missing", "/home/by-thread", "/home/by-child"]


def _jobs(number: int, *, added: float, disturbed: float) -> list[JobPair]:
    """Pairs of six windows of 60 ms; others disturb nearly all of them, by up to `disturbed` of their cost."""
    chance = random.Random(number)  # noqa: S311  # no secret

    def windows(cost: float) -> list[float]:
        return [cost * (1 + chance.choice([0.0, 0.3, 1.0]) * disturbed * chance.random()) for _ in range(6)]

    return [(windows(0.06), windows(0.06 * (1 + added))) for _ in range(number)]


def test_a_tenth_of_a_percent_is_seen_beside_other_processes() -> None:
    """What others add to most windows is fifty times as much; the lower end tells the difference all the same."""
    for added in (0.0, 0.001, 0.004):
        pairs = _jobs(20, added=added, disturbed=0.05)
        low, high = interval(pairs)
        assert floor_ratio(pairs) - 1 == pytest.approx(added, abs=0.0005)
        assert low - 1 <= added + 0.0005
        assert high - 1 >= added - 0.0005
        assert high - low < 0.002


def test_pairs_are_measured_until_they_can_tell() -> None:
    """At least twelve, and no more than forty however much the machine is disturbed."""
    calm, wild = _jobs(40, added=0.0, disturbed=0.001), [([1.0 + one], [1.5 - one]) for one in range(40)]
    assert [is_enough(calm[:number]) for number in (0, 11, 12)] == [False, False, True]
    assert [is_enough(wild[:number]) for number in (12, 39, 40)] == [False, False, True]


def test_the_step_measure_tells_how_far_it_can_be_trusted() -> None:
    """Value, interval, number of pairs, and how long the ranks waited for a core beside it."""
    plain: Windows = [(0.06, 0.0006)] * 6
    ours: Windows = [(0.06006, 0.0012)] * 6
    shown = json.loads(measure([(plain, ours)] * 12).as_json())
    assert (shown["value"], shown["ok"]) == (0.1, True)
    assert shown["beside"] == {
        "95% interval, %": "+0.10 to +0.10",
        "pairs of jobs": 12,
        "step without, ms": 60.0,
        "waiting for a core without / with, %": "1.00 / 2.00",
    }


def test_a_rank_that_told_no_times_is_no_measure() -> None:
    """Its job's last words are the message; what supervise prints beside the times is left out."""
    assert windows_of('supervise: attempt 1\n{"windows": [[0.06, 0.001]]}\n') == [(0.06, 0.001)]
    with pytest.raises(OSError, match="no such file"):
        windows_of("sh: no such file\n")
