"""The health check over several runs."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from supervisor.hooks.health import DRAINED, KNOWN, health
from supervisor.hooks.job import Job
from supervisor.hooks.reading import Marks, Reading
from supervisor.hooks.settings import HookSettings
from supervisor.hooks.spool import Spool, opened
from supervisor.model.node import FullPlace, NodeFinding, NodeRecord
from tests.hooks.facts import NOW, gpu, reading, xid

_NODE = Job(node="n1")
_SITE = HookSettings()
_ACT = HookSettings(drain="act")


class Checks:
    """A node whose health is checked again and again."""

    def __init__(self, spool: Spool, place: Path) -> None:
        self.spool = spool
        self.place = place
        self.at = NOW
        self.asked: list[NodeFinding] = []
        self.answer = DRAINED

    def run(self, make: Callable[[float], Reading], settings: HookSettings = _SITE, later_s: float = 60) -> NodeRecord:
        """One check, so much later."""
        self.at += later_s
        return health(settings, _NODE, self.spool, lambda _: make(self.at), self._drain)

    def _drain(self, found: NodeFinding) -> str:
        self.asked.append(found)
        return self.answer

    @property
    def written(self) -> list[str]:
        """Levels of the records."""
        path = self.place / "node.jsonl"
        return [json.loads(line)["level"] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def checks(tmp_path: Path) -> Iterator[Checks]:
    tmp_path.chmod(0o755)
    with opened(str(tmp_path / "spool"), keep_bytes=1_000_000, owner=os.geteuid()) as spool:
        yield Checks(spool, tmp_path / "spool")


def _well(at: float) -> Reading:
    return reading(gpu(0), gpu(1), at=at)


def _bad(at: float) -> Reading:
    return reading(gpu(0, remap_failure=True), gpu(1), at=at)


def test_a_finding_counts_when_it_is_seen_again(checks: Checks) -> None:
    """Once is watched."""
    assert [checks.run(_bad).level for _ in range(3)] == ["watch", "fatal", "fatal"]


def test_one_that_comes_and_goes_never_counts(checks: Checks) -> None:
    """A reading that went wrong must not take a node out."""
    assert [checks.run(make).level for make in (_bad, _well, _bad, _well)] == ["watch", "ok", "watch", "ok"]


def test_an_xid_comes_once_and_counts_for_a_while(checks: Checks) -> None:
    """The next run confirms it; after an hour it is over."""
    checks.run(lambda at: reading(gpu(0), at=at, signs=(xid(79),)))
    assert checks.run(_well).level == "fatal"
    assert checks.run(_well, later_s=3600).level == "ok"


def test_a_process_killed_for_want_of_memory_is_its_jobs_affair(checks: Checks) -> None:
    """The epilog tells of it."""
    sign = xid(0)
    oom = type(sign)(rule="oom_kill", level="watch")
    assert checks.run(lambda at: reading(gpu(0), at=at, signs=(oom,))).level == "ok"


def test_after_a_boot_nothing_is_more_than_watched(checks: Checks) -> None:
    """Drivers and fabric are still coming up."""

    def booting(at: float) -> Reading:
        import msgspec  # for this one field

        return msgspec.structs.replace(_bad(at), uptime_s=100.0)

    assert [checks.run(booting, _ACT).level for _ in range(3)] == ["watch"] * 3
    assert checks.asked == []
    assert checks.run(_bad, _ACT).level == "fatal"


def test_only_what_changes_is_written_and_once_a_day_the_rest(checks: Checks) -> None:
    """A check each minute must not fill the file."""
    for make in (_well, _well, _bad, _bad, _bad, _well):
        checks.run(make)
    assert checks.written == ["ok", "watch", "fatal", "ok"]
    checks.run(_well, later_s=86_500)
    assert checks.written[-2:] == ["ok", "ok"]


def test_what_was_there_is_expected(checks: Checks) -> None:
    """A GPU that is gone stays missed, over a reboot as well, until it is back."""
    checks.run(_well)
    lost = [checks.run(lambda at: reading(gpu(0), at=at)) for _ in range(3)]
    assert [record.level for record in lost] == ["watch", "fatal", "fatal"]
    assert {each.rule for each in lost[-1].findings} == {"gpu_missing", "gpu_lost"}
    assert checks.run(lambda at: reading(gpu(0), at=at, boot="b2")).rule == "gpu_missing"
    checks.run(_well)
    assert checks.run(_well).level == "ok"


def test_another_gpu_in_its_place_after_a_reboot_is_as_good(checks: Checks) -> None:
    """It was replaced."""
    checks.run(_well)
    assert [checks.run(lambda at: reading(gpu(0), gpu(5), at=at, boot="b2")).level for _ in range(3)] == ["ok"] * 3


def test_a_driver_that_hangs_does_not_forget_what_should_be_there(checks: Checks) -> None:
    """No reading is not "no GPUs"."""
    checks.run(_well)
    hangs = [checks.run(lambda at: reading(at=at, unread=("gpus: no answer within 6 s",))) for _ in range(2)]
    assert (hangs[-1].level, hangs[-1].rule) == ("suspect", "nvml_hangs")
    known = checks.spool.load(KNOWN, Reading)
    assert known is not None
    assert known.gpus is not None
    assert known.gpus.device_count == 2


def test_a_log_that_could_not_be_read_is_read_on_where_it_was(checks: Checks) -> None:
    """No message is lost between two runs."""
    asked: list[int] = []

    def run(last: int) -> None:
        def look(marks: Marks) -> Reading:
            asked.append(marks.kernel_number)
            return reading(gpu(0), marks=Marks(boot_id="b1" if last >= 0 else "", kernel_number=last))

        health(HookSettings(), _NODE, checks.spool, look, lambda _: "")

    for last in (10, -1, 30, 31):
        run(last)
    assert asked == [-1, 10, 10, 30]


def test_where_the_log_is_closed_counters_are_compared_all_the_same(checks: Checks) -> None:
    """A node in a container, say."""
    closed = Marks(boot_id="b1", kernel_number=-1)
    checks.run(lambda at: reading(gpu(0), at=at, marks=closed))
    found = checks.run(lambda at: reading(gpu(0, ecc_unc_dram_volatile=1), at=at, marks=closed))
    assert [each.rule for each in found.findings] == ["ecc_unc_dram"]


def test_a_full_place_is_seen_without_gpus(checks: Checks) -> None:
    """On any node."""
    full = (FullPlace(path="/dev/shm", used_share=0.99, owner_uid=5, owner_mb=3),)
    records = [checks.run(lambda at: reading(at=at, places=full)) for _ in range(2)]
    assert [record.level for record in records] == ["watch", "suspect"]
    assert records[-1].rule == "shm_full"


@pytest.mark.parametrize(
    ("settings", "drain"),
    [
        (HookSettings(), "suggested"),
        (HookSettings(drain="never"), ""),
        (HookSettings(drain="act", drain_in=("epilog",)), "suggested"),
    ],
)
def test_nothing_is_drained_unless_the_site_said_so(checks: Checks, settings: HookSettings, drain: str) -> None:
    """A suggestion stands in the record."""
    records = [checks.run(_bad, settings) for _ in range(2)]
    assert [record.drain for record in records] == ["", drain]
    assert checks.asked == []


def test_a_fatal_node_is_drained_once(checks: Checks) -> None:
    """Who takes it back into service has decided so."""
    records = [checks.run(_bad, _ACT) for _ in range(5)]
    assert [record.drain for record in records] == ["", DRAINED, DRAINED, DRAINED, DRAINED]
    assert [each.rule for each in checks.asked] == ["remap_failure"]


def test_after_it_was_well_it_is_drained_anew(checks: Checks) -> None:
    """It is another fault then."""
    for make in (_bad, _bad, _well, _bad, _bad):
        checks.run(make, _ACT)
    assert len(checks.asked) == 2


def test_a_refused_drain_is_asked_for_again_after_a_while(checks: Checks) -> None:
    """Not each minute: Slurm's controller has other things to do."""
    checks.answer = "not drained: cap"
    for _ in range(6):
        checks.run(_bad, _ACT)
    assert len(checks.asked) == 1
    checks.run(_bad, _ACT, later_s=600)
    assert len(checks.asked) == 2


def test_what_is_suspect_is_never_drained(checks: Checks) -> None:
    """However often it is seen."""
    for _ in range(5):
        checks.run(lambda at: reading(gpu(0, remap_pending=True), at=at), _ACT)
    assert checks.asked == []
