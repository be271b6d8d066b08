"""Readers beside the user's steps: when they start, when they end, and that they give way."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import psutil
import pytest

from supervisor.daemon.rank_lines import RankLines, Source, is_behind
from supervisor.daemon.rank_log import RankLog
from supervisor.daemon.until import until
from supervisor.errors import SlurmTimeout
from supervisor.model.ids import AttemptNo, JobId
from supervisor.slurm.backend import Backend
from supervisor.slurm.facts import StepFacts

_WAIT_S = 30.0
_SATTACH = """#!{python} -I
import os, sys, time
step = sys.argv[2]
place = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(place, "calls"), "a") as calls:
    calls.write(step + chr(10))
if step == "17.5" and open(os.path.join(place, "calls")).read().count(step) == 1:
    sys.exit("sattach: Node n1: no tasks running")
print("2: hello from " + step, flush=True)
print("2: sad", file=sys.stderr, flush=True)
assert sys.stdin.read() == ""
with open(os.path.join(place, "pid"), "w") as pid:
    pid.write(str(os.getpid()))
time.sleep(600)
"""


class _Slurm:
    """Knows steps; refuses as often as told."""

    def __init__(self, *steps: str, refusals: int = 0) -> None:
        self.asked = 0
        self._refusals = refusals
        names = {"17.batch": "batch", "17.1": "supervise"}
        self._steps = tuple(StepFacts(step_id=step, name=names.get(step, "python"), tasks=3) for step in steps)

    async def steps(self, job: JobId, *, deadline_s: float) -> tuple[StepFacts, ...]:
        assert (job, deadline_s) == ("17", 3.0)
        self.asked += 1
        if self.asked <= self._refusals:
            raise SlurmTimeout("no answer")
        return self._steps


class _Scene:
    """A folder with a sattach that stays, and the readers under test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = RankLines()
        self.lines.begin(AttemptNo(1))
        self._tasks: list[asyncio.Task[None]] = []

    def watch(self, slurm: _Slurm) -> "asyncio.Task[None]":
        source = Source(
            slurm=cast("Backend", slurm), job=JobId("17"), deadline_s=3.0, clock=time.monotonic, ranks=lambda: 0
        )
        self._tasks.append(asyncio.create_task(self.lines.watch(source)))
        return self._tasks[-1]

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().split() if path.exists() else []

    async def reader(self) -> int:
        """The pid of a reader that has written all it had to say."""
        path = self.folder / "pid"
        assert await until(lambda: path.exists() and bool(path.read_text()), deadline_s=_WAIT_S)
        return int(path.read_text())

    def texts(self) -> list[str]:
        return [line for log in self.lines.logs([], ranks=0) for line in log.lines]

    async def over(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks, timeout=_WAIT_S)


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[_Scene]:
    """`sattach` on PATH says hello and stays."""
    program = tmp_path / "sattach"
    program.write_text(_SATTACH.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    made = _Scene(tmp_path)
    yield made
    await made.over()


async def _is_gone(pid: int) -> bool:
    return await until(lambda: not psutil.pid_exists(pid), deadline_s=_WAIT_S)


async def test_the_users_step_is_read_and_no_other(scene: _Scene) -> None:
    """Neither the batch script's step nor the agents'; both streams, with an empty stdin."""
    scene.watch(_Slurm("17.batch", "17.1", "17.2"))
    scene.lines.ranks_seen()
    await scene.reader()
    assert await until(lambda: sorted(scene.texts()) == ["hello from 17.2", "sad"], deadline_s=_WAIT_S)
    assert scene.calls == ["17.2"]
    assert scene.lines.has_read


async def test_before_ranks_are_seen_nobody_asks(scene: _Scene) -> None:
    """Without ranks there is no step to read, and Slurm is left alone."""
    slurm = _Slurm("17.0")
    scene.watch(slurm)
    await asyncio.sleep(0.7)  # longer than the first look would take
    assert slurm.asked == 0
    assert not scene.lines.has_read


async def test_a_step_whose_tasks_are_only_starting_is_tried_again(scene: _Scene) -> None:
    """For a moment sattach refuses a moment long."""
    scene.watch(_Slurm("17.5"))
    scene.lines.ranks_seen()
    await scene.reader()
    assert scene.calls == ["17.5", "17.5"]


async def test_slurm_that_does_not_answer_is_asked_again(scene: _Scene) -> None:
    """A failed query is not an empty answer."""
    slurm = _Slurm("17.0", refusals=1)
    scene.watch(slurm)
    scene.lines.ranks_seen()
    await scene.reader()
    assert slurm.asked == 2


async def test_end_leaves_no_reader_and_keeps_the_lines(scene: _Scene) -> None:
    """Before the tasks of an attempt are killed; a late sign of ranks starts no new reader."""
    scene.watch(_Slurm("17.0"))
    scene.lines.ranks_seen()
    pid = await scene.reader()
    await scene.lines.end()
    assert await _is_gone(pid)
    scene.lines.ranks_seen()
    await asyncio.sleep(0.7)  # longer than a look would take
    assert scene.calls == ["17.0"]
    assert "hello from 17.0" in scene.texts()


async def test_a_new_attempt_forgets_the_one_before(scene: _Scene) -> None:
    """Its reader is ended, its lines are gone."""
    scene.watch(_Slurm("17.0"))
    scene.lines.ranks_seen()
    pid = await scene.reader()
    scene.lines.begin(AttemptNo(2))
    assert await _is_gone(pid)
    assert scene.texts() == []
    assert not scene.lines.has_read


async def test_readers_end_with_the_supervisor(scene: _Scene) -> None:
    """Cancellation leaves no process."""
    watching = scene.watch(_Slurm("17.0"))
    scene.lines.ranks_seen()
    pid = await scene.reader()
    watching.cancel()
    await asyncio.wait({watching}, timeout=_WAIT_S)
    assert watching.cancelled()
    assert await _is_gone(pid)


async def test_without_sattach_the_run_goes_on(scene: _Scene) -> None:
    """A missing program costs the labels alone."""
    (scene.folder / "sattach").unlink()
    watching = scene.watch(slurm := _Slurm("17.0"))
    scene.lines.ranks_seen()
    assert await until(lambda: slurm.asked > 0 and scene.lines.has_read, deadline_s=_WAIT_S)
    await asyncio.sleep(0.1)
    assert not watching.done()


async def test_a_flood_leaves_turns_to_others(scene: _Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much two streams have waiting, little of one is judged between two turns of the event loop."""
    flood = "1: " + "x" * 60
    (scene.folder / "sattach").write_text(
        f"#!{sys.executable} -I\nimport sys, time\n"
        f"for stream in (sys.stdout, sys.stderr):\n    print(({flood!r} + chr(10)) * 3000, flush=True, file=stream)\n"
        "time.sleep(600)\n"
    )
    taken = 0

    def line(*_args: object, **_named: object) -> None:
        nonlocal taken
        taken += 1

    monkeypatch.setattr(RankLog, "line", line)
    scene.watch(_Slurm("17.0"))
    scene.lines.ranks_seen()
    at_once, deadline = 0, time.monotonic() + _WAIT_S
    while taken < 6000 and time.monotonic() < deadline:
        before = taken
        await asyncio.sleep(0)
        at_once = max(at_once, taken - before)
    assert taken >= 6000
    assert at_once < 10_000 / len(flood)


@pytest.mark.parametrize(
    ("late_s", "received_bytes", "expected"),
    [(0.0, 900_000, False), (0.0, 1_100_000, True), (2.1, 70_000, True), (2.1, 1000, False), (1.9, 70_000, False)],
)
def test_a_reader_that_falls_behind_gives_up(late_s: float, received_bytes: int, expected: bool) -> None:  # noqa: FBT001  # a table's column
    """A flood, or much to read after a time without a core: ranks would have to wait for us."""
    assert is_behind(late_s=late_s, received_bytes=received_bytes) is expected
