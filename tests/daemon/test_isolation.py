"""A batch host that reaches nobody, or whose run has gone on elsewhere, stops what it runs."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.daemon import isolation
from supervisor.daemon.isolation import Isolation
from supervisor.daemon.lease import Lease
from supervisor.daemon.world import World
from supervisor.model.ids import JobId, NodeName
from supervisor.settings import Settings

HOST, OTHER = NodeName("n1"), NodeName("n2")
PATIENCE_S = 30.0


class _Case:
    """A batch host with a script and a rank, and what it reaches."""

    def __init__(self) -> None:
        self.run_id = f"train-{uuid.uuid4().hex[:8]}"
        self.time = 1000.0
        self.heard: float | None = 1000.0
        self.is_slurm_there = False
        self.is_acting = True
        self.asked = 0
        self.finished: list[int | None] = []
        self.lease = SimpleNamespace(written_at=1000.0, lost_to="")
        self.processes: list[subprocess.Popen[str]] = []
        self.controllers: tuple[str, ...] = ("login:6817",)

    def world(self) -> World:
        def finish(*, code: int | None, signal: int | None) -> None:
            assert signal is None
            self.finished.append(code)

        made = SimpleNamespace(
            clock=lambda: self.time,
            settings=Settings(lease_s=30.0),
            around=SimpleNamespace(nodes=(HOST, OTHER), here=HOST, raw_job_id=JobId("7")),
            roster=SimpleNamespace(heard=lambda node: self.heard if node == OTHER else self.time),
            run=SimpleNamespace(run_id=self.run_id),
            keeper=SimpleNamespace(finish=finish),
        )
        return cast("World", made)

    async def accepts(self, peer: str) -> bool:
        assert peer == "login:6817"
        self.asked += 1
        return self.is_slurm_there

    def runs(self, **marks: str) -> subprocess.Popen[str]:
        env = {"SUPERVISE_RUN_ID": self.run_id, "SUPERVISE_ATTEMPT": "2", "SLURM_JOB_ID": "7", **marks}
        code = "import time; print('ready', flush=True); time.sleep(600)"
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], env=env, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    async def watching(self) -> "asyncio.Task[None]":
        made = Isolation(
            self.world(), cast("Lease", self.lease), self.controllers, lambda: self.is_acting, self.accepts
        )
        watch = made.watch()
        task = asyncio.create_task(watch)
        await asyncio.sleep(0)
        return task


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Looks that take no time; time passes by hand."""
    monkeypatch.setattr(isolation, "_LOOK_S", 0.0)
    made = _Case()
    yield made
    for process in made.processes:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def _passes(case: _Case, seconds: float, *, step: float = 5.0) -> None:
    """Time passes, and is looked at on the way."""
    ends = case.time + seconds
    while case.time < ends:
        case.time += min(step, ends - case.time)
        for _ in range(5):
            await asyncio.sleep(0)


async def _ended(task: "asyncio.Task[None]") -> None:
    async with asyncio.timeout(PATIENCE_S):
        await task


async def test_whoever_is_cut_off_kills_its_ranks_and_its_script(case: _Case) -> None:
    """Run folder, agents and Slurm silent for a lease: the job ends here before anybody may take over."""
    rank, script = case.runs(SLURM_STEP_ID="0"), case.runs()
    task = await case.watching()
    await _passes(case, 29.0)
    assert not task.done()
    assert (rank.poll(), script.poll()) == (None, None)
    await _passes(case, 1.0)
    await _ended(task)
    assert (rank.wait(PATIENCE_S), script.wait(PATIENCE_S)) == (-9, -9)
    assert case.finished == [1]


async def test_in_observe_mode_nothing_is_stopped(case: _Case) -> None:
    """Until a person changes the mode."""
    case.is_acting = False
    task = await case.watching()
    await _passes(case, 300.0)
    assert not task.done()
    case.is_acting = True
    await _passes(case, 5.0)
    await _ended(task)


@pytest.mark.parametrize("who", ["folder", "agent", "slurm"])
async def test_as_long_as_one_answers_the_run_goes_on(case: _Case, who: str) -> None:
    """Two of three may be away for hours: slurmctld for an upgrade, the filesystem, a broken switch."""
    task = await case.watching()
    case.is_slurm_there = who == "slurm"
    for _ in range(60):
        if who == "folder":
            case.lease.written_at = case.time
        if who == "agent":
            case.heard = case.time
        await _passes(case, 5.0)
    assert not task.done()
    assert case.finished == []
    task.cancel()


async def test_slurm_is_not_asked_while_others_are_heard(case: _Case) -> None:
    """A healthy run costs the controller nothing."""
    task = await case.watching()
    for _ in range(60):
        case.lease.written_at = case.heard = case.time
        await _passes(case, 5.0)
    assert case.asked == 0
    task.cancel()


async def test_a_machine_that_slept_has_a_whole_lease(case: _Case) -> None:
    """It wakes with old contacts, and reaches the others a moment later."""
    task = await case.watching()
    await _passes(case, 5.0)
    await _passes(case, 300.0, step=300.0)
    await _passes(case, 25.0)
    assert not task.done()
    task.cancel()


async def test_a_run_that_has_gone_on_elsewhere_ends_here_at_once(case: _Case) -> None:
    """The lease has found the claim or the term of a later job."""
    rank = case.runs(SLURM_STEP_ID="0")
    task = await case.watching()
    case.lease.lost_to = "the agent on n2 has taken over"
    await _ended(task)
    assert rank.wait(PATIENCE_S) == -9
    assert case.finished == [1]


async def test_without_knowing_the_controller_nothing_is_stopped(case: _Case) -> None:
    """Slurm gave no answer when this supervisor began."""
    case.controllers = ()
    task = await case.watching()
    await _passes(case, 3000.0)
    assert not task.done()
    task.cancel()
