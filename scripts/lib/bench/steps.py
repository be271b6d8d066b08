"""How much slower ranks step under supervision: by their own CPU time, so that other processes count for little.

The bar is a fifth of a percent, and a machine's clock alone wanders by more. So both jobs do the same work on the same
core; of each job the least disturbed window counts; jobs with and without us alternate, and what counts is the median
of their ratios, with the interval that says how far it can be trusted.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from story.example import user_folder
from story.job import Job

from bench.measure import Measure, Pair, median_interval, paired_ratio, without
from bench.place import Place

_RANK = Path(__file__).with_name("stepping_rank.py")
_SCRIPT = '#!/bin/sh\n#SBATCH -N1 --time=5\nsrun -n1 "$PYTHON" stepping_rank.py "$1"\n'
_LEAST_PAIRS, _MOST_PAIRS = 12, 40
_WIDTH = 0.002
"""An interval as wide as the bar is narrow enough."""
_LIMIT_PERCENT = 0.2
_CALIBRATED_S = 60.0

Window = tuple[float, float]
"""CPU seconds of a step, seconds of a step in which its process waited for a core."""


def step_time(place: Place) -> Iterator[Measure]:
    """The CPU time of a step with us against without, in jobs that alternate."""
    updates = _updates(place.trainer)
    pairs: list[tuple[Window, Window]] = []
    while not is_enough([_costs(pair) for pair in pairs]):
        pairs.append(_pair(place, updates, len(pairs)))
    yield measure(pairs)


def measure(pairs: Sequence[tuple[Window, Window]]) -> Measure:
    """What the windows of these pairs of jobs say."""
    costs = [_costs(pair) for pair in pairs]
    low, high = median_interval([ours / plain for plain, ours in costs])
    return Measure(
        measure="step's CPU time, added by supervision",
        value=(paired_ratio(costs) - 1) * 100,
        unit="%",
        limit=_LIMIT_PERCENT,
        beside={
            "95% interval, %": f"{(low - 1) * 100:+.2f} to {(high - 1) * 100:+.2f}",
            "pairs of jobs": len(pairs),
            "step without, ms": without(costs) * 1000,
            "of it waiting for a core without / with, %": _waiting(pairs),
        },
    )


def is_enough(pairs: Sequence[Pair]) -> bool:
    """The interval is narrow enough to tell, or more pairs would take too long."""
    if not _LEAST_PAIRS <= len(pairs) < _MOST_PAIRS:
        return len(pairs) >= _MOST_PAIRS
    low, high = median_interval([ours / plain for plain, ours in pairs])
    return high - low <= _WIDTH


def best_window(output: str) -> Window:
    """Of a job the window that cost least: the one that others disturbed least. Raises `OSError` where it told none."""
    found = re.search(r'^\{"windows": .*\}$', output, re.MULTILINE)
    if found is None:
        raise OSError(f"the rank told no times: {output[-500:]!r}")
    return min((cost, waited) for cost, waited in json.loads(found[0])["windows"])


def _costs(pair: tuple[Window, Window]) -> Pair:
    return pair[0][0], pair[1][0]


def _waiting(pairs: Sequence[tuple[Window, Window]]) -> str:
    shares = [median(window[1] / window[0] * 100 for window in side) for side in zip(*pairs, strict=True)]
    return " / ".join(f"{share:.2f}" for share in shares)


def _updates(python: Path) -> int:
    """The work of a step, the same for all jobs."""
    command = [str(python), str(_RANK)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=_CALIBRATED_S).stdout)


def _pair(place: Place, updates: int, number: int) -> tuple[Window, Window]:
    """Who goes first changes from pair to pair, so that a machine that grows slower favours nobody."""
    runs = {"plain": place.plain, "ours": place.supervised}
    found: dict[str, Window] = {}
    for name in sorted(runs, reverse=number % 2 == 0):
        folder = user_folder(place.bed, f"steps-{name}")
        (folder / "job.sh").write_text(_SCRIPT, encoding="utf-8")
        (folder / _RANK.name).write_text(_RANK.read_text(encoding="utf-8"), encoding="utf-8")
        job: Job = runs[name](folder, "job.sh", str(updates))
        job.wait_ended()
        found[name] = best_window(job.output)
    print(f"pair {number + 1}: {(found['ours'][0] / found['plain'][0] - 1) * 100:+.2f} %", file=sys.stderr, flush=True)
    return found["plain"], found["ours"]
