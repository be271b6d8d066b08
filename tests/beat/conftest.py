"""Ranks in the interpreters that are installed here."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

BEAT_FOLDER = Path(__file__).parents[2] / "supervisor" / "beat"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the pages lie: in memory, as on a node."""
    path = Path(f"/dev/shm/supervise-test-{uuid.uuid4().hex[:12]}")
    path.mkdir(mode=0o700)
    yield path
    if path.is_dir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    """A rank's environment under supervision."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(BEAT_FOLDER),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SUPERVISE_RUN_ID": "train-abcde",
        "SUPERVISE_ATTEMPT": "3",
        "SLURM_JOB_ID": "17",
        "SLURM_PROCID": "5",
        "SUPERVISE_BEAT_DIR": str(folder),
    }


class Rank:
    """A rank that runs one line of Python per line it is given, and says what it printed."""

    def __init__(self, interpreter: str, environment: dict[str, str]) -> None:
        loop = (
            "import sys, os, supervise_beat as sb\n"
            "from supervise_beat import beat\n"
            "print('ready', flush=True)\n"
            "for line in sys.stdin:\n    exec(line)\n    print('.', flush=True)\n"
        )
        self.process = subprocess.Popen(
            [interpreter, "-S", "-c", loop],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.said() == "ready"

    def said(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def do(self, line: str) -> str:
        """Run the line; what it printed first (`.` if nothing)."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        said = self.said()
        if said != ".":
            assert self.said() == "."
        return said

    def end(self) -> None:
        """Kill it and reap it."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.wait()


@pytest.fixture
def rank(environment: dict[str, str]) -> Iterator[Callable[..., Rank]]:
    """Starts ranks; they end with the test."""
    started: list[Rank] = []

    def start(interpreter: str = sys.executable, **changes: str) -> Rank:
        started.append(Rank(interpreter, {**environment, **changes}))
        return started[-1]

    yield start
    for each in started:
        each.end()
