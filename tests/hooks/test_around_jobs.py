"""Prolog and epilog: a reading kept, a record written, and what Slurm is answered."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.hooks.around_jobs import epilog, prolog
from supervisor.hooks.health import KNOWN
from supervisor.hooks.host import Strays
from supervisor.hooks.job import Job
from supervisor.hooks.reading import KernelSpan, Marks, Reading
from supervisor.hooks.settings import HookSettings
from supervisor.hooks.spool import Spool, opened
from supervisor.model.node import NodeRecord, StrayProcess
from tests.hooks.facts import JOB, gpu, reading, xid

_SITE = HookSettings()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    tmp_path.chmod(0o755)
    with opened(str(tmp_path / "spool"), keep_bytes=1_000_000, owner=os.geteuid()) as found:
        yield found


def _job(spool: Spool, before: Reading, after: Reading, settings: HookSettings = _SITE) -> NodeRecord:
    """The epilog's record of a job between two readings."""
    prolog(settings, JOB, spool, lambda _: before)
    return epilog(settings, JOB, spool, lambda _: after).record


def test_a_healthy_node_gets_one_record_for_each_job(spool: Spool, tmp_path: Path) -> None:
    """And nothing else is left of the job."""
    record = _job(spool, reading(gpu(0)), reading(gpu(0), strays=Strays()))
    assert (record.level, record.rule, record.job, record.uid, record.drain) == ("ok", "", 7, 20001, "")
    assert not record.is_partial
    assert os.listdir(tmp_path / "spool") == ["node.jsonl"]  # noqa: PTH208 - names are enough
    (line,) = (tmp_path / "spool" / "node.jsonl").read_text().splitlines()
    assert json.loads(line)["hook"] == "epilog"


def test_the_record_tells_what_the_jobs_time_has_changed(spool: Spool) -> None:
    """Counters by GPU, the driver's messages by UUID, processes killed for want of memory."""
    before = reading(gpu(0), gpu(1), marks=Marks(boot_id="b1", kernel_number=10, oom_kills=3))
    after = reading(
        gpu(0, ecc_unc_dram_volatile=2),
        gpu(1),
        signs=(xid(48),),
        marks=Marks(boot_id="b1", kernel_number=20, oom_kills=5),
        strays=Strays(stray=(StrayProcess(pid=9, name="python3", state="S"),), count=1),
    )
    record = _job(spool, before, after)
    assert (record.level, record.rule, record.gpu) == ("fatal", "xid_48", "GPU-0")
    assert record.gpus == {"GPU-0": {"ecc_unc_dram": 2}}
    assert [(each.xid, each.gpu) for each in record.xids] == [(48, "GPU-0")]
    assert record.oom_kills == 2
    assert record.leftovers is not None
    assert record.leftovers.stray_count == 1
    assert [each.rule for each in record.findings] == ["xid_48", "ecc_unc_dram", "stray_process"]


def test_the_kernels_log_is_read_on_from_the_prolog(spool: Spool) -> None:
    """The epilog asks for what came after it."""
    asked: list[Marks] = []

    def look(marks: Marks) -> Reading:
        asked.append(marks)
        return reading(gpu(0))

    prolog(_SITE, JOB, spool, look)
    epilog(_SITE, JOB, spool, look)
    assert [marks.kernel_number for marks in asked] == [-1, 10]


def test_without_a_prolog_nothing_is_compared(spool: Spool) -> None:
    """The hooks were installed, or the node booted, while the job ran: what the counters say now is not the job's."""
    bad = reading(gpu(0, ecc_unc_dram_volatile=9, remap_pending=True))
    alone = epilog(_SITE, JOB, spool, lambda _: bad).record
    rebooted = _job(spool, reading(gpu(0), boot="b0"), bad)
    for record in (alone, rebooted):
        assert record.is_partial
        assert (record.gpus, record.oom_kills) == ({}, None)
        assert [each.rule for each in record.findings] == ["remap_pending"]


def test_a_log_that_was_overwritten_is_told(spool: Spool) -> None:
    """No Xid in it does not mean that there was none."""
    after = reading(gpu(0), kernel=KernelSpan(last=20, is_cut=True))
    assert _job(spool, reading(gpu(0)), after).is_partial


def test_a_gpu_that_is_lost_is_named(spool: Spool) -> None:
    """By the UUID that it had."""
    record = _job(spool, reading(gpu(0), gpu(1)), reading(gpu(0), gpu(1, uuid="", error="lost", error_code=15)))
    assert (record.level, record.rule, record.gpu, record.lost_gpus) == ("fatal", "gpu_lost", "GPU-1", ("GPU-1",))


def test_readings_that_hang_are_findings_and_others_are_only_told(spool: Spool) -> None:
    """A driver that gives no answer makes the node suspect; a file that is missing does not."""
    after = reading(
        unread=("gpus: no answer within 6 s", "/tmp: no answer within 6 s", "kernel log: PermissionError: 13")
    )
    record = _job(spool, reading(gpu(0)), after)
    assert [(each.level, each.rule) for each in record.findings] == [
        ("suspect", "nvml_hangs"),
        ("watch", "reading_hangs"),
    ]
    assert record.lost_gpus == ()
    assert len(record.unread) == 3


def test_a_driver_that_takes_the_reading_along_is_suspect(spool: Spool) -> None:
    """A library that crashes is no node without GPUs."""
    record = _job(spool, reading(gpu(0)), reading(unread=("gpus: died without an answer",)))
    assert [(each.level, each.rule) for each in record.findings] == [("suspect", "nvml_crashed")]


def test_a_rule_that_the_site_ignores_does_not_fire(spool: Spool) -> None:
    """What was read is on record all the same."""
    site = HookSettings(ignore=("ecc_unc_dram",))
    record = _job(spool, reading(gpu(0)), reading(gpu(0, ecc_unc_dram_volatile=2)), site)
    assert (record.level, record.gpus) == ("ok", {"GPU-0": {"ecc_unc_dram": 2}})


@pytest.mark.parametrize(
    ("settings", "code", "drain"),
    [
        (HookSettings(), 0, "suggested"),
        (HookSettings(drain="never"), 0, ""),
        (HookSettings(drain="act"), 0, "suggested"),
        (HookSettings(drain="act", drain_in=("prolog", "epilog")), 1, "the hook fails"),
        (HookSettings(drain="suggest", drain_in=("prolog", "epilog")), 0, "suggested"),
    ],
)
def test_a_hook_fails_only_where_the_site_said_so(spool: Spool, settings: HookSettings, code: int, drain: str) -> None:
    """Slurm drains a node whose prolog or epilog fails."""
    bad = reading(gpu(0, remap_failure=True))
    for act in (prolog, epilog):
        outcome = act(settings, JOB, spool, lambda _: bad)
        assert (outcome.exit_code, outcome.record.drain) == (code, drain)


def test_what_is_suspect_never_fails_a_hook(spool: Spool) -> None:
    """Only what is fatal."""
    site = HookSettings(drain="act", drain_in=("prolog", "epilog"))
    outcome = epilog(site, JOB, spool, lambda _: reading(gpu(0, remap_pending=True)))
    assert (outcome.record.level, outcome.exit_code, outcome.record.drain) == ("suspect", 0, "")


def test_a_prolog_writes_only_what_is_wrong_already(spool: Spool, tmp_path: Path) -> None:
    """A node that lost a GPU since the health check saw it, say."""
    prolog(_SITE, JOB, spool, lambda _: reading(gpu(0)))
    assert not (tmp_path / "spool" / "node.jsonl").exists()
    spool.keep(KNOWN, reading(gpu(0), gpu(1)))
    record = prolog(_SITE, JOB, spool, lambda _: reading(gpu(0))).record
    assert (record.hook, record.level, record.rule) == ("prolog", "fatal", "gpu_missing")
    assert (tmp_path / "spool" / "node.jsonl").exists()


def test_without_a_job_nothing_is_kept(spool: Spool, tmp_path: Path) -> None:
    """Slurm told no id that has the form of one."""
    nobody = Job(node="n1")
    prolog(_SITE, nobody, spool, lambda _: reading(gpu(0)))
    assert list((tmp_path / "spool").iterdir()) == []
    assert epilog(_SITE, nobody, spool, lambda _: reading(gpu(0))).record.is_partial
