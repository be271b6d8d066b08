"""What Slurm's accounting alone tells: verdicts from Comments, and the failures that nobody watched."""

import asyncio
import csv
import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from story.job import Job
from testbed import processes
from testbed.api import Testbed
from testbed.layout import Layout

from supervisor.errors import SlurmFailed, SlurmTimeout
from supervisor.ledger.site.from_sacct import from_sacct
from supervisor.ledger.site.history import SiteHistory
from supervisor.model.verdict import Class
from supervisor.slurm.accounting import read_accounts
from supervisor.slurm.process import Answer, CallCount, run
from tests.e2e.conftest import PREEMPTION
from tests.e2e.user import User

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

_KEPT_S = 60.0
"""slurmctld tells slurmdbd what has ended within seconds."""
_DOWN_S = 90.0
_DAY_S = 86_400.0
_HOSTILE = ("--job-name", "x|y\nz", "--comment", "mine\n1|1|root|hardware/gpu_lost")


@pytest.fixture
def kept() -> Iterator[Testbed]:
    """A testbed that is not up yet."""
    with Testbed(f"kept-{os.getpid()}") as bed:
        yield bed


async def _history(bed: Testbed, *, deadline_s: float = 30.0) -> SiteHistory:
    async def on_login(argv: Sequence[str], *, deadline_s: float, env: Mapping[str, str], count: CallCount) -> Answer:
        asked = bed.run_argv(argv, env={name: env[name] for name in ("TZ", "SLURM_TIME_FORMAT", "LC_ALL")})
        return await run(asked, deadline_s=deadline_s, count=count)

    now = time.time()
    read = read_accounts(now - _DAY_S, now + _DAY_S, all_users=True, deadline_s=deadline_s, runner=on_login)
    return from_sacct(await read)


async def _history_once(bed: Testbed, is_there: Callable[[SiteHistory], bool]) -> SiteHistory:
    until = time.monotonic() + _KEPT_S
    while not is_there(history := await _history(bed)):
        assert time.monotonic() < until, history
        await asyncio.sleep(1)
    return history


def _is_over(history: SiteHistory, watched: Job) -> bool:
    return any(job.job.job == watched.job_id and job.use and job.use.end for job in history.jobs)


def _end(user: User, watched: Job, plain: Job, queued_again: Job) -> None:
    """The one loses a node that it can do without, the next its only one; the last is started again."""
    watched.wait_attempt(1)
    watched.wait_checkpoint()
    victim = next(node for node in reversed(watched.attempt_nodes()) if node != watched.batch_host())
    for node in (victim, *plain.nodes()):
        user.bed.kill_node(node)
    user.bed.run(["scontrol", "requeue", queued_again.job_id])
    plain.wait_state("NODE_FAIL", deadline_s=_DOWN_S)
    watched.wait_ended()
    user.bed.run(["scancel", queued_again.job_id])


async def test_accounting_tells_what_was_watched_and_what_was_not(kept: Testbed) -> None:
    """A node lost under supervision has its verdict; one lost without is unseen, and so is a requeue."""
    user = User.arrives(kept.up(nodes=6, accounting=True), "accounted", Path(sys.executable))
    watched = user.trains(sbatch=["-N2", "--gpus-per-node=8"], options=["--spares", "1"], steps=150)
    watched.wait_state("RUNNING")
    plain = user.plain("-N1", "--no-requeue", "--gpus-per-node=2", "--wrap", "sleep 900")
    queued_again = user.plain("-N1", *_HOSTILE, "--wrap", "sleep 900")
    queued_again.wait_state("RUNNING")
    plain.wait_state("RUNNING")
    lost, held = plain.nodes(), watched.nodes()
    _end(user, watched, plain, queued_again)
    history = await _history_once(kept, lambda found: len(found.unseen) > 1 and _is_over(found, watched))

    (job,) = [job for job in history.jobs if job.job.job == watched.job_id]
    (record,) = watched.run.incidents()
    (incident,) = job.incidents
    assert (incident.cls, incident.cause) == (Class.HARDWARE, "node_unreachable")
    assert list(incident.nodes) == record["verdict"]["blame"]["nodes"]
    assert (incident.action, incident.is_closed) == ("relaunch_on_spare", True)
    assert incident.at == pytest.approx(record["opened_at"], abs=1)
    assert incident.recovery_s == pytest.approx(record["recovery_s"], abs=0.1)
    assert (job.job.cluster, job.job.user, job.job.gpus_per_node) == (kept.name, "alice", 8)
    assert sorted(job.job.nodes) == sorted(held)
    assert job.use is not None
    assert job.use.end == "completed"

    unseen = {str(failure.job): failure for failure in history.unseen}
    assert set(unseen) == {plain.job_id, queued_again.job_id}
    assert unseen[queued_again.job_id].state == "REQUEUED"
    failure = unseen[plain.job_id]
    assert (failure.state, failure.failed, failure.gpus_per_node) == ("NODE_FAIL", tuple(lost), 2)
    assert failure.user == "alice"
    assert {one.job.user for one in history.jobs} == {"alice"}


async def test_a_run_over_two_jobs_is_one_run_with_one_incident(kept: Testbed) -> None:
    """The first job's Comment has the verdict, the second's how the recovery ended."""
    user = User.arrives(kept.up(nodes=4, accounting=True), "accounted", Path(sys.executable))
    job = user.trains(sbatch=["-N2"], steps=100)
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in job.attempt_nodes() if node != job.batch_host())
    kept.kill_node(victim)
    after = user.adopts(job.wait_successor())
    after.wait_ended()
    history = await _history_once(kept, lambda found: _is_over(found, after))
    first, second = history.jobs
    assert (first.job.job, second.job.job) == (job.job_id, after.job_id)
    assert first.job.run == second.job.run
    (incident,) = first.incidents
    assert (incident.nodes, incident.action, incident.is_closed) == ((victim,), "resubmit", True)
    assert incident.recovery_s
    assert not second.incidents
    assert not history.unseen
    assert [one.use.end for one in history.jobs if one.use] == ["handed_on", "completed"]


async def test_a_database_that_hangs_or_is_away_says_so(kept: Testbed) -> None:
    """Within the deadline, with the way that is left."""
    kept.up(nodes=1, accounting=True)
    daemon = processes.recall(Layout(kept.name), "slurmdbd")
    assert daemon is not None
    os.kill(daemon.pid, signal.SIGSTOP)
    with pytest.raises(SlurmTimeout, match="see whether slurmdbd is well"):
        await _history(kept, deadline_s=3.0)
    daemon.kill()
    with pytest.raises(SlurmFailed, match="try again when slurmdbd answers"):
        await _history(kept)


def _told(user: User, *words: str) -> dict[str, Any]:
    """What a command answers that reads accounting."""
    done = user.asks("--json", *words, "--from", "sacct")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["exit"] == 0
    return answer


def _report_once(user: User, states: Mapping[str, int]) -> dict[str, Any]:
    """The report, once accounting has what was to happen."""
    until = time.monotonic() + _KEPT_S
    while (answer := _told(user, "report", "--cluster", user.bed.name))["unseen"] is None or dict(
        answer["unseen"]["states"]
    ) != states:
        assert time.monotonic() < until, answer["unseen"]
        time.sleep(1)
    return answer


def _happen(user: User) -> None:
    """To jobs without supervise: a program's failure, a preemption, a requeue by hand, a node that dies."""
    user.plain("-N1", "-w", "node001", "--wrap", "exit 3").wait_ended()
    preempted = user.plain("-N1", "-w", "node002", "-p", "requeues", "--requeue", "--wrap", "sleep 900")
    again = user.plain("-N1", "-w", "node003", "--requeue", "--wrap", "sleep 900")
    lost = user.plain("-N1", "-w", "node004", "--no-requeue", "--gpus-per-node=2", "--wrap", "sleep 900")
    for job in (preempted, again, lost):
        job.wait_state("RUNNING")
    user.plain("-N1", "-w", "node002", "-p", "urgent", "--exclusive", "--wrap", "true").wait_ended()
    user.bed.run(["scontrol", "requeue", again.job_id])
    user.bed.kill_node("node004")
    lost.wait_state("NODE_FAIL", deadline_s=_DOWN_S)
    user.bed.run(["scancel", preempted.job_id, again.job_id])


def test_the_report_of_a_site_that_never_used_supervise(kept: Testbed) -> None:
    """A dead node and a requeue are its blind spot; a preemption was planned, and a program's failure its owner's."""
    user = User.arrives(kept.up(nodes=4, accounting=True, settings=PREEMPTION), "accounted", Path(sys.executable))
    _happen(user)
    answer = _report_once(user, {"NODE_FAIL": 1, "REQUEUED": 1})
    assert (answer["cluster"], answer["source"], answer["is_ok"]) == (kept.name, "sacct", True)
    assert (answer["interruptions"], answer["jobs"], answer["problems"]) == (0, 0, [])
    assert answer["unseen"]["nodes"] == [["node004", 1]]
    assert answer["unseen"]["cost_at_most"]["gpu_h"] > 0
    (node,) = [each for each in _told(user, "nodes", "--all")["nodes"] if each["node"] == "node004"]
    assert (node["level"], node["unseen"]) == ("ok", 1)

    assert "1 NODE_FAIL, 1 REQUEUED" in user.asks("report", "--from", "sacct").stdout
    page = user.asks("report", "--from", "sacct", "--html").stdout
    assert page.startswith("<!DOCTYPE html>")
    assert "NODE_FAIL" in page
    (head,) = csv.reader(io.StringIO(user.asks("report", "--from", "sacct", "--csv").stdout))
    assert head[0] == "time_utc"


def test_the_report_when_accounting_is_away(kept: Testbed) -> None:
    """No form of it is given, and one sentence says what is left to do."""
    user = User.arrives(kept.up(nodes=1, accounting=True), "accounted", Path(sys.executable))
    daemon = processes.recall(Layout(kept.name), "slurmdbd")
    assert daemon is not None
    daemon.kill()
    for words in (("report",), ("report", "--json"), ("report", "--csv"), ("report", "--html"), ("nodes",)):
        done = user.asks(*words, "--from", "sacct")
        assert (done.returncode, done.stdout) == (1, ""), words
        (line,) = done.stderr.splitlines()
        assert line.startswith("supervise: Slurm's accounting database is away")
        assert line.endswith("try again when slurmdbd answers, or read a ledger instead (settings: ledger)")
