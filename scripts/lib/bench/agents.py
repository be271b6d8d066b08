"""What the agent costs its node."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from product import packages

from bench.measure import Measure
from bench.place import Place
from bench.traces import opened, traced

_RANKS = 8
_SETTLE_S, _WATCH_S = 5.0, 20.0
_AGENT = "/runtime.tar"
"""The end of the file that an agent is started from."""
_MEGABYTE = 1_000_000


def measures(place: Place) -> Iterator[Measure]:
    """Core and memory beside eight ranks that beat; the opens of its start."""
    yield from _core_and_memory(place)
    yield _opens(place)


def _core_and_memory(place: Place) -> Iterator[Measure]:
    words = [f"--ntasks-per-node={_RANKS}", "train.sbatch", "--steps", "100000", "--step-seconds", "1"]
    job = place.supervised(place.folder("agent"), "-N1", *words)
    job.wait_output("^step 10 ")
    pid = place.pid(_AGENT)
    time.sleep(_SETTLE_S)  # its start is another measure
    began, before = time.monotonic(), _cpu_s(pid)
    time.sleep(_WATCH_S)
    share = (_cpu_s(pid) - before) / (time.monotonic() - began)
    peak = _peak_bytes(pid) / _MEGABYTE
    yield Measure(measure=f"agent beside {_RANKS} ranks at 1 Hz, core", value=share * 100, unit="%", limit=1)
    yield Measure(measure="agent's memory at its peak", value=peak, unit="MB", limit=45)
    place.end(job)


def _cpu_s(pid: int) -> float:
    """Seconds of a core so far, by the scheduler's clock: ticks are too coarse for what is asked here."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _peak_bytes(pid: int) -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if found is None:
        raise OSError(f"the agent, process {pid}, has ended")
    return int(found[1]) * 1024


def _opens(place: Place) -> Measure:
    """Opens of files that all nodes share, tried ones included, of an agent's start beside ranks of a second node."""
    packages.install(["strace"])
    with traced(place.bed, "node002") as folder:
        job = place.supervised(place.folder("opens"), "-N2", "train.sbatch", "--steps", "20", "--step-seconds", "0.1")
        job.wait_ended()
        if job.batch_host() == "node002":
            raise OSError("the node whose agent was traced is the batch host")
        paths = opened({int(path.suffix[1:]): path.read_text(errors="replace") for path in folder.iterdir()}, _AGENT)
    library = f"{place.product.library}/"
    shared = tuple(f"{os.path.realpath(part)}/" for part in (place.bed.home, place.product.folder))
    return Measure(
        measure="agent's opens on the shared filesystem",
        value=sum(path.startswith(shared) for path in paths),
        unit="",
        limit=50,
        beside={"of Python's own library": sum(path.startswith(library) for path in paths)},
    )
