"""Ending an attempt on a node, with real processes that resist."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.agent.processes import Process, Scanner, send_signal
from supervisor.agent.stop import stop_ranks, targets
from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.wire import Stopped, StopRanks

Spawn = Callable[..., subprocess.Popen[str]]
HERE = NodeName("n1")
SLEEP = "print('ready', flush=True)\nwhile True: time.sleep(60)\n"
DEAF = f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEP}"


async def _stop(scanner: Scanner, *, attempt: int = 2, grace_s: float = 30.0, part: str = "all") -> Stopped:
    command = StopRanks(ask="q", attempt=AttemptNo(attempt), grace_s=grace_s, part=part)  # type: ignore[arg-type]  # a literal

    async def scan() -> tuple[Process, ...]:
        return scanner.scan(is_thorough=True)

    return await stop_ranks(command, node=HERE, scan=scan, send=send_signal, kill_wait_s=30.0)


async def test_term_is_enough_for_those_who_listen(spawn: Spawn, scanner: Scanner) -> None:
    """A process that ends by TERM is not killed, and the stop does not wait the grace out."""
    task = spawn()
    began = time.monotonic()
    assert await _stop(scanner, grace_s=60.0) == Stopped(node=HERE, ask="q")
    assert time.monotonic() - began < 30
    assert task.wait(60) == -signal.SIGTERM


async def test_kill_comes_after_the_grace(spawn: Spawn, scanner: Scanner) -> None:
    """A process that ignores TERM is killed once the grace is over."""
    task = spawn(DEAF)
    assert await _stop(scanner, grace_s=0.3) == Stopped(node=HERE, ask="q")
    assert task.wait(60) == -signal.SIGKILL


async def test_term_is_sent_once(spawn: Spawn, scanner: Scanner) -> None:
    """Handlers that save a checkpoint must not be interrupted by a second TERM."""
    code = f"signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'T'))\n{SLEEP}"
    task = spawn(code)
    await _stop(scanner, grace_s=1.0)
    assert task.stdout is not None
    assert task.stdout.read() == "T"


async def test_a_stopped_process_hears_term(spawn: Spawn, scanner: Scanner) -> None:
    """A process under SIGSTOP is continued, so that it can end properly."""
    task = spawn("signal.signal(signal.SIGTERM, lambda *_: os._exit(5))\n" + SLEEP)
    os.kill(task.pid, signal.SIGSTOP)
    assert await _stop(scanner) == Stopped(node=HERE, ask="q")
    assert task.wait(60) == 5


async def test_children_that_left_the_session_and_those_born_meanwhile(spawn: Spawn, scanner: Scanner) -> None:
    """setsid, clean environments and forks in the TERM handler: nothing is left at the end."""
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True{})"
    code = (
        f"{child.format('')}; {child.format(', env={}')}\n"
        f"signal.signal(signal.SIGTERM, lambda *_: {child.format('')})\n{SLEEP}"
    )
    spawn(code)
    assert len(scanner.scan(is_thorough=True)) == 3
    assert await _stop(scanner, grace_s=0.5) == Stopped(node=HERE, ask="q")
    assert scanner.scan(is_thorough=True) == ()


async def test_tasks_alone(spawn: Spawn, scanner: Scanner) -> None:
    """`tasks` leaves the batch script and its srun, which must see the tasks end."""
    task, script = spawn(), spawn(SLURM_STEP_ID=None)
    assert await _stop(scanner, part="tasks") == Stopped(node=HERE, ask="q")
    assert task.wait(60) == -signal.SIGTERM
    assert script.poll() is None


async def test_older_attempts_go_too_and_newer_ones_stay(spawn: Spawn, scanner: Scanner) -> None:
    """Whatever is not newer than the attempt must end with it."""
    old, new = spawn(SUPERVISE_ATTEMPT="1"), spawn(SUPERVISE_ATTEMPT="3")
    assert await _stop(scanner) == Stopped(node=HERE, ask="q")
    assert old.wait(60) == -signal.SIGTERM
    assert new.poll() is None


async def test_a_node_without_ranks_answers_at_once(scanner: Scanner) -> None:
    """Nothing there is proven by two scans, without waiting."""
    began = time.monotonic()
    assert await _stop(scanner, grace_s=60.0) == Stopped(node=HERE, ask="q")
    assert time.monotonic() - began < 30


async def test_what_cannot_be_killed_is_named_in_time() -> None:
    """Processes in D state outlive KILL: the answer names them, and comes although they stay."""
    now = [0.0]
    stuck = Process(pid=9, started=1, attempt=AttemptNo(2), is_task=True, is_stuck=True)
    slow = Process(pid=8, started=1, attempt=AttemptNo(2), is_task=True)
    sent: list[tuple[int, int]] = []

    async def scan() -> tuple[Process, ...]:
        now[0] += 1.0
        return (slow, stuck)

    answer = await stop_ranks(
        StopRanks(ask="q", attempt=AttemptNo(2), grace_s=2.0),
        node=HERE,
        scan=scan,
        send=lambda process, number: sent.append((process.pid, number)),
        clock=lambda: now[0],
        kill_wait_s=3.0,
    )
    assert answer == Stopped(node=HERE, ask="q", left=(8, 9), unkillable=(9,))
    told = [number for pid, number in sent if pid == stuck.pid]
    assert told[:3] == [signal.SIGTERM, signal.SIGCONT, signal.SIGKILL]
    assert set(told[3:]) == {signal.SIGKILL}


async def test_one_empty_scan_is_no_proof() -> None:
    """A fork can slip through one scan; the second finds its child."""
    child = Process(pid=9, started=1, attempt=AttemptNo(2), is_task=True)
    scans: list[tuple[Process, ...]] = [(), (child,), (), ()]

    async def scan() -> tuple[Process, ...]:
        return scans.pop(0)

    sent: list[int] = []
    answer = await stop_ranks(
        StopRanks(ask="q", attempt=AttemptNo(2), grace_s=60.0),
        node=HERE,
        scan=scan,
        send=lambda process, _: sent.append(process.pid),
    )
    assert answer.left == ()
    assert set(sent) == {9}
    assert scans == []


def test_targets_are_chosen_by_attempt_and_part() -> None:
    """Pure: attempt not newer; the script's tree only with `all`."""
    make = [Process(pid=n, started=1, attempt=AttemptNo(n), is_task=n != 2) for n in (1, 2, 3)]
    command = StopRanks(ask="q", attempt=AttemptNo(2), grace_s=0)
    assert [process.pid for process in targets(command, make)] == [1, 2]
    tasks = StopRanks(ask="q", attempt=AttemptNo(2), grace_s=0, part="tasks")
    assert [process.pid for process in targets(tasks, make)] == [1]


def test_the_proc_folder_is_the_default(scanner: Scanner) -> None:
    """The scanner reads this machine's processes."""
    assert Path("/proc/self").exists()
    assert scanner.scan() == ()


async def test_a_scan_that_hangs_is_no_proof() -> None:
    """What was not looked at is neither gone nor there: two later looks that see nothing are the proof."""
    hangs = [True, False, True, False, False]
    seen = 0

    async def scan() -> tuple[Process, ...]:
        nonlocal seen
        seen += 1
        if hangs[seen - 1]:
            raise TimeoutError
        return ()

    command = StopRanks(ask="q", attempt=AttemptNo(1), grace_s=30.0)
    assert await stop_ranks(command, node=HERE, scan=scan, send=send_signal) == Stopped(node=HERE, ask="q")
    assert seen == 5


async def test_scans_that_hang_to_the_end_give_no_answer() -> None:
    """Silence is told as silence."""

    async def scan() -> tuple[Process, ...]:
        raise TimeoutError

    command = StopRanks(ask="q", attempt=AttemptNo(1), grace_s=0.0)
    with pytest.raises(TimeoutError, match="n1"):
        await stop_ranks(command, node=HERE, scan=scan, send=send_signal, kill_wait_s=0.3)
