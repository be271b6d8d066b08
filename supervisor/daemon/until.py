"""Waiting for what nobody announces: processes that end, agents that report."""

import asyncio
from collections.abc import Callable


async def until(is_so: Callable[[], bool], *, deadline_s: float, every_s: float = 0.05) -> bool:
    """Whether it became so within the deadline; looked at every `every_s`."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + deadline_s
    while not (now_so := is_so()) and loop.time() < ends:  # noqa: ASYNC110  # /proc and slurmd announce nothing
        await asyncio.sleep(every_s)
    return now_so
