"""This job's file in the site's ledger, followed through a run; whatever the ledger does, the run does not notice."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from supervisor.core.carried import Carried
from supervisor.core.instructions import KeepRecord
from supervisor.core.state import State
from supervisor.daemon.hands import site as module
from supervisor.ledger.site.names import month_of
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId
from supervisor.model.verdict import Class
from supervisor.settings import Settings
from tests.core import harness
from tests.core.facts import node, nodes
from tests.daemon.site_job import ENV, NODES, SiteRun


def _count(lines: list[bytes], kind: str) -> int:
    return sum(f'"kind":"{kind}"'.encode() in line for line in lines)


async def test_a_job_begins_its_file_when_it_begins(job: SiteRun) -> None:
    """What Slurm's environment says of the allocation, and no name of the run."""
    await job.supervise()
    job.core.start()
    found = await job.read()
    assert (found.job.cluster, found.job.partition, found.job.gpus_per_node) == ("c1", "gpu", 8)
    assert (found.job.nodes, found.job.time_limit_s, found.job.at) == (nodes(1, 2, 3, 4), 3600.0, 1000.0)
    assert found.use
    assert (found.use.held_node_s, found.use.end) == (0.0, "")
    assert not any(b"llama" in line for line in job.lines())


async def test_interruptions_are_written_as_their_records_are(job: SiteRun) -> None:
    """From the opening to the close; the last line is the record."""
    await job.supervise()
    job.core.start().progress(10)
    job.core.at += 60
    job.core.exit(1).settle()
    job.core.ranks().progress(12)
    (found,) = (await job.read()).incidents
    (record,) = job.core.records
    assert (found.incident, found.cause, found.is_closed) == (1, record.verdict.cause, True)
    assert found.lost_node_s == round(record.lost_node_seconds, 3)
    assert _count(job.lines(), "incident") == len(job.core.given(KeepRecord))


async def test_a_planned_stop_is_written_too(job: SiteRun) -> None:
    """It is no interruption, and its class says so."""
    await job.supervise()
    job.core.start()
    job.core.slurm = JobFacts(job_id=JobId("17"), state="CANCELLED")
    job.core.term().exit(None, signal=15, ranks_fail=False).run(30)
    found = await job.read()
    assert [each.cls for each in found.incidents] == [Class.PLANNED]
    assert found.use
    assert found.use.end == "cancelled"


async def test_the_end_has_the_last_word_on_the_use(job: SiteRun) -> None:
    """Held from the first to the last second; computing between steps."""
    await job.supervise()
    job.core.start().progress(1)
    began = job.core.at
    job.core.at += 100
    job.core.progress(50)
    job.core.exit(0).settle()
    found = await job.read()
    assert found.use
    assert found.use.end == "completed"
    assert found.use.held_node_s == pytest.approx(NODES * (job.core.at - 1000.0), abs=0.01)
    assert found.use.computing_node_s == pytest.approx(NODES * 100, abs=0.01)
    assert found.use.step == 50
    assert began > 1000.0


async def test_every_hour_the_use_is_told(job: SiteRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a job whose end nobody writes is known to within an hour."""
    monkeypatch.setattr(module, "_REMEMBER_S", 0.01)
    hand = await job.supervise()
    assert hand
    job.core.start()
    running = asyncio.create_task(hand.run())
    await asyncio.sleep(0.1)
    assert await hand._writer.flushed(30)
    assert _count(job.lines(), "use") == 1
    job.clock = 3601.0
    await asyncio.sleep(0.2)
    use = (await job.read()).use
    assert use
    assert use.held_node_s > NODES * 3600
    assert _count(job.lines(), "use") == 2
    job.core.exit(0).settle()
    job.clock = 9000.0
    await asyncio.sleep(0.2)
    running.cancel()
    assert await hand._writer.flushed(30)
    assert _count(job.lines(), "use") == 3


@pytest.mark.parametrize("restarts", [0, 2])
async def test_a_supervisor_that_takes_over_goes_on_in_the_same_file(job: SiteRun, restarts: int) -> None:
    """The job is not begun again, and what was used before is not forgotten; also of one that Slurm started again."""
    job.restarts = restarts
    hand = await job.supervise()
    assert hand
    job.core.start().progress(1)
    job.core.at += 100
    job.core.progress(50)
    hand._remember()
    assert await hand._writer.flushed(30)
    assert await job.writer.flushed(30)
    await hand.close()
    await job.supervise(is_takeover=True)
    job.core.restart().settle()
    job.core.at += 50
    job.core.exit(0).settle()
    found = await job.read()
    assert _count(job.lines(), "job") == 1
    assert found.use
    assert found.use.computing_node_s == pytest.approx(NODES * 100, abs=0.01)
    assert found.use.held_node_s == pytest.approx(NODES * (job.core.at - 1000.0), abs=0.01)


async def test_restarts_are_those_of_this_job(job: SiteRun) -> None:
    """The run's count goes on over all its jobs."""
    job.core.carried = Carried(attempts=6, incidents=5, restarts=5)
    await job.supervise()
    job.core.start().progress(1).exit(1).settle()
    job.core.ranks().progress(2).exit(0).settle()
    found = await job.read()
    assert found.use
    assert found.use.restarts == 1


@pytest.mark.parametrize("kept", [b"", b"{", b'{"job_id":"16","restarts":0,"usage":{"held_since":1.0}}'])
async def test_a_takeover_without_a_count_begins_one(job: SiteRun, kept: bytes) -> None:
    """Of another job, torn or missing: held time follows from the job's beginning."""
    job.core.start()
    (job.tmp_path / "run" / "usage.json").write_bytes(kept)
    await job.supervise(is_takeover=True)
    job.core.exit(0).settle()
    found = await job.read()
    assert found.use
    assert found.use.held_node_s == pytest.approx(NODES * (job.core.at - 1000.0), abs=0.01)


@pytest.mark.parametrize(
    ("changes", "env"),
    [
        ({"ledger": ""}, ENV),
        ({"ledger_without": "cpu, gpu"}, ENV),
    ],
)
async def test_where_no_ledger_is_kept_there_is_no_hand(
    job: SiteRun, changes: dict[str, str], env: dict[str, str]
) -> None:
    """Nor a thread, nor a file."""
    job.settings = Settings(**{"ledger": str(job.tmp_path / "ledger"), **changes})  # type: ignore[arg-type]  # texts all
    assert await job.supervise(env=env) is None
    job.core.start().exit(1).settle()
    assert not list((job.tmp_path / "ledger").iterdir())
    assert not (job.tmp_path / "run" / "usage.json").exists()


@pytest.mark.parametrize(
    ("without", "partition", "is_kept"),
    [("", "", True), (" , ", "", True), ("cpu", "gpu", True), ("cpu", "", False), ("cpu,gpu", "gpu", False)],
)
async def test_partitions_are_left_out_by_name(job: SiteRun, without: str, partition: str, *, is_kept: bool) -> None:
    """A job whose partition nobody knows may be of one that is left out."""
    job.settings = Settings(ledger=str(job.tmp_path / "ledger"), ledger_without=without)
    assert (await job.supervise(env={"SLURM_JOB_PARTITION": partition}) is not None) is is_kept


@pytest.mark.parametrize("number", ["", "x", "²", "-1", "8(S:0-1)"])
async def test_gpus_that_are_no_number_are_none(job: SiteRun, number: str) -> None:
    """Slurm's word may be anything."""
    await job.supervise(env={**ENV, "SLURM_GPUS_ON_NODE": number})
    job.core.start()
    assert (await job.read()).job.gpus_per_node == 0


async def test_a_record_that_comes_before_the_beginning_waits_for_it(job: SiteRun) -> None:
    """The job's very first event may open an incident: the file still begins with the job."""
    other = harness.World().start().exit(1).settle()
    hand = await job.supervise()
    assert hand
    hand.incident(other.records[0])
    job.core.start()
    found = await job.read()
    assert len(found.incidents) == 1
    assert b'"kind":"job"' in job.lines()[0]


async def test_a_ledger_below_the_submissions_folder(job: SiteRun) -> None:
    """A path that is not absolute is meant from where sbatch was called, as for SUPERVISE_HOME."""
    job.settings = Settings(ledger="ledger", ledger_users="none")
    await job.supervise()
    job.core.start()
    assert (await job.read()).job.job == "17"


async def test_the_file_lies_in_the_month_of_the_jobs_beginning(job: SiteRun) -> None:
    """Where the folder is there, and belongs to the ledger's owner."""
    (job.tmp_path / "ledger/c1" / month_of(1000.0)).mkdir(parents=True)
    await job.supervise()
    job.core.start()
    await job.read()
    assert list((job.tmp_path / "ledger/c1/1970-01").iterdir())


def _at_its_limit(core: harness.World) -> None:
    core.at += 86_400.0
    core.slurm = JobFacts(job_id=JobId("17"), state="TIMEOUT")
    core.sbatch = ["refused"] * 20
    core.term().exit(None, signal=15, ranks_fail=False)


@pytest.mark.parametrize(
    ("story", "end"),
    [
        (lambda core: core.exit(0), "completed"),
        (lambda core: core.exit(2), "stopped"),
        (lambda core: core.kill(node(2)), "handed_on"),
        (_at_its_limit, "time_limit"),
    ],
)
async def test_ends_have_their_words(job: SiteRun, story: Callable[[harness.World], Any], end: str) -> None:
    """As docs/ledger.md lists them."""
    job.core.settings = Settings(max_restarts=1 if end == "handed_on" else 0)
    await job.supervise()
    job.core.start()
    story(job.core)
    job.core.run(120)
    found = await job.read()
    assert found.use
    assert found.use.end == end


def test_a_job_that_runs_has_no_end() -> None:
    """Nor has one that has not begun."""
    assert module._end_of(State()) == ""
