"""Which files the processes of a node open: strace on its slurmd and on all that slurmd starts."""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from story.waiting import wait_for
from testbed import processes
from testbed.api import Testbed
from testbed.layout import Layout

_ATTACH_S, _END_S = 30.0, 30.0
_OPEN = re.compile(r'^open(?:at)?\([^"]*"([^"]+)"')
_CHILD = re.compile(r"^(?:clone3?|v?fork)\(.* = (\d+)$")


@contextmanager
def traced(bed: Testbed, node: str) -> Iterator[Path]:
    """A folder with one file for each process that began on the node meanwhile, its pid as the suffix."""
    slurmd = next(one.pid for one in processes.all_of(Layout(bed.name)) if _is_slurmd(one.pid, node))
    with tempfile.TemporaryDirectory(prefix="supervise-bench-") as folder:
        calls = "--trace=execve,open,openat,clone,clone3,fork,vfork"
        command = ["strace", "-ff", "-qqq", "-s4096", "--signal=none", calls, "-o", f"{folder}/trace", f"-p{slurmd}"]
        with subprocess.Popen(command) as strace:
            try:
                wait_for(lambda: _is_traced(slurmd), f"strace follows slurmd of {node}", _ATTACH_S)
                yield Path(folder)
            finally:
                _end(strace)


def _is_slurmd(pid: int, node: str) -> bool:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
        return Path(words[0]).name == "slurmd" and node in words
    return False


def _is_traced(pid: int) -> bool:
    return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()


def _end(strace: "subprocess.Popen[bytes]") -> None:
    """It lets go of what it follows."""
    strace.terminate()
    try:
        strace.wait(_END_S)
    except subprocess.TimeoutExpired:
        strace.kill()


def opened(traces: Mapping[int, str], program: str) -> list[str]:
    """Paths that a program and its children tried to open; the program has an argument that ends in this text."""
    starts = [pid for pid, text in traces.items() if _since_start(text, program)]
    found: list[str] = []
    for pid in starts:
        found += _opened_below(traces, _since_start(traces[pid], program))
    return found


def _since_start(trace: str, program: str) -> list[str]:
    """The lines of a trace after the process became the program."""
    lines = trace.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("execve(") and f'{program}"' in line and line.endswith(" = 0"):
            return lines[number + 1 :]
    return []


def _opened_below(traces: Mapping[int, str], lines: list[str]) -> list[str]:
    found = []
    for line in lines:
        if match := _OPEN.match(line):
            found.append(match[1])
        elif match := _CHILD.match(line):
            found += _opened_below(traces, traces.get(int(match[1]), "").splitlines())
    return found
