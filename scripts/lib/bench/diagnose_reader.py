"""Runs in the product's own environment: makes logs, reads one with the engine, judges the project's incidents."""

import json
import resource
import sys
import tempfile
import time
import tomllib
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from statistics import mean

from supervisor.diagnose.bundle import Log
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.files import Pieces
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.scan.one_log import reading_catalogue, scan_log
from supervisor.diagnose.signatures import built_in
from supervisor.model.verdict import Retry

_MB = 50
_SLOW_MB = 8
_FAMILIES = ({"gpu_ecc_uncorrectable", "gpu_hbm_uncorrectable", "gpu_sram_uncorrectable"},)
_BARS = {"class": 0.97, "cause": 0.85, "node": 0.95, "no healthy node excluded": 1.0, "confidence gap": 0.25}
_STEP = (
    "[rank{rank}]:[titan] 2026-02-11 21:{minute:02d}:{second:02d},640 - root - INFO - step: {step:>5}  loss: {loss:.4f}"
    "  grad_norm:  0.3704  memory: 61.20GiB(77.3%)  tps: 6,979  tflops: 401.16  mfu: 40.96%"
)


def main() -> None:
    """One order."""
    match sys.argv[1:]:
        case ["literals"]:
            sys.stdout.write("\n".join(_literals()) + "\n")
        case ["make", kind]:
            sys.stdout.buffer.write(_made(kind))
        case ["read", path]:
            print(json.dumps(_read(Path(path))))
        case ["judge", folder]:
            print(json.dumps(_judged(Path(folder))))
        case _:
            sys.exit("diagnose_reader: literals | make KIND | read FILE | judge FOLDER")


def _read(path: Path) -> dict[str, float]:
    catalogue = reading_catalogue()
    scan_log(Log(name="warm", lines=("a", "srun: error: n1: task 1: Killed")), 0, catalogue)
    began = time.perf_counter()
    found = scan_log(Log(name="a.log", pieces=Pieces(path)), 0, catalogue)
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"seconds": seconds, "memory_mb": memory, "findings": len(found.findings)}


def _literals() -> list[str]:
    return sorted({one for sig in built_in() for one in sig.literals})


def _made(kind: str) -> bytes:
    match kind:
        case "ordinary":
            lines = [
                _STEP.format(rank=n % 64, minute=n // 60 % 60, second=n % 60, step=n, loss=2 + 1 / (n + 1))
                for n in range(2 * _MB * 1_000_000 // 190)
            ]
            lines.insert(
                len(lines) // 2, "[rank37]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"
            )
            return "\n".join(lines).encode()
        case "near-misses":
            line = "".join(f"{one} x\n" for one in _literals())
            return (line * (_MB * 1_000_000 // len(line) + 1)).encode()[: _MB * 1_000_000]
        case "no two alike":  # near-misses of which nothing can be remembered
            numbered = (f"{n} {one} {n % 997}\n" for n, one in enumerate(cycle(_literals())))
            return "".join(islice(numbered, _SLOW_MB * 1_000_000 // 20)).encode()[: _SLOW_MB * 1_000_000]
        case "long lines":
            bar = b"\r 10% |####      | 12/100 [00:31<38:10, 2.58s/it]" * 20_000 + b"\n"
            return bar * (_MB * 1_000_000 // len(bar))
        case _:
            line = "srun: error: " + "a" * 3000 + "!" + 'File "' + "x" * 900 + "\n" + "Error: " * 400 + "\n"
            return (line * (_MB * 1_000_000 // len(line))).encode()


def _judged(folder: Path) -> dict[str, object]:
    right: Counter[str] = Counter()
    of: Counter[str] = Counter()
    sure: dict[bool, list[float]] = {True: [], False: []}
    for path in sorted(folder.glob("*.toml")):
        truth = tomllib.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as place:
            for name, text in truth["files"].items():
                file = Path(place) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text.lstrip("\n").encode())
            said = diagnose(read_bundle(Path(place)))
        is_right = said.cls in (truth["class"], *truth.get("also_accept", []))
        sure[is_right].append(said.confidence)
        nodes = set(truth.get("nodes", []))
        allowed = nodes if truth.get("exclude") else set()
        answers = {
            "class": is_right,
            "cause": _same(said.cause, truth["cause"]),
            "retry": (said.retry in {Retry.YES, Retry.ONCE, Retry.SKIP}) == truth.get("retryable", False),
            "no healthy node excluded": set(said.exclude_nodes) <= allowed,
        }
        if nodes:
            answers["node"] = bool(said.blame.nodes) and said.blame.nodes[0] in nodes
        for name, is_so in answers.items():
            of[name] += 1
            right[name] += is_so
    shares: dict[str, float] = {name: right[name] / of[name] for name in of}
    if sure[True] and sure[False]:
        shares["confidence gap"] = mean(sure[True]) - mean(sure[False])
        of["confidence gap"] = len(sure[False])
    return {"shares": shares, "of": of, "bars": _BARS}


def _same(one: str, other: str) -> bool:
    return one == other or any({one, other} <= family for family in _FAMILIES)


if __name__ == "__main__":
    main()
