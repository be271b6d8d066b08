"""How much slower ranks step under supervision: by their own CPU time, so that other processes count for little.

The bar is a fifth of a percent, and a machine that others use as well wanders by several. So both jobs do the same
work on the same core, jobs with and without us alternate, and their least disturbed windows are compared.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from story.example import user_folder

from bench.floor import JobPair, floor_ratio, interval
from bench.measure import Measure
from bench.place import Place

_RANK = Path(__file__).with_name("stepping_rank.py")
_SCRIPT = '#!/bin/sh\n#SBATCH -N1 --time=5\nsrun -n1 "$PYTHON" stepping_rank.py "$1"\n'
_LEAST_PAIRS, _MOST_PAIRS = 12, 40
_WIDTH = 0.002
"""An interval as wide as the bar is narrow enough."""
_LIMIT_PERCENT = 0.2
_CALIBRATED_S = 60.0

Windows = list[tuple[float, float]]
"""Of each window the CPU seconds of one step, and the seconds of a step in which its process waited for a core."""


def step_time(place: Place) -> Iterator[Measure]:
    """The CPU time of a step with us against without, in jobs that alternate."""
    updates = _updates(place.trainer)
    pairs: list[tuple[Windows, Windows]] = []
    while not is_enough([costs(pair) for pair in pairs]):
        pairs.append(_pair(place, updates, len(pairs)))
        print(f"steps: {len(pairs)} pairs of jobs", file=sys.stderr, flush=True)
    yield measure(pairs)


def measure(pairs: Sequence[tuple[Windows, Windows]]) -> Measure:
    """What the windows of these pairs of jobs say."""
    known = [costs(pair) for pair in pairs]
    low, high = interval(known)
    return Measure(
        measure="step's CPU time, added by supervision",
        value=(floor_ratio(known) - 1) * 100,
        unit="%",
        limit=_LIMIT_PERCENT,
        beside={
            "95% interval, %": f"{(low - 1) * 100:+.2f} to {(high - 1) * 100:+.2f}",
            "pairs of jobs": len(pairs),
            "step without, ms": min(cost for plain, _ in known for cost in plain) * 1000,
            "waiting for a core without / with, %": " / ".join(f"{share:.2f}" for share in _waiting(pairs)),
        },
    )


def is_enough(pairs: Sequence[JobPair]) -> bool:
    """The interval is narrow enough to tell, or more pairs would take too long."""
    if not _LEAST_PAIRS <= len(pairs) < _MOST_PAIRS:
        return len(pairs) >= _MOST_PAIRS
    low, high = interval(pairs)
    return high - low <= _WIDTH


def windows_of(output: str) -> Windows:
    """What a job's rank has told. Raises `OSError` where it told nothing."""
    found = re.search(r'^\{"windows": .*\}$', output, re.MULTILINE)
    if found is None:
        raise OSError(f"the rank told no times: {output[-500:]!r}")
    return [(cost, waited) for cost, waited in json.loads(found[0])["windows"]]


def costs(pair: tuple[Windows, Windows]) -> JobPair:
    """The CPU seconds alone."""
    plain, ours = ([cost for cost, _ in windows] for windows in pair)
    return plain, ours


def _waiting(pairs: Sequence[tuple[Windows, Windows]]) -> Iterator[float]:
    """Beside its CPU time, in percent of it, without and with us."""
    for side in zip(*pairs, strict=True):
        yield median(waited / cost * 100 for windows in side for cost, waited in windows)


def _updates(python: Path) -> int:
    """The work of a step, the same for all jobs."""
    command = [str(python), str(_RANK)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=_CALIBRATED_S).stdout)


def _pair(place: Place, updates: int, number: int) -> tuple[Windows, Windows]:
    """Who goes first changes from pair to pair, so that a machine that grows slower favours nobody."""
    runs = {"plain": place.plain, "ours": place.supervised}
    found: dict[str, Windows] = {}
    for name in sorted(runs, reverse=number % 2 == 0):
        folder = user_folder(place.bed, f"steps-{name}")
        (folder / "job.sh").write_text(_SCRIPT, encoding="utf-8")
        (folder / _RANK.name).write_text(_RANK.read_text(encoding="utf-8"), encoding="utf-8")
        job = runs[name](folder, "job.sh", str(updates))
        job.wait_ended()
        found[name] = windows_of(job.output)
    return found["plain"], found["ours"]
