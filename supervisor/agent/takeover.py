"""Pure: when an agent may take the run over from a dead batch host.

Three signs: `term.json` not renewed for two leases, the batch host's slurmd silent to this agent, and the same from
most agents of the job. Where there is no majority, Slurm's own DOWN replaces it. The silence is the one that agents
fence by, so a broker that is heard is a sign of life here too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from supervisor.model.ids import NodeName

LEASES: Final = 2
_LEASES_ALONE: Final = 4
"""Without a majority Slurm is asked whether it has noticed: later, and not by all at once."""
_LEASES_TO_THE_END: Final = 20
"""Ten minutes with the usual lease: a takeover that was claimed has had its time, and so has Slurm's own NODE_FAIL."""
_TURN_S: Final = 2.0
"""Between the turns of two agents, in the job's order of nodes: thousands must not read all votes at once."""

Step = Literal["watch", "vote", "take_over", "ask_slurm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What one agent knows."""

    here: NodeName
    batch_host: NodeName
    nodes: Sequence[NodeName]
    """Of the job, in Slurm's order."""
    silent_s: float
    """For how long broker, term file and the batch host's slurmd have all been silent."""
    is_clean: bool
    """No rank of the run is left on this node."""
    votes: Collection[NodeName] = ()
    """Agents that say the same of this very term, this one included."""
    voters: int = 0
    """Nodes of the job besides the batch host, when the term was renewed last."""


def decide(signs: Signs, *, lease_s: float) -> Step:
    """What this agent does now."""
    if signs.here == signs.batch_host or not signs.is_clean or signs.silent_s < LEASES * lease_s:
        return "watch"
    wait_s = turn_s(signs)
    if is_majority(signs):
        return "take_over" if signs.silent_s >= LEASES * lease_s + wait_s else "vote"
    return "ask_slurm" if signs.silent_s >= _LEASES_ALONE * lease_s + wait_s else "vote"


def is_late(signs: Signs, *, lease_s: float) -> bool:
    """Whether a takeover that somebody has claimed should long have been done."""
    return signs.silent_s >= _LEASES_TO_THE_END * lease_s


def is_majority(signs: Signs) -> bool:
    """Whether more than half of the agents have voted. Without knowing how many there are nobody has a majority."""
    votes = {node for node in signs.votes if node in signs.nodes and node != signs.batch_host}
    return signs.voters > 0 and 2 * len(votes) > signs.voters


def turn_s(signs: Signs) -> float:
    """How much later than the first agent of the job this one acts."""
    others = [node for node in signs.nodes if node != signs.batch_host]
    place = others.index(signs.here) if signs.here in others else len(others)
    return _TURN_S * place


def is_counting(signs: Signs, *, lease_s: float) -> bool:
    """Whether this agent's turn has come to look at the votes."""
    return signs.silent_s >= LEASES * lease_s + turn_s(signs)
