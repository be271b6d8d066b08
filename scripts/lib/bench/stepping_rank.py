"""A rank that steps with fixed work on one core, a process of its own: prints what its windows of steps cost as JSON.

`stepping_rank.py UPDATES`: a step is so many updates of a hash over a buffer of L2's size. It runs in C without a
branch that depends on data, so that two processes differ by little but by what disturbs them. Without an argument it
prints how many updates take one step's length on this machine.
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path

try:
    from supervise_beat import beat
except ImportError:  # not under supervise: without us

    def beat(*_args: object, **_more: object) -> bool:
        """Nobody listens."""
        return False


STEP_S = 0.06
STEPS, WINDOWS = 20, 6
"""A window is longer than a second: it holds each of what supervision does once a second."""
_BUFFER = bytes(256 * 1024)
_TRIES, _TRIED = 40, 50
"""Short ones: on a busy machine some of them are left alone."""


def step(updates: int) -> None:
    """The work."""
    work = hashlib.sha256()
    for _ in range(updates):
        work.update(_BUFFER)


def updates_of_a_step() -> int:
    """How many updates take a step's length, by the fastest of many tries."""
    best = float("inf")
    for _ in range(_TRIES):
        began = time.process_time()
        step(_TRIED)
        best = min(best, time.process_time() - began)
    return max(1, round(STEP_S / best * _TRIED))


def waited_s() -> float:
    """Seconds for which this process could have run and had no core."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def windows(updates: int) -> list[tuple[float, float]]:
    """Of each window the CPU seconds of one step, and its seconds of waiting for a core. The first warms up."""
    found, number = [], 0
    for _ in range(WINDOWS + 1):
        waited, began = waited_s(), time.process_time()
        for _ in range(STEPS):
            step(updates)
            number += 1
            beat(number, loss=0.5)
        cost = time.process_time() - began
        found.append((cost / STEPS, (waited_s() - waited) / STEPS))
    return found[1:]


def main() -> None:
    """On the last core that this process may use, so that all ranks of all jobs take the same."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(json.dumps({"windows": windows(int(sys.argv[1]))} if sys.argv[1:] else updates_of_a_step()), flush=True)


if __name__ == "__main__":
    main()
