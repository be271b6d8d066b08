"""How long `supervise report` takes over large ledgers, from the start of the command to its end."""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from bench.installed import Installed
from bench.measure import Measure
from bench.report_ledger import keep_up, many_files, one_file

_DROP = Path("/proc/sys/vm/drop_caches")
_PLACE = "/var/tmp"  # noqa: S108  # a disk: /tmp may be memory, which is never cold
_DEADLINE_S = 300.0
_ROUNDS = 3
_MANY_RECORDS, _MANY_FILES = 50_000, 20_000
_ONE_RECORDS, _ONE_JOBS = 1_000_000, 20_000
_COUNTED = re.compile(r"^([\d,]+) interruptions, ([\d,]+) jobs", re.MULTILINE)


class WrongReport(OSError):
    """The report does not say what the ledger holds: its time means nothing."""


def measures(product: Installed) -> Iterator[Measure]:
    """A year of a busy site in a file for each job, the same after upkeep, and as many records as one file can have."""
    with tempfile.TemporaryDirectory(prefix="supervise-bench-", dir=_PLACE) as name:
        many, one = Path(name) / "many", Path(name) / "one"
        many_files(many, _MANY_RECORDS, _MANY_FILES)
        what = f"report: {_MANY_RECORDS:,} records"
        yield _measure(product, many, f"{what}, {_MANY_FILES:,} files", 1.5, _MANY_FILES)
        keep_up(product.python, many)
        files = sum(1 for _ in many.rglob("*.jsonl"))
        yield _measure(product, many, f"{what}, {files:,} files after upkeep", 1.5, _MANY_FILES)
        one_file(one, _ONE_RECORDS, _ONE_JOBS)
        yield _measure(product, one, f"report: {_ONE_RECORDS:,} records, one file", 3.0, _ONE_JOBS)


def _measure(product: Installed, ledger: Path, name: str, limit: float, jobs: int) -> Measure:
    os.sync()
    _told(product, ledger, jobs)  # the command itself is warm, as any command is that is in use
    rounds, floor = [], []
    for _ in range(_ROUNDS):
        is_cold = _drop_caches(product)
        floor.append(_seconds(lambda: _read_through(ledger)))
        _drop_caches(product)
        rounds.append(_seconds(lambda: _told(product, ledger, jobs)))
    return Measure(
        measure=f"{name}, {'cold' if is_cold else 'warm'}",
        value=median(rounds),
        unit="s",
        limit=limit,
        beside={"longest, s": max(rounds), "cat, s": median(floor), "cores": len(os.sched_getaffinity(0))},
    )


def _seconds(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _read_through(ledger: Path) -> None:
    """One file after the other, as it lies there: what it costs to have the bytes at all."""
    command = ["find", str(ledger), "-name", "*.jsonl", "-exec", "cat", "{}", "+"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=_DEADLINE_S)


def _told(product: Installed, ledger: Path, jobs: int) -> None:
    command = [product.supervise, "report", "--ledger", str(ledger), "--until", "2030-01-01"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_DEADLINE_S)
    counted = _COUNTED.search(done.stdout)
    if done.stderr or counted is None or counted[2] != f"{jobs:,}":
        raise WrongReport(f"not the report of {jobs} jobs: {done.stderr}{done.stdout}")


def _drop_caches(product: Installed) -> bool:
    """Nothing of the ledger is in memory any more, but the command is; whether that could be done."""
    with suppress(OSError):
        _DROP.write_text("3", encoding="ascii")
        subprocess.run([product.supervise, "report", "--help"], check=True, capture_output=True, timeout=_DEADLINE_S)
        return True
    return False
