"""What one `beat()` costs its rank."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from product.venv import CHECKOUT

from bench.measure import Measure

_NVRX_US = 162.0
"""NVRx 0.4.1 `send_heartbeat`, p50, measured on one machine with a page store at 0.3 µs."""
_DEADLINE_S = 120.0

# A rank that beats, in a process of its own. With seccomp's strict mode the kernel kills it at any system call but
# read, write and exit, so that one byte at the end proves that there was none; reads and writes are counted by the
# kernel itself.
_RANK = """
import ctypes, gc, json, os, statistics, sys, time
from supervise_beat import beat

CALLS, BATCHES = 200, 500
for step in range(5000):
    beat(step, loss=0.5)
times = []
for _ in range(BATCHES):
    began = time.perf_counter_ns()
    for step in range(CALLS):
        beat(step, loss=0.5)
    times.append((time.perf_counter_ns() - began) / CALLS)

def io():
    with open("/proc/self/io") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("sysc"))

before = io()
idle = io() - before
before = io()
for step in range(100_000):
    beat(step, loss=0.5)
calls = io() - before - idle

reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(reader)
    gc.disable()
    for step in range(1000):
        beat(step, loss=0.5)
    PR_SET_SECCOMP, STRICT = 22, 1
    prctl = ctypes.CDLL(None).prctl
    strict = prctl(PR_SET_SECCOMP, STRICT, 0, 0, 0)
    for step in range(100_000):
        beat(step, loss=0.5)
    os.write(writer, b"n" if strict else b"y")
    os._exit(0)
os.close(writer)
proof = os.read(reader, 1).decode()
os.waitpid(child, 0)
print(json.dumps({"ns": statistics.median(times), "calls": calls, "proof": proof}))
"""


def measures(python: Path) -> Iterator[Measure]:
    """Time, system calls, and the ratio to a heartbeat over a socket."""
    found = _rank(python)
    nanoseconds = found["ns"]
    yield Measure(measure="beat() p50", value=nanoseconds / 1000, unit="us", limit=0.6)
    yield Measure(
        measure="beat() cheaper than NVRx",
        value=_NVRX_US * 1000 / nanoseconds,
        unit="times",
        limit=200,
        way=">=",
        beside={"NVRx send_heartbeat p50, us (cited)": _NVRX_US},
    )
    if found["proof"] == "n":
        yield Measure(measure="beat() reads and writes in 100,000", value=found["calls"], unit="", limit=0)
    else:
        others = 0 if found["proof"] == "y" else 1
        yield Measure(measure="beat() system calls in 100,000", value=found["calls"] + others, unit="", limit=0)


def _rank(python: Path) -> dict[str, Any]:
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # where ranks have their pages
    with tempfile.TemporaryDirectory(prefix="supervise-bench-", dir=base) as pages:
        done = subprocess.run(
            [str(python), "-c", _RANK],
            env={
                "PATH": os.defpath,
                "PYTHONPATH": str(CHECKOUT / "supervisor" / "beat"),
                "PYTHONDONTWRITEBYTECODE": "1",
                "SUPERVISE_RUN_ID": "bench-aaaaa",
                "SUPERVISE_ATTEMPT": "1",
                "SLURM_JOB_ID": "1",
                "SLURM_PROCID": "0",
                "SUPERVISE_BEAT_DIR": pages,
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=_DEADLINE_S,
        )
        if not list(Path(pages).iterdir()):
            raise RuntimeError("the rank has no page: what was measured is not a beat")
        found: dict[str, Any] = json.loads(done.stdout)
        return found
