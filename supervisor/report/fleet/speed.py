"""How fast interruptions are seen, pinned down and overcome, and where the time of recoveries goes. Pure."""

from collections.abc import Mapping
from typing import Final

from supervisor.report.fleet.model import Part, Speed, Spread
from supervisor.report.fleet.quantile import kth
from supervisor.report.fleet.sums import Durations, Times

_NINE_TENTHS: Final = 0.9
REMEDIES: Final[Mapping[str, str]] = {
    "decide": "Slurm answers slowly: look at slurmctld's load (`sdiag`)",
    "stop": "ranks end late: let them leave on SIGTERM, or lower stop_grace_s; a rank in D state holds its node",
    "launch": "hold a spare (`--spares 1`) so that no job has to queue, and keep the environment on local disks",
    "init": "programs take long to their first step: load the checkpoint once per node, cache compiled kernels",
    "catch_up": "steps are computed again: save checkpoints more often, or in the background",
}
"""For the largest part of recoveries."""


def speed(times: Times) -> Speed:
    """Median, nine tenths and longest of each, and the parts by size."""
    whole = sum(times.parts.values())
    parts = sorted(
        (Part(name=name, seconds=seconds, share=seconds / whole) for name, seconds in times.parts.items() if seconds),
        key=lambda part: (-part.seconds, part.name),
    )
    return Speed(
        detection=spread(times.detect),
        isolation=spread(times.isolate),
        recovery=spread(times.recover),
        isolated_to=tuple(sorted(times.isolated_to.items(), key=lambda item: (-item[1], item[0]))),
        parts=tuple(parts),
        remedy=REMEDIES[parts[0].name] if parts else "",
    )


def spread(found: Durations) -> Spread | None:
    """Of what was measured; None: nothing was."""
    parts = found.parts
    known = sum(map(len, parts))
    if not known:
        return None
    return Spread(
        known=known,
        median_s=(kth(parts, (known - 1) // 2) + kth(parts, known // 2)) / 2,
        p90_s=kth(parts, max(0, -int(-_NINE_TENTHS * known // 1) - 1)),
        max_s=kth(parts, known - 1),
    )
