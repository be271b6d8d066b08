"""The job's output as events, from files that may be slow."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from supervisor.core.events import Event, LineSeen, RankFailed
from supervisor.daemon.eyes import watch_output
from supervisor.daemon.output import Output
from supervisor.daemon.tail import Tail
from supervisor.daemon.world import World
from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.lines import LineScanner
from supervisor.model.ids import AttemptNo

_FAILED = "srun: error: node002: task 3: Exited with exit code 1\n"
_FIRST = AttemptNo(1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An output file with something in it from before."""
    path = tmp_path / "slurm-7.out"
    path.write_text(_FAILED)
    return path


@pytest.fixture
def output(file: Path) -> Output:
    """The output of attempt 1, which has just begun."""
    made = Output(paths=[file], keep_lines=10, span_s=60.0)
    made.begin(_FIRST)
    return made


async def _failures(output: Output, *, times: int = 1) -> list[Event]:
    found: list[Event] = []
    for _ in range(times):
        found += [event for event in await output.read(5.0) if isinstance(event, RankFailed)]
    return found


async def test_a_failed_task_is_told_once(output: Output, file: Path) -> None:
    """Only what this attempt wrote counts, and the same line again says nothing new."""
    assert await _failures(output) == []
    with file.open("a") as job:
        job.write(2 * _FAILED)
    assert len(await _failures(output)) == 1
    assert output.windows(0.0) == [(_FAILED.rstrip(), _FAILED.rstrip())]
    assert (output.count, output.last_at) == (2, 5.0)


async def test_what_is_said_of_a_step_does_not_hide_what_is_said_of_the_job(output: Output, file: Path) -> None:
    """A preempted job's steps are told first: without the second line it would pass for a cancel."""
    words = "ON node001 CANCELLED AT 2026-01-31T10:00:00 DUE TO PREEMPTION ***\n"
    with file.open("a") as job:
        job.write(f"slurmstepd: error: *** STEP 7.0 {words}slurmstepd: error: *** JOB 7 {words}")
    seen = [event.text for event in await output.read(5.0) if isinstance(event, LineSeen)]
    assert [text.split()[3] for text in seen] == ["STEP", "JOB"]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The filesystem gives no answer until this is set, and nobody waits for long."""
    let_go, original = threading.Event(), Tail.read

    def read(tail: Tail) -> bytes:
        let_go.wait(60.0)
        return original(tail)

    monkeypatch.setattr(Tail, "read", read)
    monkeypatch.setattr("supervisor.daemon.output._READ_S", 0.05)
    return let_go


async def test_what_a_slow_filesystem_brings_late_is_not_lost(
    output: Output, file: Path, slow: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read that took too long has moved on in the file: its lines are scanned when they come."""
    with file.open("a") as job:
        job.write(_FAILED)
    assert await _failures(output, times=3) == []
    slow.set()
    monkeypatch.setattr("supervisor.daemon.output._READ_S", 60.0)
    assert len(await _failures(output)) == 1


async def test_late_lines_of_an_attempt_that_is_over_say_nothing(
    output: Output, file: Path, slow: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be taken for the next attempt's."""
    with file.open("a") as job:
        job.write(_FAILED)
    assert await _failures(output) == []
    output.begin(AttemptNo(2))
    slow.set()
    monkeypatch.setattr("supervisor.daemon.output._READ_S", 60.0)
    assert await _failures(output, times=2) == []
    await asyncio.sleep(0)


async def test_telling_lines_are_bounded(output: Output, file: Path) -> None:
    """16,000 ranks that all say why: the first thousands are told, and an incident keeps 2 MB of them."""
    with file.open("a") as job:
        for task in range(5000):
            job.write(f"srun: error: node002: task {task}: Exited with exit code 1 {'x' * 2000}\n")
    told = await _failures(output, times=20)
    assert 4000 < len(told) <= 4096
    assert sum(map(len, output.windows(0.0)[0])) < 2_100_000


async def test_a_flood_is_followed_at_its_own_pace(output: Output, file: Path) -> None:
    """A rank's crash behind 40 MB of chatter is news at once, not when the supervisor has come so far in its turns."""
    with file.open("a") as job:
        job.write(400_000 * f"{99 * 'x'}\n" + _FAILED)
    told: list[Event] = []
    seen = asyncio.Event()

    def post(event: Event) -> None:
        told.append(event)
        seen.set()

    world = SimpleNamespace(
        output=output,
        rank_lines=SimpleNamespace(events=list),
        roster=SimpleNamespace(rank_failed=lambda *_, **__: None),
        rank_failed=asyncio.Event(),
        clock=lambda: 5.0,
        post=post,
    )
    watching = asyncio.create_task(watch_output(cast("World", world)))
    try:
        # One read each look would take 40 s; a busy machine needs some of that, too.
        async with asyncio.timeout(20):
            await seen.wait()
    finally:
        watching.cancel()
    assert [type(event) for event in told] == [RankFailed]


async def test_lines_are_understood_beside_the_event_loop(
    output: Output, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty thousand lines that mean something take long: nobody else waits for that."""
    threads = []
    feed = LineScanner.feed

    def watched(scanner: LineScanner, data: bytes) -> list[Hit]:
        threads.append(threading.current_thread())
        return feed(scanner, data)

    monkeypatch.setattr(LineScanner, "feed", watched)
    with file.open("a") as job:
        job.write(_FAILED)
    assert len(await _failures(output)) == 1
    assert threads
    assert threading.main_thread() not in threads
