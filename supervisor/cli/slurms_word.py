"""Slurm's word on runs that wait for a job: only Slurm knows whether that job will ever begin."""

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from supervisor.errors import NoSlurm, PayloadRefused, SlurmFailed
from supervisor.model.facts import JobFacts
from supervisor.report.unbegun import SlurmsWord
from supervisor.report.view import RunView

_LIST_DEADLINE_S: Final = 3.0
"""For the question about all runs of a list."""


def with_slurms_word(view: RunView) -> RunView:
    """The run with what Slurm says of the job that it waits for; as it is where it waits for none, or Slurm is mute."""
    if not _is_asked(view):
        return view
    import asyncio  # here, as `why` of a run that has begun must answer without waiting for these

    from supervisor.slurm.client import Slurm

    job, deadline_s = view.expected_job, view.run.settings.slurm_deadline_s
    try:
        return replace(view, slurm=_word(view, asyncio.run(Slurm().remembered(job, deadline_s=deadline_s))))
    except (SlurmFailed, NoSlurm, PayloadRefused):
        return view


def with_slurms_words(views: Iterable[RunView]) -> list[RunView]:
    """The same for all runs of a list, by one question for all of them."""
    found = list(views)
    jobs = [view.expected_job for view in found if _is_mine(view)]
    if not jobs:
        return found
    import asyncio  # see above

    from supervisor.slurm.client import Slurm

    try:
        known = asyncio.run(Slurm().my_remembered(jobs, deadline_s=_LIST_DEADLINE_S))
    except (SlurmFailed, NoSlurm):
        return found
    return [
        replace(view, slurm=_word(view, known.get(view.expected_job))) if _is_mine(view) else view for view in found
    ]


def _word(view: RunView, facts: JobFacts | None) -> SlurmsWord:
    if facts is None:
        return SlurmsWord(job_id=view.expected_job)
    has_started = bool(facts.nodes)
    # `supervise run` begins long after its job.
    since = max(facts.start_time, view.run.created_at) if has_started and facts.start_time is not None else None
    return SlurmsWord(
        job_id=view.expected_job,
        state=facts.state,
        reason="" if facts.reason == "None" else facts.reason,
        has_started=has_started,
        started_at=since,
    )


def _is_asked(view: RunView) -> bool:
    """A job of another cluster is not this Slurm's."""
    return bool(view.expected_job) and not view.cluster


def _is_mine(view: RunView) -> bool:
    """The queue that is asked for is the user's own: a colleague's run is not in it."""
    return _is_asked(view) and view.folder.stat().st_uid == os.getuid()
