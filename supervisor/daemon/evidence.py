"""The bounded window of evidence of one incident: what the supervisor knows at this moment, as a bundle."""

from collections.abc import Iterator
from typing import Any

import msgspec

from supervisor.core.events import SlurmReported
from supervisor.core.instructions import Collect
from supervisor.daemon.world import World
from supervisor.diagnose.bundle import Bundle, Facts, Log, Place
from supervisor.diagnose.scan.lines import find_lines
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, NodeName, Rank
from supervisor.model.wire import Beats, RankBeat

_LIVING = frozenset({"RUNNING", "COMPLETING"})


def gathered(world: World, order: Collect, said: SlurmReported | None, steps: tuple[Log, ...] = ()) -> Bundle:
    """Of the present attempt: the last lines of each file and rank, telling ones before them, facts, places, beats.

    `steps`: what ranks wrote into files of their own.
    """
    now = world.clock()
    logs = _output(world, now)
    return Bundle(
        # Ranks' own lines first: of two that say the same, the one that tells whose it is counts.
        logs=(*(_rank_logs(world, failing(world)) or steps), *logs),
        facts=_facts(order, said, now),
        nodes=world.roster.nodes,
        places=_places(world),
        beats=tuple(_beats(world, order.attempt, now)),
    )


def _output(world: World, now: float) -> tuple[Log, ...]:
    """`job.log`, and `job.err` where errors have a file of their own: all kinds of lines, in the order they came."""
    names = ("job.log", "job.err")
    span_s = world.settings.evidence_span_s
    begin = min(world.output.last_at, world.roster.progress_at or now) - span_s
    found = zip(names, world.output.windows(begin), strict=False)
    # In the order in which a reader of the folder takes them: line numbers and ties must come out the same.
    return tuple(Log(name=name, lines=lines) for name, lines in sorted(found) if lines)


def failing(world: World) -> list[Rank]:
    """Ranks of which the job's output or their own silence says that they failed, in that order."""
    lines = [line for log in _output(world, world.clock()) for line in log.lines]
    told = [hit.rank for hit in find_lines(lines) if hit.rank is not None and (hit.code or hit.signal)]
    return [*told, *(beat.rank for _, beat, _ in world.roster.ranks() if not beat.is_alive)]


def _rank_logs(world: World, wanted: list[Rank]) -> tuple[Log, ...]:
    """These ranks' last lines and those of some others, where sattach labels them."""
    if world.settings.rank_lines != "sattach":
        return ()
    return world.rank_lines.logs(wanted, ranks=len(world.roster.ranks()))


def _facts(order: Collect, said: SlurmReported | None, now: float) -> Facts:
    job = said.job if said else None
    return Facts(
        lost_nodes=order.lost_nodes,
        exit_code=order.code,
        exit_signal=order.signal,
        job_state=job.state if job and job.state not in _LIVING else "",
        job_reason=job.reason if job and job.reason != "None" else "",
        preempt_time=job.preempt_time if job else None,
        hung_s=order.hung_s,
        collected_at=now,
    )


def _places(world: World) -> dict[Rank, Place]:
    """Node and, where all ranks are known, number on the node: Slurm counts a node's tasks in the order of ranks."""
    by_node = _by_node(world)
    known = sorted(beat.rank for ranks in by_node.values() for beat, _ in ranks)
    is_whole = known == list(range(len(known)))
    return {
        beat.rank: Place(
            node=node,
            local_rank=local if is_whole else None,
            gpu=local if is_whole and world.roster.gpu_count(node) == len(ranks) else None,
        )
        for node, ranks in by_node.items()
        for local, (beat, _) in enumerate(ranks)
    }


def _beats(world: World, attempt: AttemptNo, now: float) -> Iterator[dict[str, Any]]:
    """Each node's ranks as they were heard last, with their ages at this moment; in the form of `beats.json`."""
    for node, ranks in _by_node(world).items():
        aged = tuple(
            msgspec.structs.replace(beat, age_s=round(max(0.0, now - moved_at), 3)) for beat, moved_at in ranks
        )
        yield msgspec.json.decode(encode(Beats(node=node, at=now, attempt=attempt, ranks=aged)))


def _by_node(world: World) -> dict[NodeName, list[tuple[RankBeat, float]]]:
    """Each node's ranks in their order, with the moment at which each moved last."""
    found: dict[NodeName, list[tuple[RankBeat, float]]] = {}
    for node, beat, moved_at in world.roster.ranks():
        found.setdefault(node, []).append((beat, moved_at))
    return found
