"""Waits until other jobs of the run have ended: at most one attempt of a run may live."""

import asyncio
from collections.abc import Iterable

import structlog

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout
from supervisor.model.ids import JobId
from supervisor.slurm.backend import Backend

_log = structlog.stdlib.get_logger(__name__)

_LIVING = frozenset(
    {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
)
_WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})
_POLL_S = (0.3, 0.5, 1.0, 2.0, 5.0)
_GONE = "invalid job id"


async def ended(
    slurm: Backend,
    jobs: Iterable[JobId],
    *,
    may_complete: bool,
    ask_s: float,
    deadline_s: float,
    may_wait: bool = True,
) -> list[JobId]:
    """The jobs that may still live after the deadline; empty: all have ended. A failed query proves nothing.

    `may_complete`: a job that is only completing counts as ended (off a dead node that takes Slurm minutes).
    `may_wait`: one that waits in the queue counts as ended too, though it will begin some time.
    """
    living = (_LIVING - {"COMPLETING"} if may_complete else _LIVING) | (frozenset() if may_wait else _WAITING)
    waiting = list(jobs)
    loop = asyncio.get_running_loop()
    ends = loop.time() + deadline_s
    tries = 0
    while waiting:
        waiting = [job for job in waiting if await _may_live(slurm, job, ask_s, living)]
        if not waiting or loop.time() > ends:
            break
        _log.info("predecessor.lives", jobs=waiting)
        await asyncio.sleep(_POLL_S[min(tries, len(_POLL_S) - 1)])
        tries += 1
    return waiting


async def _may_live(slurm: Backend, job: JobId, deadline_s: float, living: frozenset[str]) -> bool:
    try:
        facts = await slurm.job(job, deadline_s=deadline_s)
    except SlurmTimeout:
        return True
    except SlurmFailed as exc:
        return not is_forgotten(exc)
    except NoSlurm:
        return True
    return facts.state in living


def is_forgotten(exc: SlurmFailed) -> bool:
    """Whether Slurm does not know the job: it forgets one minutes after its end (MinJobAge)."""
    return _GONE in f"{exc} {exc.stderr}".lower()
