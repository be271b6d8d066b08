"""Which nodes are suspect, and why. Pure; the method and its limits: `docs/nodes.md`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from supervisor.ledger.site.history import JobHistory, UnseenFailure
from supervisor.model.node import NodeRecord
from supervisor.report.nodes.blame import Signs, blame
from supervisor.report.nodes.chance import LEVEL, at_least, corrected
from supervisor.report.nodes.exposure import exposure
from supervisor.report.nodes.model import Jobs, Level, Look, Numbers, Standing, Telemetry
from supervisor.report.nodes.names import is_node
from supervisor.report.nodes.run_through import jobs_of
from supervisor.report.nodes.telemetry import by_node, weigh
from supervisor.report.nodes.timeline import timeline

FEWEST: Final = 2
"""Incidents: fewer prove nothing, however small p is."""
_FEWEST_COUNTED: Final = 3
"""Less than two of them are not of one and the same user: with one that is chance, one user alone would be believed."""
_WATCH_LEVEL: Final = 0.5
"""Of p corrected: an innocent node is watched in at most half of all fleets, however large they are."""
_UNSEEN: Final = 2
"""Failures of jobs without supervise that make a node worth a look."""
_SMALLEST: Final = 0.0001
"""As many digits as anybody reads."""
_RANK: Final[Mapping[Level, int]] = {"suspect": 0, "watch": 1, "ok": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Everything that speaks of nodes."""

    jobs: Sequence[JobHistory]
    """Those that are believed."""
    unseen: Sequence[UnseenFailure] = ()
    records: Sequence[NodeRecord] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Of:
    """What is known of one node."""

    numbers: Numbers
    jobs: Jobs
    telemetry: Telemetry
    signs: Signs
    unseen: int
    looks: int


def standings(known: Known, look: Look) -> tuple[Standing, ...]:
    """Every node of which anything is known, the worst first."""
    signs = blame(known.jobs, look)
    jobs = jobs_of(known.jobs, signs, look)
    numbers = numbers_of(exposure(known.jobs, look), signs)
    records = by_node(known.records, look)
    unseen = _unseen(known.unseen, look)
    found = []
    for node in {*numbers, *signs, *records, *unseen}:
        mine = _Of(
            numbers=numbers.get(node) or _untested(signs.get(node, Signs())),
            jobs=jobs.get(node, Jobs()),
            telemetry=weigh(records.get(node, ())),
            signs=signs.get(node, Signs()),
            unseen=len(unseen.get(node, ())),
            looks=len(numbers),
        )
        found.append(_standing(node, mine, records.get(node, ()), unseen.get(node, ())))
    return tuple(sorted(found, key=_worst_first))


def numbers_of(hours: Mapping[str, float], signs: Mapping[str, Signs]) -> dict[str, Numbers]:
    """Each node that worked, compared with the others together, and corrected for the number of nodes."""
    tested = sorted(node for node, worked in hours.items() if worked > 0.0)
    whole = sum(hours[node] for node in tested)
    total = sum(len(signs[node].counted) for node in tested if node in signs)
    found: list[Numbers] = []
    of_all: list[float] = []
    for node in tested:
        mine = signs.get(node, Signs())
        others, rest = total - len(mine.counted), whole - hours[node]
        of_all.append(at_least(len(mine.counted), total, hours[node] / whole))
        found.append(
            Numbers(
                exposure_h=hours[node],
                incidents=len(mine.counted),
                counted=mine.number,
                expected=others / rest * hours[node] if rest > 0.0 else 0.0,
                p=at_least(mine.number, mine.number + others, hours[node] / whole),
                p_corrected=1.0,
                p_of_all=1.0,
            )
        )
    ps = zip(corrected([numbers.p for numbers in found]), corrected(of_all), strict=True)
    return {
        node: replace(numbers, p_corrected=p, p_of_all=p_of_all)
        for node, numbers, (p, p_of_all) in zip(tested, found, ps, strict=True)
    }


def _untested(signs: Signs) -> Numbers:
    return Numbers(
        exposure_h=0.0,
        incidents=len(signs.counted),
        counted=signs.number,
        expected=0.0,
        p=1.0,
        p_corrected=1.0,
        p_of_all=1.0,
        is_tested=False,
    )


def _unseen(failures: Iterable[UnseenFailure], look: Look) -> dict[str, list[UnseenFailure]]:
    found: dict[str, list[UnseenFailure]] = {}
    for failure in failures:
        for node in failure.failed:
            if is_node(node) and look.has(node, failure.at):
                found.setdefault(node, []).append(failure)
    return found


def _standing(node: str, mine: _Of, records: Sequence[NodeRecord], unseen: Sequence[UnseenFailure]) -> Standing:
    grounds = [*_by_telemetry(mine), *_by_numbers(mine), *_by_slurm(mine)]
    level: Level = min((level for level, _ in grounds), key=lambda each: _RANK[each], default="ok")
    return Standing(
        node=node,
        level=level,
        why=tuple(text for _, text in sorted(grounds, key=lambda each: _RANK[each[0]])),
        numbers=mine.numbers,
        jobs=mine.jobs,
        telemetry=mine.telemetry,
        unseen=mine.unseen,
        timeline=timeline(mine.signs, records, unseen),
    )


_Ground = tuple[Level, str]


def _by_telemetry(mine: _Of) -> list[_Ground]:
    told = mine.telemetry
    if told.level == "ok":
        return []
    where = f" on {told.gpu}" if told.gpu else ""
    times = f", {told.times} times" if told.times > 1 else ""
    text = f": {told.text}" if told.text else ""
    over = "; found well since" if told.is_over else ""
    return [(told.level, f"{told.rule}{where}{times}{text}{over}")]


def _by_numbers(mine: _Of) -> list[_Ground]:
    """For a suspect two incidents are needed that are not of one user; with none of a second one p is 1."""
    numbers = mine.numbers
    what = f"{numbers.incidents} incidents, {numbers.expected:.2g} expected"
    tried = f"{what}, {p_is(numbers.p_corrected)} corrected for {mine.looks} looks"
    if numbers.incidents < FEWEST:
        return []
    if numbers.p_corrected <= LEVEL:
        is_enough = numbers.counted >= _FEWEST_COUNTED
        return [("suspect", tried) if is_enough else ("watch", f"{tried}, but all but one in jobs of one user")]
    if numbers.p_of_all <= LEVEL:
        return [("watch", f"{what}, but mostly in jobs of one user")]
    return [("watch", f"{tried}: may be chance")] if numbers.p_corrected <= _WATCH_LEVEL else []


def _by_slurm(mine: _Of) -> list[_Ground]:
    if mine.unseen < _UNSEEN:
        return []
    return [("watch", f"{mine.unseen} failures of it in Slurm's accounting, of jobs without supervise")]


def _worst_first(standing: Standing) -> tuple[int, bool, float, float, str]:
    numbers = standing.numbers
    is_told = standing.telemetry.level == "suspect"
    return _RANK[standing.level], not is_told, numbers.p_corrected, numbers.p, standing.node


def p_text(p: float) -> str:
    """`0.002`, `<0.0001`, `1`."""
    return f"<{_SMALLEST:.4f}" if p < _SMALLEST else f"{p:.2g}"


def p_is(p: float) -> str:
    """`p=0.002`, `p<0.0001`."""
    return f"p{'' if p < _SMALLEST else '='}{p_text(p)}"
