"""The history of a site from Slurm's accounting alone: verdicts from Comments, and what `supervise` never saw. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.ledger.site.history import JobHistory, SiteHistory, UnseenFailure
from supervisor.ledger.site.starts import Start, starts_of
from supervisor.model.accounts import AccountedJob, Accounts
from supervisor.model.ids import JobId, NodeName
from supervisor.model.job_comment import Mark, Said, parse_comment
from supervisor.model.site import LONGEST_PART_S, End, SiteGpu, SiteIncident, SiteJob, SiteSplit, SiteUse

_FAILED: Final = frozenset({"NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "REQUEUED"})
"""What a job that is queued again ends with may be another word: then its next start tells."""
_PLANNED: Final = frozenset({"PREEMPTED"})
"""Another job was to have the nodes: no failure, though Slurm starts the job again."""
_TOLD_S: Final = 600.0
"""Between an interruption and the end that it brought about: what stops takes its time."""
_RELAUNCHES: Final = frozenset({"relaunch", "relaunch_on_spare", "relaunch_smaller"})
_LAST: Final = frozenset({"stop", "resubmit", "requeue"})
"""After these the job ends."""
_GOES_ON: Final = re.compile(r"\bjob (?P<job>\d[\d_+]*) goes on with the run")
_REQUEUED: Final = "Slurm starts this job again"
_ENDS: Final[dict[str, End]] = {
    "RUNNING": "",
    "SUSPENDED": "",
    "COMPLETED": "completed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit",
    "REQUEUED": "handed_on",
    "PREEMPTED": "handed_on",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """One job: its starts in time, and what the Comment of each says."""

    starts: tuple[Start, ...]
    said: tuple[Said | None, ...]

    @property
    def first(self) -> AccountedJob:
        return self.starts[0].first

    @property
    def nodes(self) -> frozenset[NodeName]:
        return frozenset(node for start in self.starts for node in start.nodes)


def from_sacct(accounts: Accounts) -> SiteHistory:
    """What accounting tells. A job is of `supervise` where a Comment says so, its own or that of its successor.

    A Comment is its job's owner's: it is believed about nodes that the job had, and about the owner's own jobs.
    """
    known = [_known(starts) for starts in starts_of(accounts.jobs)]
    problems = list(accounts.problems)
    runs = _runs(known)
    told = _told(known, runs, problems)
    jobs = [_history(job, runs[job], tuple(found[at] for at in sorted(found))) for job, found in told.items()]
    unseen = [failure for job in known for failure in _unseen(job, told.get(job, {}).values())]
    return SiteHistory(
        jobs=tuple(sorted(jobs, key=lambda job: job.job.at)),
        unseen=tuple(sorted(unseen, key=lambda failure: failure.at)),
        problems=tuple(dict.fromkeys(problems)),
    )


def _known(starts: Sequence[Start]) -> _Known:
    return _Known(tuple(starts), tuple(parse_comment(start.comment) for start in starts))


def _runs(known: Iterable[_Known]) -> dict[_Known, str]:
    """The run of each job: of its predecessor where one says who goes on, else its own."""
    runs: dict[_Known, str] = {}
    handed: dict[tuple[str, str, str], str] = {}
    for job in known:
        owner = (job.first.cluster, job.first.user)
        runs[job] = handed.pop((*owner, job.first.job), f"job-{job.first.job}")
        last = job.said[-1]
        if last is not None and (match := _GOES_ON.search(last.words)):
            handed[*owner, match["job"]] = runs[job]
    return runs


def _told(
    known: Sequence[_Known], runs: Mapping[_Known, str], problems: list[str]
) -> dict[_Known, dict[int, SiteIncident]]:
    """The jobs of `supervise` with their incidents; of two words about one the later job's counts."""
    told: dict[_Known, dict[int, SiteIncident]] = {}
    by_name: dict[tuple[str, str, JobId], _Known] = {}
    for job in known:
        name = job.first.job
        by_name[job.first.cluster, job.first.user, name] = job
        for said in filter(None, job.said):
            told.setdefault(job, {})
            if said.left_out:
                problems.append(f"job {name}: {said.left_out} of its interruptions had no room in its Comment")
            for mark in said.marks:
                about = by_name.get((job.first.cluster, job.first.user, mark.job or name), job)
                told.setdefault(about, {})[mark.incident] = _incident(mark, about, runs[about], problems)
    return told


def _incident(mark: Mark, job: _Known, run: str, problems: list[str]) -> SiteIncident:
    name = job.first.job
    strangers = {*mark.nodes, *(gpu.node for gpu in mark.gpus)} - job.nodes
    if strangers:
        problems.append(
            f"job {name}: its Comment blames {', '.join(sorted(strangers))}, which it did not have: ignored"
        )
    begin, end = job.first.started_at, job.starts[-1].until
    at = min(max(mark.at, begin), end)
    return SiteIncident(
        at=at,
        evidence_at=max(begin, at - mark.detect_s),
        job=name,
        run=run,
        incident=mark.incident,
        cls=mark.cls,
        cause=mark.cause,
        confidence=mark.confidence,
        nodes=tuple(node for node in mark.nodes if node in job.nodes),
        gpus=tuple(SiteGpu(node=gpu.node, gpu=gpu.gpu) for gpu in mark.gpus if gpu.node in job.nodes),
        action=mark.action,
        isolation="gpu" if mark.gpus else "node" if mark.nodes else "job",
        node_count=len(job.starts[0].nodes),
        split=SiteSplit(detect=min(mark.detect_s, LONGEST_PART_S)),
        recovery_s=mark.recovery_s,
        lost_node_s=min(mark.lost_node_s, _held(job)),
        is_closed=mark.is_closed,
    )


def _history(job: _Known, run: str, incidents: tuple[SiteIncident, ...]) -> JobHistory:
    first = job.first
    return JobHistory(
        job=SiteJob(
            at=first.started_at,
            cluster=first.cluster,
            job=first.job,
            run=run,
            user=first.user,
            partition=first.partition,
            nodes=job.starts[0].nodes,
            gpus_per_node=job.starts[0].gpus_per_node,
            time_limit_s=first.time_limit_s,
        ),
        incidents=incidents,
        use=_use(job, run, incidents),
        owner=first.user,
        source="sacct",
    )


def _use(job: _Known, run: str, incidents: Iterable[SiteIncident]) -> SiteUse:
    """What was held is measured. Computing is at most what no interruption has cost: spares are counted with it."""
    incidents = tuple(incidents)
    held = _held(job)
    return SiteUse(
        at=job.starts[-1].until,
        job=job.first.job,
        run=run,
        held_node_s=held,
        computing_node_s=max(0.0, held - sum(incident.lost_node_s for incident in incidents)),
        # One that was cancelled while it waited to start again has a row as well, with no time in it.
        restarts=sum(incident.action in _RELAUNCHES for incident in incidents)
        + sum(start.held_s > 0 for start in job.starts[1:]),
        end=_end(job),
    )


def _held(job: _Known) -> float:
    return sum(start.held_node_s for start in job.starts)


def _end(job: _Known) -> End:
    last = job.said[-1]
    if last is not None and (_GOES_ON.search(last.words) or _REQUEUED in last.words):
        return "handed_on"
    if last is not None and last.marks and last.marks[-1].action == "stop" and job.starts[-1].state == "FAILED":
        return "stopped"
    return _ENDS.get(job.starts[-1].state, "failed")


def _unseen(job: _Known, incidents: Collection[SiteIncident]) -> Iterable[UnseenFailure]:
    """Each start that ended by a fault of the machine, or after which Slurm started the job again, untold by anybody.

    A supervised job may end so, too: with its batch host dies who would have told.
    """
    for number, (start, said) in enumerate(zip(job.starts, job.said, strict=True), start=1):
        is_failure = start.state in _FAILED or (number < len(job.starts) and start.state not in _PLANNED)
        if is_failure and not _is_told(start, said, incidents):
            yield UnseenFailure(
                at=start.until,
                cluster=job.first.cluster,
                job=job.first.job,
                state=start.state,
                user=job.first.user,
                partition=start.first.partition,
                nodes=start.nodes,
                failed=_failed(start),
                gpus_per_node=start.gpus_per_node,
                held_s=start.held_s,
            )


def _is_told(start: Start, said: Said | None, incidents: Iterable[SiteIncident]) -> bool:
    """Somebody has spoken of this very end; a word about what was overcome hours before is none."""
    if said is not None and (_GOES_ON.search(said.words) or _REQUEUED in said.words):
        return True
    begin, end = start.first.started_at, start.until
    return any(
        begin <= one.at <= end and (not one.is_closed or one.action in _LAST or one.at >= end - _TOLD_S)
        for one in incidents
    )


def _failed(start: Start) -> tuple[NodeName, ...]:
    """Older releases name nobody: then only a job's single node is known to be the one."""
    if start.state != "NODE_FAIL":
        return ()
    named = tuple(node for row in start.rows for node in row.failed)
    return named or (start.nodes if len(start.nodes) == 1 else ())
