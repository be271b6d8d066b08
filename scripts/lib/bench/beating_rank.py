"""A rank that does nothing but beat, a process of its own: prints what that cost as JSON.

Under seccomp's strict mode the kernel kills a process at any system call but read, write and exit. So a word
written at the end proves that there was no other; reads and writes are counted by the kernel itself.
"""

import ctypes
import gc
import json
import os
import sys
import time
from pathlib import Path

from supervise_beat import beat

WARM, TIMED, COUNTED = 5_000, 100_000, 100_000
_SECCOMP, _STRICT = 22, 1


def timed() -> list[int]:
    """Nanoseconds of each of many calls, without what looking at the clock takes."""
    now = time.perf_counter_ns
    clock = sorted(-now() + now() for _ in range(TIMED))[TIMED // 2]
    times = []
    for step in range(TIMED):
        began = now()
        beat(step, loss=0.5)
        times.append(now() - began - clock)
    return sorted(times)


def reads_and_writes() -> int:
    """How many of them this process has made so far, this look included."""
    text = Path("/proc/self/io").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("sysc"))


def counted() -> int:
    """Reads and writes of many calls."""
    first = reads_and_writes()
    look = reads_and_writes() - first
    before = reads_and_writes()
    for step in range(COUNTED):
        beat(step, loss=0.5)
    return reads_and_writes() - before - look


def under_strict_mode() -> None:
    """Print `survived` after many calls, `no mode` where the kernel has no such mode; the kernel ends this process."""
    gc.disable()
    libc = ctypes.CDLL(None)
    if libc.prctl(_SECCOMP, _STRICT, 0, 0, 0):
        sys.exit("no mode")
    for step in range(COUNTED):
        beat(step, loss=0.5)
    os.write(2, b"survived")
    os._exit(0)  # which is not allowed either


def main() -> None:
    """Measure and print, or with the argument `strict` only prove."""
    for step in range(WARM):
        beat(step, loss=0.5)
    if sys.argv[1:] == ["strict"]:
        under_strict_mode()
    times = timed()
    print(json.dumps({"p50_ns": times[len(times) // 2], "p99_ns": times[len(times) * 99 // 100], "calls": counted()}))


if __name__ == "__main__":
    main()
