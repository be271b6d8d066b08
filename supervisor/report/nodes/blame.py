"""Which incidents speak against which node. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.ledger.site.history import JobHistory
from supervisor.model.site import SiteIncident
from supervisor.model.verdict import Class
from supervisor.report.nodes.model import Look
from supervisor.report.nodes.names import is_node, word
from supervisor.report.nodes.persons import NOBODY, Persons, RunKey

MACHINE: Final = frozenset({Class.HARDWARE, Class.NETWORK, Class.UNKNOWN})
"""What a node can be to blame for; `unknown` only where it names one."""
PROGRAM: Final = frozenset({Class.SOFTWARE, Class.DATA})
ONCE_S: Final = 3600.0
"""Within this time incidents of one run are one sign, since a restart on a broken node breaks again; and so are those
of jobs that shared the node, since it broke once for all of them."""
MOST_NODES: Final = 2
"""An incident that blames more of them was a switch, a rack or a power supply and tells nothing of one node."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Blamed:
    """One incident that speaks against one node."""

    at: float
    run: RunKey
    job: str
    incident: int
    cls: str
    cause: str
    gpus: tuple[str, ...]
    action: str
    person: str
    """Who wrote it down. Counted, never shown."""
    began_at: float
    """The job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """All that speaks against one node."""

    all: tuple[Blamed, ...] = ()
    """Oldest first."""
    counted: tuple[Blamed, ...] = ()
    """Of one run, or of jobs that shared the node, those within an hour once."""

    @property
    def persons(self) -> Counter[str]:
        """How many signs of each."""
        return Counter(sign.person for sign in self.counted)

    @property
    def number(self) -> int:
        """Of signs, where one user's count no more than all others' together: one user alone proves nothing.

        Those of nobody may be anybody's, and so the same user's.
        """
        persons = self.persons
        most = persons.pop(NOBODY, 0) + max(persons.values(), default=0)
        return min(len(self.counted), 2 * (len(self.counted) - most))


def blamed_nodes(history: JobHistory, incident: SiteIncident) -> tuple[str, ...]:
    """Whom it speaks against: nodes of the job alone, whatever its owner has written."""
    if incident.cls not in MACHINE:
        return ()
    named = dict.fromkeys([*incident.nodes, *(gpu.node for gpu in incident.gpus), *incident.left])
    if len(named) > MOST_NODES:
        return ()
    had = frozenset(history.job.nodes)
    return tuple(node for node in named if node in had and is_node(node))


def blame(jobs: Sequence[JobHistory], look: Look) -> dict[str, Signs]:
    """What speaks against each node within the window; the order of the jobs makes no difference."""
    found: dict[str, list[Blamed]] = {}
    persons = Persons(jobs)
    for history in jobs:
        for incident in history.incidents:
            for node in blamed_nodes(history, incident):
                if look.has(node, incident.at):
                    found.setdefault(node, []).append(_blamed(history, incident, node, persons))
    return {node: Signs(all=tuple(sorted(signs)), counted=tuple(_once(signs))) for node, signs in found.items()}


def _blamed(history: JobHistory, incident: SiteIncident, node: str, persons: Persons) -> Blamed:
    gpus = (f"GPU {gpu.gpu}{f' ({word(gpu.uuid)})' if gpu.uuid else ''}" for gpu in incident.gpus if gpu.node == node)
    return Blamed(
        at=incident.at,
        run=persons.run(history),
        job=history.job.job,
        incident=incident.incident,
        cls=str(incident.cls),
        cause=word(incident.cause),
        gpus=tuple(gpus),
        action=word(incident.action),
        person=persons.of(history),
        began_at=history.job.at,
    )


def _once(signs: Iterable[Blamed]) -> Iterator[Blamed]:
    lately: list[Blamed] = []
    for sign in sorted(signs):
        lately = [one for one in lately if sign.at - one.at < ONCE_S]
        if any(one.run == sign.run or sign.began_at < one.at for one in lately):
            continue
        lately.append(sign)
        yield sign
