"""The blind spot: failures of jobs that ran without `supervise`, as far as accounting knows them. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from supervisor.ledger.site.history import UnseenFailure
from supervisor.report.fleet.cost import Loss, loss
from supervisor.report.fleet.model import Unseen
from supervisor.report.fleet.window import Asked


def unseen(failures: Sequence[UnseenFailure], asked: Asked) -> Unseen:
    """Those of the window."""
    within = [one for one in failures if asked.begin <= one.at < asked.until]
    whole = Loss()
    for one in within:
        whole.add(loss(1, 0, one.held_s * len(one.nodes), 0.0, gpus=one.gpus_per_node))
    return Unseen(
        failures=len(within),
        states=_most(one.state for one in within),
        cost_at_most=whole.cost(is_energy_known=False),
        nodes=_most(node for one in within for node in one.failed),
    )


def _most(words: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))
