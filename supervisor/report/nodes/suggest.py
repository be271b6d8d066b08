"""The drain that is suggested: the exact command, for a person. Nothing here runs it. Pure."""

from collections.abc import Callable, Sequence
from typing import Final

from supervisor.report.nodes.model import Standing, Suggestion
from supervisor.report.nodes.names import is_node, word
from supervisor.report.nodes.suspicion import p_is

MOST_SHARE: Final = 0.1
"""Of the nodes that are known, at once: if more look bad, their common cause is more likely than all of them."""
_PREFIX: Final = "[supervise] "
_REASON: Final = 200
"""Characters. Slurm cuts none, but a list of nodes with longer ones cannot be read."""


def suggestions(
    standings: Sequence[Standing], looks: int, days: float, redact: Callable[[str], str]
) -> tuple[tuple[Suggestion, ...], tuple[str, ...]]:
    """For the worst suspects, and the names of those that are held back. `standings`: the worst first.

    `redact` takes secrets out of a text.
    """
    suspects = [each for each in standings if each.level == "suspect" and is_node(each.node)]
    cap = max(1, int(len(standings) * MOST_SHARE))
    chosen = tuple(Suggestion(node=each.node, command=command(each, looks, days, redact)) for each in suspects[:cap])
    return chosen, tuple(each.node for each in suspects[cap:])


def command(standing: Standing, looks: int, days: float, redact: Callable[[str], str]) -> str:
    """To be pasted into a shell: the reason holds nothing that a shell looks at within double quotes."""
    return f'scontrol update NodeName={standing.node} State=DRAIN Reason="{reason(standing, looks, days, redact)}"'


def reason(standing: Standing, looks: int, days: float, redact: Callable[[str], str]) -> str:
    """With our prefix, so that everybody sees whose word it was; without users, redacted, bounded."""
    told, numbers = standing.telemetry, standing.numbers
    if told.level == "suspect":
        text = " ".join(filter(None, (told.rule, told.gpu, told.text)))
    else:
        causes = dict.fromkeys(
            " ".join([moment.what, *moment.gpus])
            for moment in standing.timeline
            if moment.kind == "incident" and moment.is_counted
        )
        text = (
            f"{numbers.incidents} incidents in {days:.0f} d, {numbers.expected:.2g} expected, "
            f"{p_is(numbers.p_corrected)} corrected for {looks} looks: {', '.join(causes)}"
        )
    return word(_PREFIX + redact(text), _REASON)
