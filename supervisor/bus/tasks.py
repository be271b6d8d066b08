"""Ending a task that one has started, for good."""

import asyncio
from typing import Any, Final

_AGAIN_S: Final = 1.0


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel it and return when it has ended; its own error is for whoever reads its result.

    Repeated, because `asyncio.wait_for` of Python 3.11, which aiomqtt uses, can swallow one cancellation.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_AGAIN_S)


def failure(task: asyncio.Task[Any]) -> BaseException | None:
    """Why it ended, None where it still runs, was cancelled or simply returned."""
    return task.exception() if task.done() and not task.cancelled() else None
