"""Which runs wait for a person. Pure."""

from collections.abc import Callable

from supervisor.report.fleet.model import Waiting
from supervisor.report.fleet.tally import Tally


def waiting(tally: Tally, name_of: Callable[[str], str]) -> tuple[Waiting, ...]:
    """Runs whose newest word is a stop within the window, the newest first."""
    asked = tally.asked
    found = [
        Waiting(
            run=run,
            job=one.job,
            user=name_of(one.user),
            cls=one.why[0],
            cause=one.why[1],
            node=one.why[2],
            at=one.open_at,
        )
        for (_, _, run), one in tally.runs.items()
        if one.open_at is not None and asked.begin <= one.open_at < asked.until
    ]
    return tuple(sorted(found, key=lambda one: (-one.at, one.run)))
