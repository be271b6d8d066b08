"""Scans that never hold the agent up: a process stuck in the kernel can hold whoever reads its environment."""

import asyncio
from contextlib import suppress

from supervisor.agent.processes import Process, Scanner
from supervisor.telemetry.aside import aside

_DEADLINE_S = 0.7
"""Of one scan; with thousands of processes and no processor to be had it is some tens of milliseconds."""
_THOROUGH_DEADLINE_S = 3.0


class Watcher:
    """The run's processes on this node, scanned beside the event loop."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._lock = asyncio.Lock()
        self._last: tuple[Process, ...] = ()

    async def glance(self) -> tuple[Process, ...]:
        """The run's processes now; those of the last scan when this one hangs or another goes on."""
        if not self._lock.locked():
            with suppress(TimeoutError):
                await self._scan(is_thorough=False, deadline_s=_DEADLINE_S)
        return self._last

    async def look(self) -> tuple[Process, ...]:
        """The run's processes by a thorough scan, for decisions on who is left. Raises `TimeoutError` when it hangs."""
        await self._scan(is_thorough=True, deadline_s=_THOROUGH_DEADLINE_S)
        return self._last

    async def _scan(self, *, is_thorough: bool, deadline_s: float) -> None:
        async with self._lock:
            try:
                self._last = await aside(
                    lambda: self._scanner.scan(is_thorough=is_thorough), deadline_s=deadline_s, name="scan"
                )
            except TimeoutError:
                # Its thread stays in the kernel until the process gets unstuck; the next scan goes around it.
                if (stuck := self._scanner.reading) is not None:
                    self._scanner.unreadable.add(stuck)
                raise
