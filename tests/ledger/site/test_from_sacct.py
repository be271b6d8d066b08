"""A site's history from Slurm's accounting alone."""

from pathlib import Path

import msgspec

from supervisor.ledger.site.from_sacct import from_sacct
from supervisor.ledger.site.history import JobHistory, SiteHistory
from supervisor.ledger.site.starts import starts_of
from supervisor.model.accounts import AccountedJob, Accounts
from supervisor.model.ids import JobId, NodeName
from supervisor.model.verdict import Class
from supervisor.slurm.parse_accounting import fields_of, parse_accounting

_RECORDED = Path(__file__).parents[2] / "data" / "slurm" / "22.05" / "sacct.txt"
_ROW = AccountedJob(
    job=JobId("7"),
    raw_id=JobId("7"),
    cluster="c",
    user="alice",
    partition="main",
    state="COMPLETED",
    nodes=(NodeName("n1"), NodeName("n2")),
    gpus=16,
    submitted_at=90.0,
    started_at=100.0,
    ended_at=200.0,
    elapsed_s=100.0,
)
_LOST = (
    "supervise: completed, 1 interruption [1 hardware/gpu_lost nodes=n2 at=150 seen=2.5 did=relaunch lost=30 sure=0.9]"
)


def _row(**changes: object) -> AccountedJob:
    return msgspec.structs.replace(_ROW, **changes)


def _history(*rows: AccountedJob) -> SiteHistory:
    return from_sacct(Accounts(jobs=rows))


def _jobs(history: SiteHistory) -> dict[str, JobHistory]:
    return {job.job.job: job for job in history.jobs}


def test_the_history_of_a_real_cluster() -> None:
    """A node lost under supervision is an incident; lost without, or before a word was said, it is unseen."""
    history = from_sacct(parse_accounting(_RECORDED.read_text(encoding="utf-8"), "|5eba7a7e|", fields_of("")))
    jobs = _jobs(history)
    assert set(jobs) == {"1", "2", "6"}
    (incident,) = jobs["1"].incidents
    assert (incident.cls, incident.cause, incident.nodes) == (Class.HARDWARE, "node_unreachable", ("node002",))
    assert (incident.action, incident.recovery_s, incident.lost_node_s) == ("relaunch_on_spare", 0.7, 7.0)
    assert incident.split.detect == 0.1
    assert (incident.node_count, incident.at, incident.evidence_at) == (3, 1796117155.0, 1796117154.9)
    assert jobs["1"].job.nodes == ("node001", "node002", "node003")
    assert jobs["1"].job.gpus_per_node == 8
    use = jobs["1"].use
    assert use is not None
    assert (use.held_node_s, use.computing_node_s, use.restarts, use.end) == (59.0, 52.0, 1, "completed")
    assert [(failure.job, failure.state, failure.failed, failure.held_s) for failure in history.unseen] == [
        ("4", "REQUEUED", (), 14.0),
        ("2", "NODE_FAIL", ("node005",), 41.0),
        ("3", "NODE_FAIL", ("node004",), 41.0),
    ]


def test_a_forged_comment_blames_no_node_that_the_job_did_not_have() -> None:
    """Nor does it happen at another time, or cost more than the job had."""
    history = from_sacct(parse_accounting(_RECORDED.read_text(encoding="utf-8"), "|5eba7a7e|", fields_of("")))
    (incident,) = _jobs(history)["6"].incidents
    assert (incident.nodes, incident.at, incident.lost_node_s) == ((), 1796117299.0, 0.0)
    assert history.problems == ("job 6: its Comment blames gpu999, which it did not have: ignored",)


def test_a_job_without_a_word_of_supervise_is_none_of_its_jobs() -> None:
    """A plain job that ends well, or by its own fault, is nobody's failure here."""
    history = _history(_row(), _row(job="8", raw_id="8", state="FAILED", exit_code=1))
    assert history == SiteHistory()


def test_memory_and_boot_failures_of_unsupervised_jobs_are_unseen() -> None:
    """With all that accounting says of them; of several nodes it does not say which failed."""
    states = ["OUT_OF_MEMORY", "BOOT_FAIL", "NODE_FAIL", "TIMEOUT", "CANCELLED", "PREEMPTED"]
    rows = [_row(job=str(at), raw_id=str(at), state=state) for at, state in enumerate(states)]
    history = _history(*rows)
    assert [failure.state for failure in history.unseen] == states[:3]
    failure = history.unseen[2]
    assert (failure.at, failure.cluster, failure.user, failure.partition) == (200.0, "c", "alice", "main")
    assert (failure.nodes, failure.failed, failure.gpus_per_node, failure.held_s) == (("n1", "n2"), (), 8, 100.0)


def test_the_node_that_slurm_names_has_failed() -> None:
    """Newer releases say which of several it was; of another end they say nothing."""
    named = (NodeName("n2"),)
    history = _history(_row(state="NODE_FAIL", failed=named), _row(job="8", raw_id="8", state="REQUEUED", failed=named))
    assert [failure.failed for failure in history.unseen] == [("n2",), ()]


def test_a_job_that_waits_after_a_requeue_was_requeued() -> None:
    """Its next start may never come; one that was cancelled while it waited is no restart."""
    assert [failure.state for failure in _history(_row(state="REQUEUED")).unseen] == ["REQUEUED"]
    first = _row(state="PREEMPTED", comment="supervise: preempted")
    never = _row(state="CANCELLED", submitted_at=200.0, started_at=320.0, ended_at=320.0, elapsed_s=0.0)
    again = _row(submitted_at=200.0, started_at=320.0, ended_at=400.0, elapsed_s=80.0)
    restarts = [
        job.use.restarts for rows in ((first, never), (first, again)) for job in _history(*rows).jobs if job.use
    ]
    assert restarts == [0, 1]


def test_what_supervise_has_told_is_not_unseen() -> None:
    """A Comment of that start, or a successor's word about it, is enough."""
    told = _row(state="NODE_FAIL", comment=_LOST)
    assert not _history(told).unseen
    of_another = _LOST.replace("nodes=n2", "of=7 nodes=n2")
    silent = _row(state="NODE_FAIL")
    successor = _row(job="8", raw_id="8", started_at=300.0, ended_at=400.0, comment=of_another)
    history = _history(silent, successor)
    assert not history.unseen
    assert [len(_jobs(history)[job].incidents) for job in ("7", "8")] == [1, 0]


def test_a_node_that_is_lost_hours_after_a_comment_is_seen() -> None:
    """What was overcome long before says nothing of this end; what was open then, or just told, does."""
    lost = {"state": "NODE_FAIL", "ended_at": 36_100.0, "elapsed_s": 36_000.0}
    told = "supervise: attempt 2 [1 hardware/gpu_lost nodes=n2 at={at} did=relaunch back=9{open}]"
    ends = {
        told.format(at=150, open=""): ["NODE_FAIL"],
        told.format(at=150, open=" open=1"): [],
        told.format(at=35_800, open=""): [],
        "supervise: attempt 1": ["NODE_FAIL"],
        "supervise: job 8 goes on with the run": [],
        "supervise: Slurm starts this job again": [],
        "supervise: stopped [1 hardware/gpu_lost nodes=n2 at=150 did=stop]": [],
    }
    for comment, states in ends.items():
        history = _history(_row(comment=comment, **lost))
        assert [failure.state for failure in history.unseen] == states, comment


def test_a_job_that_had_to_make_room_has_not_failed() -> None:
    """Slurm starts it again, and took its nodes by plan."""
    again = _row(submitted_at=200.0, started_at=320.0, ended_at=400.0)
    assert not _history(_row(state="PREEMPTED"), again).unseen
    assert [failure.state for failure in _history(_row(state="CANCELLED"), again).unseen] == ["CANCELLED"]


def test_jobs_of_the_same_number_are_of_one_run_on_no_two_clusters() -> None:
    """Nor of two users: a successor goes on with the run of his own job, on its own cluster."""
    words = "supervise: job 8 goes on with the run [1 hardware/gpu_lost nodes=n2 at=150 did=resubmit]"
    rows = [
        _row(cluster=cluster, user=user, job=job, raw_id=job, comment=words if job == "7" else "supervise: completed")
        for cluster, user in (("c", "alice"), ("d", "alice"), ("c", "bob"))
        for job in ("7", "8")
    ]
    runs = [(job.job.cluster, job.owner, job.job.run) for job in _history(*rows).jobs]
    assert len(runs) == 6
    assert len({*runs}) == 3


def test_of_two_words_about_one_incident_the_later_jobs_counts() -> None:
    """Whoever goes on with the run knows how long the recovery took."""
    handed_on = "supervise: job 8 goes on with the run [1 hardware/gpu_lost nodes=n2 at=150 did=resubmit open=1]"
    recovered = "supervise: completed, 1 interruption [1 hardware/gpu_lost of=7 nodes=n2 at=150 did=resubmit back=60.0]"
    history = _history(
        _row(state="FAILED", comment=handed_on),
        _row(job="8", raw_id="8", started_at=300.0, ended_at=400.0, comment=recovered),
    )
    (incident,) = _jobs(history)["7"].incidents
    assert (incident.job, incident.recovery_s, incident.is_closed) == ("7", 60.0, True)
    ends = [job.use.end for job in history.jobs if job.use]
    assert ends == ["handed_on", "completed"]
    assert {job.job.run for job in history.jobs} == {incident.run} == {"job-7"}


def test_a_run_is_followed_through_its_jobs_of_one_user() -> None:
    """Each says who goes on; a stranger's job that is named so stays its own run."""
    onward = "supervise: job {} goes on with the run without n2"
    chain = [
        _row(comment=onward.format(8)),
        _row(job="8", raw_id="8", started_at=300.0, comment=onward.format(9)),
        _row(job="9", raw_id="9", started_at=500.0, comment="supervise: completed, no interruptions"),
        _row(job="10", raw_id="10", started_at=500.0, comment=onward.format(11)),
        _row(job="11", raw_id="11", user="bob", started_at=700.0, comment="supervise: completed, no interruptions"),
    ]
    runs = {name: job.job.run for name, job in _jobs(_history(*chain)).items()}
    assert runs == {"7": "job-7", "8": "job-7", "9": "job-7", "10": "job-10", "11": "job-11"}


def test_nobody_speaks_about_a_job_of_another_user() -> None:
    """The mark stays with the job that tells it."""
    mine = _row(job="8", raw_id="8", user="mallory", started_at=300.0, ended_at=400.0)
    history = _history(_row(), msgspec.structs.replace(mine, comment=_LOST.replace("nodes=n2", "of=7 nodes=n2")))
    assert set(_jobs(history)) == {"8"}
    assert len(_jobs(history)["8"].incidents) == 1


def test_a_number_that_comes_round_is_another_job() -> None:
    """Slurm's numbers begin anew where its state is lost: no requeue, though number and user are the same."""
    later = _row(submitted_at=90_000.0, started_at=90_100.0, ended_at=90_200.0)
    assert len(starts_of([_row(), later])) == 2
    assert not _history(_row(), later).unseen
    again = _row(submitted_at=200.0, started_at=320.0, ended_at=400.0)
    assert [len(starts) for starts in starts_of([again, _row(state="FAILED")])] == [2]
    assert [failure.state for failure in _history(_row(state="FAILED"), again).unseen] == ["FAILED"]


def test_a_job_that_runs_is_as_old_as_the_answer() -> None:
    """Its end is open, its use is what it had so far."""
    words = "supervise: attempt 2 [1 data/shard_corrupt at=140 did=relaunch open=1]"
    (job,) = _history(_row(state="RUNNING", ended_at=None, elapsed_s=60.0, comment=words)).jobs
    assert job.use is not None
    assert (job.use.at, job.use.held_node_s, job.use.end) == (160.0, 120.0, "")
    assert (job.source, job.owner, job.is_trusted) == ("sacct", "alice", True)
    assert not job.incidents[0].is_closed


def test_a_stop_for_a_person_and_the_limits_are_told_apart() -> None:
    """As far as Slurm's word and the last action tell."""
    stopped = "supervise: software/type_error [1 software/type_error at=150 did=stop]"
    ends = {
        "stopped": _row(state="FAILED", comment=stopped),
        "time_limit": _row(state="TIMEOUT", comment="supervise: over"),
        "cancelled": _row(state="CANCELLED", comment="supervise: over"),
        "failed": _row(state="OUT_OF_MEMORY", comment="supervise: over"),
    }
    for end, row in ends.items():
        (job,) = _history(row).jobs
        assert job.use is not None
        assert job.use.end == end


def test_interruptions_without_room_are_counted() -> None:
    """Nobody takes three for all there were."""
    words = "supervise: completed, 9 interruptions [8 earlier; 9 hardware/gpu_lost nodes=n1 at=150 did=relaunch]"
    history = _history(_row(comment=words))
    assert history.problems == ("job 7: 8 of its interruptions had no room in its Comment",)


def test_what_could_not_be_read_is_passed_on() -> None:
    """The report says what it does not know."""
    assert from_sacct(Accounts(problems=("cut",))).problems == ("cut",)
