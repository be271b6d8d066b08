"""Gathers the bundle of one incident into its folder, and diagnoses it."""

import asyncio
from itertools import filterfalse

import structlog

from supervisor.core.events import Diagnosed, SlurmReported
from supervisor.core.instructions import AskSlurm, Collect
from supervisor.daemon.hands.ask import ask_slurm
from supervisor.daemon.world import World
from supervisor.diagnose import rank_tails
from supervisor.diagnose.bundle import Bundle, Facts, Log, Place
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.scan.lines import find_lines
from supervisor.ledger.records import incident_folder
from supervisor.model.base import encode
from supervisor.model.ids import NodeName, Rank
from supervisor.model.wire import Beats, RankBeat

_log = structlog.stdlib.get_logger(__name__)

_LAST_LINES_S = 0.3
"""For the lines that srun and slurmstepd write when a task has ended."""
_QUIET_READS = 2


async def collect(world: World, order: Collect) -> Diagnosed:
    """The verdict on what is known now. Evidence that does not come within the deadline is left out."""
    job = await _slurm_facts(world, order)
    await _last_lines(world)
    lines = world.output.lines()
    bundle = Bundle(
        # Ranks' own lines first: of two that say the same, the one that tells whose it is counts.
        logs=(*_rank_logs(world, lines), Log(name="slurm.log", lines=tuple(lines), kind="any")),
        facts=_facts(order, job),
        places=_places(world),
    )
    _keep(world, order, bundle)
    verdict = await asyncio.to_thread(diagnose, bundle)
    return Diagnosed(at=world.clock(), incident=order.incident, verdict=verdict)


async def _slurm_facts(world: World, order: Collect) -> SlurmReported | None:
    """Slurm's word on a job that is ending; a lost node is proven already, and Slurm notices it half a minute later."""
    if order.lost_nodes:
        return None
    return await ask_slurm(world, AskSlurm())


async def _last_lines(world: World) -> None:
    """Read the output until it is quiet, for a bounded time."""
    quiet = 0
    try:
        async with asyncio.timeout(min(world.settings.collect_deadline_s, 10 * _LAST_LINES_S)):
            while quiet < _QUIET_READS:
                before = world.output.count
                await asyncio.sleep(_LAST_LINES_S / _QUIET_READS)
                for event in await world.output.read(world.clock()):
                    world.post(event)
                quiet = quiet + 1 if world.output.count == before else 0
    except TimeoutError:
        _log.info("collect.cut", what="output that does not become quiet")


def _facts(order: Collect, said: SlurmReported | None) -> Facts:
    job = said.job if said else None
    return Facts(
        lost_nodes=order.lost_nodes,
        exit_code=order.code,
        exit_signal=order.signal,
        job_state=job.state if job and job.state not in {"RUNNING", "COMPLETING"} else "",
        job_reason=job.reason if job and job.reason != "None" else "",
        preempt_time=job.preempt_time if job else None,
    )


def _rank_logs(world: World, lines: list[str]) -> tuple[Log, ...]:
    """The failing ranks' last lines and those of some others, where sattach labels them."""
    if world.settings.rank_lines != "sattach":
        return ()
    told = [hit.rank for hit in find_lines(lines) if hit.rank is not None and (hit.code or hit.signal)]
    ranks = world.roster.ranks()
    dead = [beat.rank for _, beat, _ in ranks if not beat.is_alive]
    return world.rank_lines.logs([*told, *dead], ranks=len(ranks))


def _places(world: World) -> dict[Rank, Place]:
    return {beat.rank: Place(node=node) for node, beat, _ in world.roster.ranks()}


def _keep(world: World, order: Collect, bundle: Bundle) -> None:
    folder = incident_folder(world.folder, order.incident)
    tails = rank_tails.joined(bundle.logs)
    if tails:
        world.writer.write(folder / rank_tails.FILE, tails.encode(errors="replace"))
    for log in filterfalse(rank_tails.is_tail, bundle.logs):
        world.writer.write(folder / log.name, "".join(f"{line}\n" for line in log.lines).encode(errors="replace"))
    world.writer.write(folder / "facts.json", encode(bundle.facts))
    by_node: dict[NodeName, list[RankBeat]] = {}
    for node, beat, _ in world.roster.ranks():
        by_node.setdefault(node, []).append(beat)
    beats = [
        Beats(node=node, at=world.clock(), attempt=order.attempt, ranks=tuple(ranks)) for node, ranks in by_node.items()
    ]
    world.writer.write(folder / "beats.json", b"[" + b",".join(encode(each) for each in beats) + b"]")
