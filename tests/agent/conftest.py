"""Real processes with the marks of a run, a bus by hand, and the agent's senses on this machine."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import pytest

from supervisor.agent.processes import Scanner
from supervisor.bus.protocol import NO_ATTEMPT
from supervisor.model.ids import AttemptNo, JobId, RunId
from supervisor.model.wire import FromAgent, ToAgent

PATIENCE_S = 60.0
JOB = JobId("17")
READY = "import sys, time, os, signal, subprocess\n"
SLEEP = "print('ready', flush=True)\nwhile True: time.sleep(60)\n"

_T = TypeVar("_T")
Spawn = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def run_id() -> RunId:
    """A run of its own for each test: what another test leaves is not found."""
    return RunId(f"train-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def scanner(run_id: RunId) -> Scanner:
    """Finds the processes that this test started."""
    return Scanner(run_id=run_id, job_id=JOB)


@pytest.fixture
def marks(run_id: RunId) -> dict[str, str]:
    """The environment of a task of attempt 2."""
    return {
        "PATH": os.environ["PATH"],
        "SUPERVISE_RUN_ID": run_id,
        "SUPERVISE_ATTEMPT": "2",
        "SLURM_JOB_ID": JOB,
        "SLURM_STEP_ID": "0",
    }


@pytest.fixture
def spawn(marks: dict[str, str], scanner: Scanner) -> Iterator[Spawn]:
    """Starts Python processes and waits until they are ready; whatever carries the marks dies with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str = SLEEP, **changes: str | None) -> subprocess.Popen[str]:
        environment = {name: value for name, value in {**marks, **changes}.items() if value is not None}
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", READY + code], env=environment, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for left in scanner.scan(is_thorough=True):
        with suppress(ProcessLookupError):
            os.kill(left.pid, signal.SIGKILL)
    for process in started:
        process.kill()
        if process.stdout is not None:
            process.stdout.close()
        process.wait()


class FakeLink:
    """A bus by hand: what the agent says is kept, what it is told is given."""

    def __init__(self) -> None:
        self.sent: list[FromAgent] = []
        self.attempts: list[AttemptNo] = []
        self.last_heard: float | None = None
        self.is_entered = False
        self._commands: asyncio.Queue[ToAgent] = asyncio.Queue()
        self._said = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.is_entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_entered = False

    def send(self, message: FromAgent, *, attempt: AttemptNo = NO_ATTEMPT) -> None:
        """Keep it."""
        assert self.is_entered
        self.sent.append(message)
        self.attempts.append(attempt)
        self._said.set()

    async def commands(self) -> AsyncIterator[ToAgent]:
        """What `tell` was given."""
        while True:
            yield await self._commands.get()

    def tell(self, command: ToAgent) -> None:
        """Give the agent a command."""
        self._commands.put_nowait(command)

    async def said(self, kind: type[_T], is_it: Callable[[_T], bool] = lambda _: True) -> _T:
        """The first message of this kind that fits, past or to come."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for message in self.sent:
                    if isinstance(message, kind) and is_it(message):
                        return message
                self._said.clear()
                await self._said.wait()


@pytest.fixture
def link() -> FakeLink:
    """The agent's bus."""
    return FakeLink()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the run's beat pages lie."""
    path = Path(f"/dev/shm/supervise-test-{uuid.uuid4().hex[:12]}")
    yield path
    shutil.rmtree(path, ignore_errors=True)
