"""What went on without a person, and which runs wait for one. Pure."""

from collections.abc import Callable

from supervisor.report.fleet.model import Waiting
from supervisor.report.fleet.tally import Tally


def share(part: int, whole: int) -> float | None:
    """None where there is nothing to have a share of."""
    return part / whole if whole else None


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
        for run, one in tally.runs.items()
        if one.open_at is not None and asked.begin <= one.open_at < asked.until
    ]
    return tuple(sorted(found, key=lambda one: (-one.at, one.run)))
