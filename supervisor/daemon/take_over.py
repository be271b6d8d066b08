"""What an agent starts once the batch host is dead: `python -m supervisor.daemon.take_over RUNDIR ORPHANED`.

It asks Slurm, claims the run, submits the next job of it and cancels the orphaned one, in this order. It may be started
again, and by several agents: whatever was done is found and not done twice.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from enum import IntEnum
from pathlib import Path
from typing import Final

import msgspec

from supervisor.core import succession
from supervisor.core.instructions import Requeue, Submit
from supervisor.core.machine import replay
from supervisor.core.state import State
from supervisor.core.succession import Succession
from supervisor.core.summary import carried
from supervisor.daemon import surroundings
from supervisor.daemon.clock import steady_clock
from supervisor.daemon.deputy import Deputy
from supervisor.daemon.hands import submit as hand
from supervisor.daemon.job_environment import environment_of_the_job
from supervisor.errors import NoSlurm, SlurmFailed, SuperviseError
from supervisor.ledger.event_log import FILE, read_events
from supervisor.ledger.orders import read_orders
from supervisor.ledger.run_folder import read_run
from supervisor.ledger.standby import standby_of
from supervisor.ledger.takeover import claim_takeover, note_takeover, read_takeover
from supervisor.ledger.writer import Writer
from supervisor.model import term
from supervisor.model.ids import JobId
from supervisor.model.takeover import Orphaned, Takeover
from supervisor.slurm.client import Slurm

LOG: Final = "takeover.log"
"""The launcher that would pass on what agents print has died with the batch host."""
_WRITTEN_S: Final = 5.0
_CANCELS: Final = 5
_CANCEL_PAUSE_S: Final = 2.0


_log = logging.getLogger(__name__)


class Outcome(IntEnum):
    """Exit codes: what the agent does with them."""

    DONE = 0
    """The orphaned job is cancelled, or Slurm starts it again: it ends, and its agents with it."""
    OVER = 3
    """This job is not to be taken over by anybody. Not 1: that is how Python ends after any mishap."""
    LATER = 75
    """Nothing could be found out or done now; trying again makes sense."""


def main(arguments: Sequence[str]) -> int:
    """Exit code, see `Outcome`; what was done stands in `takeover.log` of the run folder."""
    folder, told = Path(arguments[0]), msgspec.json.decode(arguments[1], type=Orphaned)
    log_to(folder / LOG)
    with closing(Writer()) as writer:
        try:
            outcome = asyncio.run(_take_over(_deputy(folder, writer), told))
        except (SuperviseError, OSError) as exc:
            _log.warning("%s takes over from %s later: %s", told.here, told.batch_host, exc)
            return Outcome.LATER
    _log.info("%s, %s, %d votes: %s", told.here, told.why, len(told.votes), outcome.name)
    return outcome


def log_to(path: Path) -> None:
    """From now on what this process tells is appended to the file, each line with the time in UTC."""
    formatter = logging.Formatter("%(asctime)sZ %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.FileHandler(path, encoding="utf-8", errors="replace")
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _deputy(folder: Path, writer: Writer) -> Deputy:
    run = read_run(folder)
    return Deputy(
        folder=folder,
        run=run,
        settings=run.settings,
        around=surroundings.read(environment_of_the_job()),
        clock=steady_clock(),
        slurm=Slurm(),
        writer=writer,
    )


async def _take_over(deputy: Deputy, told: Orphaned) -> Outcome:
    wanted = _decided(deputy, told)
    before = read_takeover(deputy.folder, told.job_id, told.restarts)
    settled = await _settled(deputy, told, wanted, before)
    if settled is not None:
        return settled
    if told.why == "alone" and not await _is_down(deputy, told):
        return Outcome.LATER
    claim = before or _claim(told, deputy.clock())
    if before is None and not await asyncio.to_thread(claim_takeover, deputy.folder, claim):
        return Outcome.LATER
    return await _go_on(deputy, told, claim, wanted)


async def _settled(deputy: Deputy, told: Orphaned, wanted: Succession, before: Takeover | None) -> Outcome | None:
    """What this comes to without another submission; None: it is ours to make one."""
    if wanted.why_not and not wanted.ends_job:
        _log.info("nobody takes over from %s: %s", told.batch_host, wanted.why_not)
        return Outcome.OVER
    is_done = before is not None and before.successor is not None
    is_others = before is not None and before.node != told.here
    if _is_renewed(deputy.folder, told) or (is_others and not is_done and not told.is_late):
        return Outcome.LATER
    if not await _is_orphan_running(deputy, told):
        return Outcome.OVER
    if is_done or is_others or wanted.why_not:
        # After a takeover that is what its agent may not have lived to do.
        why = "its successor is there" if is_done else wanted.why_not or "whoever claimed it has not taken over"
        _log.info("job %s is cancelled: %s", told.job_id, why)
        return await _cancel(deputy, told)
    return None


def _is_renewed(folder: Path, told: Orphaned) -> bool:
    """Whether somebody supervises this run after all. Raises `OSError` where nobody can say."""
    try:
        found = msgspec.json.decode((folder / term.FILE).read_bytes(), type=term.Term)
    except msgspec.MsgspecError:
        return False
    return found.renewed_at != told.renewed_at


def _decided(deputy: Deputy, told: Orphaned) -> Succession:
    events = read_events(deputy.folder / FILE)
    state = replay(events, deputy.settings)
    if events and state.job_id != deputy.around.job_id:
        # The supervisor died before it could write that its job had begun.
        state = State(behind=carried(state, events[-1].at))
    orders = read_orders(deputy.folder)
    return succession.decide(state, orders, deputy.settings, host=told.batch_host, at=deputy.clock())


async def _is_orphan_running(deputy: Deputy, told: Orphaned) -> bool:
    """Whether Slurm still takes the job for running: else it has ended it, or starts it again, or a person ended it."""
    job = await deputy.slurm.job(deputy.around.job_id, deadline_s=deputy.settings.slurm_deadline_s)
    if job.state != "RUNNING" or job.restarts != told.restarts:
        _log.info("nobody takes over from %s: job %s is %s for Slurm", told.batch_host, told.job_id, job.state)
        return False
    return True


async def _is_down(deputy: Deputy, told: Orphaned) -> bool:
    """Slurm's word in the majority's place."""
    nodes = await deputy.slurm.nodes([told.batch_host], deadline_s=deputy.settings.slurm_deadline_s)
    return any("DOWN" in node.states for node in nodes)


def _claim(told: Orphaned, at: float) -> Takeover:
    return Takeover(
        job_id=told.job_id,
        restarts=told.restarts,
        node=told.here,
        batch_host=told.batch_host,
        at=at,
        votes=told.votes,
    )


async def _go_on(deputy: Deputy, told: Orphaned, claim: Takeover, wanted: Succession) -> Outcome:
    """Submit; where sbatch refuses (many sites forbid it on compute nodes), ask Slurm to start the same job again."""
    # No dependency on the orphan: off a dead node it stays COMPLETING until Slurm notices. Its ranks are fenced.
    # A job that waits for this one to fail is the successor: it needs no sbatch, and would otherwise begin beside it.
    standby = await asyncio.to_thread(standby_of, deputy.folder, deputy.around.raw_job_id)
    answer = await hand.submit(deputy, Submit(exclude=wanted.exclude, standby=standby, whoever_waits=True))
    if answer.outcome == "accepted":
        await deputy.writer.flushed(_WRITTEN_S)
        note_takeover(deputy.folder, msgspec.structs.replace(claim, successor=answer.job_id))
        _log.info("%s takes over from %s: job %s goes on with the run", told.here, told.batch_host, answer.job_id)
        if standby is not None and answer.job_id == standby:
            await _let_begin(deputy, standby)
        return await _cancel(deputy, told)
    if answer.outcome == "unknown":
        _log.warning("whether a successor was submitted is unknown: %s", answer.text)
        return Outcome.LATER
    _log.warning("sbatch refuses (%s); asking Slurm to start job %s again", answer.text, told.job_id)
    # Before the request: it ends this process.
    note_takeover(deputy.folder, msgspec.structs.replace(claim, is_requeued=True))
    requeued = await hand.requeue(deputy, Requeue(exclude=wanted.exclude))
    if requeued.ok:
        return Outcome.DONE
    refused = f"sbatch: {answer.text}; scontrol requeue: {requeued.text}"
    note_takeover(deputy.folder, msgspec.structs.replace(claim, refused=refused))
    _log.error("job %s is cancelled: no other job can be had (%s)", told.job_id, refused)
    return await _cancel(deputy, told)


async def _let_begin(deputy: Deputy, standby: JobId) -> None:
    """It waits for the orphan to fail, and off a dead node that is COMPLETING until Slurm gives the node up."""
    try:
        await deputy.slurm.depend([standby], "", deadline_s=deputy.settings.slurm_deadline_s)
    except (SlurmFailed, NoSlurm) as exc:
        _log.warning("job %s begins only once Slurm has given the dead node up: %s", standby, exc)


async def _cancel(deputy: Deputy, told: Orphaned) -> Outcome:
    """The last act: without it Slurm would start the orphan again beside its successor, or keep its nodes."""
    for again in range(_CANCELS):
        await asyncio.sleep(_CANCEL_PAUSE_S if again else 0)
        try:
            await deputy.slurm.cancel_job(deputy.around.job_id, deadline_s=deputy.settings.slurm_deadline_s)
        except (SlurmFailed, NoSlurm) as exc:
            _log.warning("job %s is not cancelled yet: %s", told.job_id, exc)
        else:
            return Outcome.DONE
    return Outcome.LATER


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
