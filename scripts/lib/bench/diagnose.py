"""How fast the diagnosis engine reads logs, beside `grep -F` with the same literals; and how often it is right."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.installed import Installed
from bench.measure import Measure

_READER = Path(__file__).with_name("diagnose_reader.py")
_INCIDENTS = Path(__file__).resolve().parents[3] / "tests" / "data" / "incidents"
_DEADLINE_S = 600.0
_ROUNDS = 3
_KINDS = ("ordinary", "near-misses", "no two alike", "long lines", "bait")
_BARS = {"ordinary": 100.0, "near-misses": 10.0}
"""MB/s; the others have none, their figures show that hostile input costs no more than time in proportion."""


def measures(product: Installed) -> Iterator[Measure]:
    """Throughput on ordinary and on hostile logs, memory, and accuracy on the project's own incidents."""
    with tempfile.TemporaryDirectory(prefix="supervise-bench-") as folder:
        literals = Path(folder) / "literals"
        literals.write_bytes(_ask(product, "literals"))
        for kind in _KINDS:
            log = Path(folder) / "a.log"
            log.write_bytes(_ask(product, "make", kind))
            yield _speed(product, kind, log, literals)
    for half in ("tuned", "aside"):
        yield from _accuracy(product, half)


def _speed(product: Installed, kind: str, log: Path, literals: Path) -> Measure:
    size = log.stat().st_size / 1e6
    rounds = [(_timed_grep(log, literals), json.loads(_ask(product, "read", str(log)))) for _ in range(_ROUNDS)]
    grep = size / median(seconds for seconds, _ in rounds)
    ours = size / median(told["seconds"] for _, told in rounds)
    return Measure(
        measure=f"diagnose reads: {kind}, {size:.0f} MB",
        value=ours,
        unit="MB/s",
        limit=_BARS.get(kind),
        way=">=",
        beside={
            "grep -F, MB/s": grep,
            "ratio": ours / grep,
            "memory, MB": rounds[-1][1]["memory_mb"],
            "findings": rounds[-1][1]["findings"],
        },
    )


def _timed_grep(log: Path, literals: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        ["grep", "-c", "-F", "-f", literals, log],
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,  # 1: no line matches
        timeout=_DEADLINE_S,
    )
    return time.perf_counter() - began


def _accuracy(product: Installed, half: str) -> Iterator[Measure]:
    folder = _INCIDENTS / half
    told: dict[str, Any] = json.loads(_ask(product, "judge", str(folder)))
    for name, value in told["shares"].items():
        yield Measure(
            measure=f"diagnose right, incidents {half}: {name}",
            value=value,
            unit="",
            limit=told["bars"].get(name),
            way=">=",
            beside={"of": told["of"][name]},
        )


def _ask(product: Installed, *words: str) -> bytes:
    done = subprocess.run(
        [str(product.python), str(_READER), *words], capture_output=True, check=True, timeout=_DEADLINE_S
    )
    return done.stdout
