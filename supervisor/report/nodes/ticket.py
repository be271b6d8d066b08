"""The text of a ticket for the vendor of a node. Pure.

No user, no job's name or number, no text of a log: what a stranger may read. What is not known is said, with the
command that tells it.
"""

from collections.abc import Iterator, Sequence

from supervisor.model.node import NodeRecord
from supervisor.report.nodes.model import NodesReport, Standing
from supervisor.report.nodes.names import word
from supervisor.report.nodes.suspicion import p_is
from supervisor.report.nodes.text import days_text, hours_text, moment_text, utc
from supervisor.report.words import count


def ticket_text(
    each: Standing, report: NodesReport, records: Sequence[NodeRecord], *, version: str, commands: Sequence[str]
) -> str:
    """Everything that is known; `records`: the node's own, of the window. `commands`: what was typed."""
    sections = (
        ("Node", _node(each, report)),
        ("Devices", _devices(records)),
        ("Xid messages (times are those of the hook that read the kernel's log)", _xids(records)),
        ("Memory errors, row remapping and links", _counters(records)),
        ("Timeline", _timeline(each)),
        ("Ruled out", _ruled_out(each, records)),
        ("How often", _how_often(each, report)),
        ("Made with", _made(version, commands)),
    )
    lines = [f"{each.node}: {'; '.join(each.why) or 'nothing speaks against it'}"]
    for title, body in sections:
        lines += ["", title, *(f"  {line}" for line in body)]
    return "\n".join(lines)


def _node(each: Standing, report: NodesReport) -> Iterator[str]:
    yield f"name      {each.node}"
    yield f"window    {utc(report.since)} to {utc(report.until)} ({days_text(report.since, report.until)})"
    yield f"standing  {each.level}"
    yield "serials   not on record; on the node: dmidecode -s system-serial-number"


def _devices(records: Sequence[NodeRecord]) -> Iterator[str]:
    places: dict[str, set[str]] = {}
    for record in records:
        for uuid in [*record.gpus, *record.lost_gpus, record.gpu, *(one.gpu for one in record.findings)]:
            places.setdefault(uuid, set())
        for seen in record.xids:
            places.setdefault(seen.gpu, set()).add(word(seen.pci))
    for uuid in sorted(filter(None, places)):
        yield f"{word(uuid)}  PCI {', '.join(sorted(filter(None, places[uuid]))) or 'not on record'}"
    if nameless := sorted(filter(None, places.get("", set()))):
        yield f"no UUID on record  PCI {', '.join(nameless)}"
    yield "serials: nvidia-smi --query-gpu=index,uuid,serial,pci.bus_id,vbios_version,driver_version --format=csv"
    yield "full state: nvidia-bug-report.sh (as root, before a reset)"


def _xids(records: Sequence[NodeRecord]) -> Iterator[str]:
    found = [(record.at, seen) for record in records for seen in record.xids]
    for at, seen in found:
        times = f", {seen.count} times" if seen.count > 1 else ""
        yield f"{utc(at)}  Xid {seen.xid}  PCI {word(seen.pci) or 'unknown'}  {word(seen.gpu)}{times}".rstrip()
    if not found:
        yield "none on record"


def _counters(records: Sequence[NodeRecord]) -> Iterator[str]:
    total: dict[tuple[str, str], int] = {}
    for record in records:
        for uuid, counters in record.gpus.items():
            for name, by in counters.items():
                total[uuid, name] = total.get((uuid, name), 0) + by
    for (uuid, name), by in sorted(total.items()):
        yield f"{word(uuid)}  {word(name)} +{by}"
    remaps = dict.fromkeys(
        f"{word(one.gpu)}  {word(one.rule)}" for record in records for one in record.findings if "remap" in one.rule
    )
    yield from remaps
    if not total and not remaps:
        yield "no growth on record"


def _timeline(each: Standing) -> Iterator[str]:
    for moment in each.timeline:
        yield f"{utc(moment.at)}  {moment_text(moment)}"
    if not each.timeline:
        yield "nothing on record"


def _ruled_out(each: Standing, records: Sequence[NodeRecord]) -> Iterator[str]:
    jobs = each.jobs
    yield f"runs that it interrupted and that came to their end without it, on other nodes: {jobs.went_on_without}"
    yield f"interruptions by program or data in jobs on this node, none of them counted here: {jobs.program_faults}"
    yield f"jobs that came to their end on it in the same time: {jobs.completed} of {jobs.ran}"
    well = [record.at for record in records if record.level == "ok"]
    if well:
        yield f"looks of its hooks that found nothing: {len(well)}, the last one {utc(well[-1])}"
    yield "self-tests: not on record here; to run one: dcgmi diag -r 3"


def _how_often(each: Standing, report: NodesReport) -> Iterator[str]:
    numbers = each.numbers
    if not numbers.is_tested:
        yield f"{count(numbers.incidents, 'incident')}; its node time is not known, so no rate"
        return
    yield (
        f"{count(numbers.incidents, 'incident')} in {hours_text(numbers.exposure_h)}; at the rate of the other nodes "
        f"{numbers.expected:.2g} would be expected"
    )
    yield f"chance alone: {p_is(numbers.p_corrected)}, corrected for {count(report.looks, 'node')} looked at (Holm)"


def _made(version: str, commands: Sequence[str]) -> Iterator[str]:
    yield f"supervise {version}"
    yield from (word(each, 300) for each in commands)
