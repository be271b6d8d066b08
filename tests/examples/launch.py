"""Starts ranks of the examples on this machine, and ends them."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
DEADLINE_S = 60


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def environment(**more: str) -> dict[str, str]:
    """Ours without what a Slurm job or a supervisor around the tests would add."""
    foreign = ("SLURM_", "SUPERVISE_", "RANK", "WORLD_SIZE", "MASTER_", "TORCHELASTIC_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**own, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **more}


@contextmanager
def numpy_ranks(ranks: int, *options: str, **env: str) -> Iterator[list[subprocess.Popen[str]]]:
    """The numpy example on so many ranks; whatever still runs at the end is killed."""
    port = str(free_port())
    command = [sys.executable, str(EXAMPLES / "numpy_ddp" / "train.py"), *options]
    started: list[subprocess.Popen[str]] = []
    try:
        for rank in range(ranks):
            place = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_PORT": port}
            started.append(
                subprocess.Popen(
                    command, env=environment(**place, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
            )
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def run_numpy(ranks: int, *options: str, **env: str) -> str:
    """Run to the end; rank 0's output."""
    with numpy_ranks(ranks, *options, **env) as started:
        outputs = [process.communicate(timeout=DEADLINE_S) for process in started]
        assert [process.returncode for process in started] == [0] * ranks, outputs
    return outputs[0][0]


def run(command: Sequence[str | Path], **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment(**env), capture_output=True, text=True, timeout=2 * DEADLINE_S, check=False
    )
