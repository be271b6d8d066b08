"""What one `beat()` costs its rank."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.installed import Installed
from bench.measure import Measure

_NVRX_US = 162.0
"""NVRx 0.4.1 `send_heartbeat`, p50, measured on one machine with a page store at 0.3 µs."""
_RANK = Path(__file__).with_name("beating_rank.py")
_DEADLINE_S = 120.0
_PAGES = "/dev/shm"  # noqa: S108  # where ranks have their pages


def measures(product: Installed) -> Iterator[Measure]:
    """Time, system calls, and the ratio to a heartbeat over a socket."""
    found: dict[str, float] = json.loads(_rank(product).stdout)
    p50, p99 = found["p50_ns"], found["p99_ns"]
    strict = _rank(product, "strict").stderr
    yield Measure(measure="beat() p50", value=p50 / 1000, unit="us", limit=0.6, beside={"p99, us": p99 / 1000})
    yield Measure(
        measure="beat() system calls, in 100,000",
        value=found["calls"] + (strict not in {"survived", "no mode\n"}),
        unit="",
        limit=0,
        beside={"proof": "seccomp, strict mode" if strict == "survived" else "reads and writes alone"},
    )
    yield Measure(
        measure="beat() cheaper than NVRx send_heartbeat",
        value=_NVRX_US * 1000 / p50,
        unit="times",
        limit=200,
        way=">=",
        beside={"send_heartbeat p50, us (cited)": _NVRX_US},
    )


def _rank(product: Installed, *mode: str) -> "subprocess.CompletedProcess[str]":
    with tempfile.TemporaryDirectory(prefix="supervise-bench-", dir=_PAGES) as pages:
        environment = {
            "PATH": os.defpath,
            "SUPERVISE_RUN_ID": "bench-aaaaa",
            "SUPERVISE_ATTEMPT": "1",
            "SLURM_JOB_ID": "1",
            "SLURM_PROCID": "0",
            "SUPERVISE_BEAT_DIR": pages,
        }
        command = [str(product.python), str(_RANK), *mode]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=not mode, timeout=_DEADLINE_S
        )
        if not list(Path(pages).iterdir()):
            raise OSError(f"the rank made no page in {pages}: what was measured is not a beat")
    return done
