"""Jobs that wait for the end of this one: found before another job is submitted, and told to wait for that one."""

import asyncio
import os
from itertools import groupby
from typing import Final

import structlog

from supervisor.daemon.hands.sender import Sender
from supervisor.daemon.job_environment import environment_of_the_job
from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout
from supervisor.ledger.run_folder import job_ids
from supervisor.ledger.standby import read_standby
from supervisor.model.ids import JobId
from supervisor.slurm.dependents import Dependents, Own, dependents, moved
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_FOLDER_S: Final = 5.0
_ROUNDS: Final = 2
"""So many times one question's deadline may all of them take."""


async def who_holds(world: Sender) -> str:
    """Why no other job should go on in this one's place, in words: somebody waits for it who cannot be moved.

    Whether Slurm lets our own be moved shows when one is told to wait for what it waits for. Empty: nobody, as far as
    Slurm tells.
    """
    deadline_s = world.settings.slurm_deadline_s
    try:
        found = await _found(world)
        if found.others:
            return f"{_named(found.others)} for the end of this very job"
        for dependency, jobs in _groups(found):
            await world.slurm.depend(jobs, dependency, deadline_s=deadline_s)
            break  # what Slurm thinks of one it thinks of all
    except (SlurmTimeout, NoSlurm, TimeoutError, OSError) as exc:
        _log.warning("dependents.unknown", reason=exc)
    except SlurmFailed as exc:
        return f"jobs wait for the end of this one, and cannot be told to wait for another ({exc})"
    return ""


async def follow(world: Sender, successor: JobId) -> tuple[tuple[JobId, ...], tuple[str, ...]]:
    """Let them wait for the successor: who does from now on, and who still waits for this job. May be done again."""
    done: list[JobId] = []
    try:
        async with asyncio.timeout(_ROUNDS * world.settings.slurm_deadline_s):
            found = await _found(world, successor)
            for dependency, jobs in _groups(found):
                if await _is_moved(world, jobs, moved(dependency, world.around.raw_job_id, successor)):
                    done.extend(jobs)
    except (SlurmFailed, NoSlurm, TimeoutError, OSError) as exc:
        _log.warning("dependents.unknown", reason=exc)
        return tuple(done), ()
    return tuple(done), (*(job for job in found.movable if job not in done), *found.others)


async def _is_moved(world: Sender, jobs: list[JobId], dependency: str) -> bool:
    try:
        await world.slurm.depend(jobs, dependency, deadline_s=world.settings.slurm_deadline_s)
    except SlurmFailed as exc:
        _log.warning("dependents.not_moved", jobs=jobs, reason=exc)
        return False
    return True


async def _found(world: Sender, *of_the_run: JobId) -> Dependents:
    waiting = await world.slurm.waiting(deadline_s=world.settings.slurm_deadline_s)
    run = await aside(lambda: job_ids(world.folder), deadline_s=_FOLDER_S, name="job_ids")
    standby = await aside(lambda: read_standby(world.folder), deadline_s=_FOLDER_S, name="standby")
    own = Own(
        job_id=world.around.job_id,
        raw_job_id=world.around.raw_job_id,
        uid=os.getuid(),
        name=environment_of_the_job().get("SLURM_JOB_NAME", ""),
    )
    return dependents(waiting, own, run={*run, *of_the_run, *([standby.job_id] if standby else [])})


def _groups(found: Dependents) -> list[tuple[str, list[JobId]]]:
    """Those that wait for the same can be told in one call."""
    ordered = sorted(found.movable.items(), key=lambda pair: pair[1])
    return [(dependency, [job for job, _ in pairs]) for dependency, pairs in groupby(ordered, key=lambda pair: pair[1])]


def _named(jobs: tuple[str, ...]) -> str:
    return f"job {jobs[0]} waits" if len(jobs) == 1 else f"jobs {', '.join(jobs)} wait"
