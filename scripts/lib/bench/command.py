"""What the command costs: its start, its size, and what it adds to sbatch."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from product.venv import CHECKOUT
from story.example import user_folder
from testbed.api import Testbed

from bench.measure import Measure, paired_difference

_PAIRS = 9
_HELPS = 11
_CHECKPOINTS = 12
_PIP_S = 600.0
_MEGABYTE = 1_000_000

# On the login node, as the user: both commands in turn, each held so that nothing runs beside them.
_SBATCH_PAIRS = """
import json, subprocess, sys, time
plain, ours, pairs = json.loads(sys.argv[1])

def seconds(argv):
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began

print(json.dumps([(seconds(plain), seconds(ours)) for _ in range(pairs)]))
"""


def help_and_size(python: Path) -> Iterator[Measure]:
    """What needs no cluster."""
    command = str(python.with_name("supervise"))
    times = [(_seconds([str(python), "-I", "-c", ""]), _seconds([command, "--help"])) for _ in range(_HELPS)]
    yield Measure(
        measure="supervise --help",
        value=median(ours for _, ours in times),
        unit="s",
        limit=0.15,
        beside={"python -c '', s": median(alone for alone, _ in times)},
    )
    yield Measure(measure="default install", value=_installed_bytes(python) / _MEGABYTE, unit="MB", limit=60)


def _seconds(argv: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=60)
    return time.perf_counter() - began


def _installed_bytes(python: Path) -> int:
    """Of the product and what it depends on, compiled files included; not of Python or pip."""
    with tempfile.TemporaryDirectory(prefix="supervise-bench-") as folder:
        command = [str(python), "-m", "pip", "install", "--quiet", "--target", folder, str(CHECKOUT)]
        print("installing into a folder of its own", file=sys.stderr)
        subprocess.run(command, check=True, timeout=_PIP_S, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def added_to_sbatch(bed: Testbed, python: Path) -> Iterator[Measure]:
    """With and without a folder of checkpoints to look at."""
    folder = user_folder(bed, "sbatch")
    (folder / "job.sh").write_text("#!/bin/sh\n#SBATCH -N2\ntrue\n")
    checkpoints = user_folder(bed, "sbatch/checkpoints")
    for number in range(1, _CHECKPOINTS + 1):
        (checkpoints / f"step-{number * 100:06d}.pt").write_bytes(os.urandom(10_000))
    for name, options in (("", []), (" with checkpoints", ["--checkpoint", str(checkpoints)])):
        plain = ["sbatch", "-H", "job.sh"]
        ours = [str(python.with_name("supervise")), *options, *plain]
        said = json.dumps([plain, ours, _PAIRS])
        done = bed.run(["python3", "-c", _SBATCH_PAIRS, said], cwd=folder)
        pairs = [(first, second) for first, second in json.loads(done.stdout)]
        bed.run(["scancel", "--me"])
        yield Measure(
            measure=f"added to sbatch{name}",
            value=paired_difference(pairs),
            unit="s",
            limit=0.4,
            beside={"sbatch, s": median(first for first, _ in pairs)},
        )
