"""End every process of an attempt on this node, and prove it."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from supervisor.agent.processes import Process
from supervisor.model.ids import NodeName
from supervisor.model.wire import Stopped, StopRanks

KILL_WAIT_S: Final = 10.0
"""How long after KILL a process may take to be gone: tearing down a large CUDA context takes seconds."""
_PAUSE_S: Final = 0.1
_QUIET_SCANS: Final = 2
"""Scans without a process that make the proof: in one alone, a fork may have slipped through."""

Scan = Callable[[], Awaitable[tuple[Process, ...]]]
Send = Callable[[Process, int], None]


@dataclass(slots=True)
class _Told:
    """Who was asked kindly already."""

    processes: set[tuple[int, int]] = field(default_factory=set)

    def signals(self, process: Process, *, is_grace_over: bool) -> tuple[int, ...]:
        """What to send now. CONT lets a stopped process notice TERM; KILL is repeated, it may meet new children."""
        if is_grace_over:
            return (signal.SIGKILL,)
        name = (process.pid, process.started)
        if name in self.processes:
            return ()
        self.processes.add(name)
        return (signal.SIGTERM, signal.SIGCONT)


def targets(command: StopRanks, processes: Iterable[Process]) -> list[Process]:
    """Those that the command means: its attempt's and all older ones'."""
    return [
        process
        for process in processes
        if process.attempt <= command.attempt and (process.is_task or command.part == "all")
    ]


async def stop_ranks(
    command: StopRanks,
    *,
    node: NodeName,
    scan: Scan,
    send: Send,
    clock: Callable[[], float] = time.monotonic,
    kill_wait_s: float = KILL_WAIT_S,
) -> Stopped:
    """TERM, after the grace KILL, until scans find nothing; the answer names who is left. Ends in time always.

    Raises `TimeoutError` where scans hang to the end and nobody knows who is left.
    """
    told = _Told()
    killing_from = clock() + command.grace_s
    quiet, left = 0, list[Process]()
    while True:
        try:
            left = targets(command, await scan())
            quiet = 0 if left else quiet + 1
        except TimeoutError:
            quiet = 0  # a scan that hung has seen nothing; the next one goes around what it hung on
        now = clock()
        if quiet >= _QUIET_SCANS or (left and now >= killing_from + kill_wait_s):
            return _answer(command, node, left)
        if now >= killing_from + kill_wait_s:
            raise TimeoutError(f"the processes on {node} could not be looked through")
        for process in left:
            for number in told.signals(process, is_grace_over=now >= killing_from):
                send(process, number)
        await asyncio.sleep(0 if quiet else _PAUSE_S)


def _answer(command: StopRanks, node: NodeName, left: Iterable[Process]) -> Stopped:
    return Stopped(
        node=node,
        ask=command.ask,
        left=tuple(process.pid for process in left),
        unkillable=tuple(process.pid for process in left if process.is_stuck),
    )
