"""What the command costs: its start, its size, and what it adds to sbatch."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from story.example import supervise, user_folder

from bench.installed import Installed
from bench.measure import Measure, Pair, paired_difference, without
from bench.place import Place

_PAIRS = 9
_HELPS = 11
_CHECKPOINTS, _CHECKPOINT_BYTES = 20, 1_000_000
_HELP_S = 60.0
_MEGABYTE = 1_000_000

# On the login node, as the user: both commands in turn, the first pair unmeasured since it warms the caches.
_INTERLEAVED = """
import json, subprocess, sys, time
plain, ours, pairs = json.loads(sys.argv[1])

def seconds(argv):
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began

print(json.dumps([(seconds(plain), seconds(ours)) for _ in range(pairs + 1)][1:]))
"""


def help_and_size(product: Installed) -> Iterator[Measure]:
    """What needs no cluster."""
    nothing, shown = [str(product.python), "-I", "-c", ""], [product.supervise, "--help"]
    pairs = [(_seconds(nothing), _seconds(shown)) for _ in range(_HELPS)]
    yield Measure(
        measure="supervise --help",
        value=median(ours for _, ours in pairs),
        unit="s",
        limit=0.15,
        beside={"python -c '', s": without(pairs)},
    )
    yield Measure(measure="default install", value=product.size_bytes / _MEGABYTE, unit="MB", limit=60)


def _seconds(argv: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=_HELP_S)
    return time.perf_counter() - began


def added_to_sbatch(place: Place) -> Iterator[Measure]:
    """With and without a folder of checkpoints to look at. Jobs are held, so that nothing runs beside the commands."""
    folder = user_folder(place.bed, "sbatch")
    (folder / "job.sh").write_text("#!/bin/sh\n#SBATCH -N2\ntrue\n", encoding="utf-8")
    looked_at = _checkpoints(place, "sbatch/checkpoints")
    for name, options in (("", []), (f", {_CHECKPOINTS} checkpoints to look at", ["--checkpoint", str(looked_at)])):
        pairs = _pairs(place, folder, options)
        yield Measure(
            measure=f"added to sbatch{name}",
            value=paired_difference(pairs),
            unit="s",
            limit=0.4,
            beside={"plain sbatch, s": without(pairs)},
        )


def _checkpoints(place: Place, name: str) -> Path:
    folder = user_folder(place.bed, name)
    for number in range(1, _CHECKPOINTS + 1):
        (folder / f"step-{number * 100:06d}.bin").write_bytes(bytes(_CHECKPOINT_BYTES))
    return folder


def _pairs(place: Place, folder: Path, options: Sequence[str]) -> list[Pair]:
    held = ["-H", "job.sh"]
    said = json.dumps([["sbatch", *held], supervise(place.product.python, ["-q", *options], held), _PAIRS])
    done = place.bed.run([str(place.trainer), "-c", _INTERLEAVED, said], cwd=folder)
    place.bed.run(["scancel", "--me"])
    return [(plain, ours) for plain, ours in json.loads(done.stdout)]
