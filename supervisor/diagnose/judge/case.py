"""All that is known of one interruption, on one clock and with every rank in its place: what the rules look at."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from supervisor.diagnose.bundle import Bundle, Place, short_pci
from supervisor.diagnose.evidence import collect, stacks
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.attempts import last_attempt
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.diagnose.scan.one_log import Scanned, scan_log
from supervisor.diagnose.signatures import Mark
from supervisor.diagnose.taxonomy import cause
from supervisor.errors import PayloadRefused
from supervisor.model.ids import NodeName, Rank
from supervisor.model.verdict import Class
from supervisor.slurm.hostlist import expand

_NODES: Final = 512
_LAUNCHED: Final = (8, 4, 16, 2, 6, 12)
"""Usual numbers of ranks on a node, that is, of a launcher."""
_PER_TASK: Final = 2
_WORD: Final = re.compile(r"[A-Za-z][\w-]{0,62}")
"""Twice as many ranks as tasks: a launcher starts several in each."""


@dataclass(slots=True)
class Case:
    """The findings of one interruption; rules replace them."""

    bundle: Bundle
    scanned: tuple[Scanned, ...]
    findings: list[Finding]
    places: dict[Rank, Place] = field(default_factory=dict)
    earlier: list[Finding] = field(default_factory=list)
    """Findings of attempts before the last one."""
    went_on: dict[int, tuple[bool, ...]] = field(default_factory=dict)
    """Of a log's last lines, by its number: whether their writer reports progress afterwards (`last_words`)."""
    notes: list[str] = field(default_factory=list)
    """What the rules concluded, for a person."""

    def roots(self) -> list[Finding]:
        """Findings that show a cause."""
        return [one for one in self.findings if one.role == "root" and one.cause]

    def faults(self) -> list[Finding]:
        """Roots of which no plan is the cause."""
        return [one for one in self.roots() if cause(one.cause).cls is not Class.PLANNED]

    def of(self, *causes: str) -> list[Finding]:
        """Roots with one of these causes."""
        return [one for one in self.roots() if one.cause in causes]

    def marked(self, *marks: Mark) -> list[Finding]:
        """Findings with one of these marks."""
        return [one for one in self.findings if one.has(*marks)]

    def known(self, *signatures: str) -> list[Finding]:
        """Findings of these signatures."""
        return [one for one in self.findings if one.signature in signatures]

    def change(self, which: Callable[[Finding], bool] | Collection[Finding], **changes: object) -> int:
        """Replace the findings that fit, or that are named; returns how many."""
        # Of a job with thousands of ranks there are as many findings, and a list of them takes long to be searched.
        fits = which if callable(which) else frozenset(which).__contains__
        count = 0
        for index, one in enumerate(self.findings):
            if fits(one):
                self.findings[index] = replace(one, **changes)  # type: ignore[arg-type]  # fields of Finding
                count += 1
        return count

    @property
    def made_progress(self) -> bool:
        """Some log reports steps."""
        return any(one.made_progress for one in self.scanned)

    @property
    def ranks(self) -> set[Rank]:
        """Every rank that is known of."""
        named = {one.rank for one in self.findings if one.rank is not None}
        return named | set(self.places) | {one.log.rank for one in self.scanned if one.log.rank is not None}

    @property
    def heard(self) -> set[Rank]:
        """Ranks that said something, in a log of their own or by the label of a line."""
        said = {
            one.rank
            for one in self.findings
            if one.is_line and one.rank is not None and one.source.startswith("ranks/")
        }
        reported = {each.rank for one in self.scanned for each in one.progress if each.rank is not None}
        return said | reported | {one.log.rank for one in self.scanned if one.log.rank is not None}

    def node_of(self, finding: Finding) -> NodeName | None:
        """The node that the finding is about."""
        if finding.node:
            return finding.node
        place = self.places.get(finding.rank) if finding.rank is not None else None
        return place.node if place else None

    def named_nodes(self, finding: Finding) -> tuple[NodeName, ...]:
        """The nodes that the finding is about, also where it names a list of them."""
        if finding.names:
            return listed(finding.names)
        node = self.node_of(finding)
        return (node,) if node else ()

    def accused_by(self, finding: Finding) -> tuple[NodeName, ...]:
        """The node that a complaint about a peer names: by host name, as other lines of the job have it, or by rank."""
        if not finding.peer:
            return ()
        if finding.peer.isdecimal():
            place = self.places.get(Rank(int(finding.peer)))
            return (place.node,) if place and place.node else ()
        address = finding.peer.split("<")[0].split(":")[0]
        if address in self.addresses:
            return (self.addresses[address],)
        name = address.split(".")[0]
        known = self.nodes
        fitting = [node for node in known if name == node or name.startswith(f"{node}-")]
        return tuple(fitting[:1]) or ((NodeName(name),) if not known and not name.isdecimal() else ())

    @property
    def addresses(self) -> dict[str, NodeName]:
        """Nodes by address, as their own lines tell."""
        return {address: node for one in self.scanned for address, node in one.addresses.items()}

    @property
    def nodes(self) -> set[NodeName]:
        """Every node of the job that is known."""
        named = {one.node for one in self.findings if one.node}
        return named | set(self.bundle.nodes) | {place.node for place in self.places.values() if place.node}

    def gpu_of(self, finding: Finding) -> int | None:
        """The GPU that the finding is about."""
        if finding.gpu is not None:
            return finding.gpu
        node = self.node_of(finding)
        if finding.pci and node:
            return self.bundle.gpus.get((node, short_pci(finding.pci)))
        place = self.places.get(finding.rank) if finding.rank is not None else None
        return place.gpu if place else None


def build(bundle: Bundle, catalogue: Catalogue | None = None) -> Case:
    """Scan every log and put everything on one clock. Raises `OSError` where a log cannot be read."""
    scanned = tuple(scan_log(log, index, catalogue) for index, log in enumerate(bundle.logs))
    clock = _reference(scanned, bundle.facts.collected_at)
    lines = [_timed(one, clock) for each in scanned for one in each.findings]
    places = _places(bundle, scanned, lines)
    case = Case(bundle=bundle, scanned=scanned, findings=[*collect.find(bundle), *lines], places=places)
    case.findings += stacks.find(*_stacks(bundle, scanned))
    case.findings, case.earlier = last_attempt(case.findings)
    _name_nodes(case)
    _headings(case)
    return case


def listed(names: str) -> tuple[NodeName, ...]:
    """The nodes of a list in Slurm's short form."""
    try:
        return expand(names, cap=_NODES) if names else ()
    except PayloadRefused:
        return ()


def _headings(case: Case) -> None:
    """Kernel lines below a heading that says whose they are: `== dmesg of node014 ==`."""
    node, log = None, -1
    for index, one in enumerate(case.findings):
        if one.signature == "heading_of_kernel_log" or one.order[0] != log:
            node, log = (one.node if one.signature == "heading_of_kernel_log" else None), one.order[0]
        elif node and one.pci and not one.node:
            case.findings[index] = replace(one, node=node)


def short(node: NodeName | None) -> NodeName | None:
    """Slurm's name of a host: without its domain."""
    return NodeName(node.partition(".")[0]) if node and not node[0].isdecimal() else node


def _name_nodes(case: Case) -> None:
    """A line that names no writer may still hold the name of one node that other lines know."""
    case.findings = [
        replace(one, node=short(one.node)) if one.node and "." in one.node else one for one in case.findings
    ]
    known = case.nodes
    for index, one in enumerate(case.findings):
        if not one.is_line or one.scope != "own" or one.node or one.names:
            continue
        if one.rank is None or _tells_of_others(one):
            named = {word for word in _WORD.findall(one.text) if word in known}
            if len(named) == 1:
                case.findings[index] = replace(one, node=NodeName(named.pop()), rank=None, gpu=one.gpu)


def _tells_of_others(one: Finding) -> bool:
    """A rank that watches over others names a machine that is ill: `health: node7 …`."""
    return one.role == "root" and one.cause != "" and cause(one.cause).cls is Class.HARDWARE


def _reference(scanned: Iterable[Scanned], collected_at: float | None) -> float | None:
    """A time from which those without year or date are completed."""
    stamps = [stamp for one in scanned for stamp in (one.last, one.first, *(f.stamp for f in one.findings)) if stamp]
    full = [one.seconds for one in stamps if not one.lacks]
    if full:
        return max(full)
    if collected_at is not None:
        return collected_at
    written = [one.log.written_at for one in scanned if one.log.written_at]
    return max(written) if written else None


def _timed(finding: Finding, clock: float | None) -> Finding:
    stamp = finding.stamp
    if stamp is None or (stamp.lacks and clock is None):
        return finding
    return replace(finding, time=stamp.near(clock or 0.0))


def _places(bundle: Bundle, scanned: Iterable[Scanned], lines: list[Finding]) -> dict[Rank, Place]:
    """Where ranks ran: as `job.json` has it, else as their own lines and srun's tell."""
    found = dict(_by_tasks(scanned, lines)) | dict(_by_elastic(lines))
    for each in scanned:
        if each.log.rank is not None and each.place is not None:
            found[each.log.rank] = each.place
    return found | bundle.places


def _stacks(bundle: Bundle, scanned: Iterable[Scanned]) -> tuple[dict[Rank, tuple[str, ...]], dict[Rank, str]]:
    """Main threads of hung ranks, from files of their own and from their logs, and where they stand."""
    found = {rank: (frames, f"stacks/{rank}") for rank, frames in bundle.stacks.items()}
    for each in scanned:
        if each.stack and each.log.rank is not None:
            found.setdefault(each.log.rank, (each.stack, each.log.name))
    return {rank: frames for rank, (frames, _) in found.items()}, {rank: name for rank, (_, name) in found.items()}


def _by_elastic(lines: list[Finding]) -> Iterator[tuple[Rank, Place]]:
    """By torchelastic's table of failures: a line with the host, the next one with the rank."""
    hosts = {one.order: one.node for one in lines if one.signature == "torchelastic_host"}
    for one in lines:
        if one.signature == "torchelastic_rank" and one.rank is not None:
            node = hosts.get((one.order[0], one.order[1] - 1))
            if node:
                yield one.rank, Place(node=short(node))


def _by_tasks(scanned: Iterable[Scanned], lines: list[Finding]) -> Iterator[tuple[Rank, Place]]:
    """By what srun says of tasks: a task is a rank, or the launcher of so many ranks as fit their local numbers."""
    ended = {
        one.rank: one.node
        for one in lines
        if one.rank is not None and one.node and (one.signature.startswith("srun_task_") or one.code or one.signal)
    }
    ranks = {one.log.rank for one in scanned if one.log.rank is not None}
    per_task = _ranks_per_task(ranks, lines, ended) if ended else 1
    for task, node in ended.items():
        for rank in range(task * per_task, (task + 1) * per_task):
            yield Rank(rank), Place(node=node)


def _ranks_per_task(ranks: set[Rank], lines: list[Finding], ended: dict[Rank, NodeName]) -> int:
    """1 where tasks are ranks; 0 where nobody can tell."""
    if not ranks or max(ranks) < _PER_TASK * (max(ended) + 1):
        return 1
    local = {(one.rank, one.local_rank) for one in lines if one.rank is not None and one.local_rank is not None}
    told = {rank for rank, _ in local}
    for number in _LAUNCHED:
        fits = all(rank % number == at for rank, at in local)
        if local and fits and any(Rank(rank // number) in ended for rank in told):
            return number
    return 0
