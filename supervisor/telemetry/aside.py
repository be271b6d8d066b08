"""A call that may never return (a dead mount, a hung driver, DNS), made beside the event loop with a deadline."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

_T = TypeVar("_T")


async def aside(call: Callable[[], _T], *, deadline_s: float | None, name: str) -> _T:
    """The answer of `call`, made in a thread of its own. Raises what it raises, or `TimeoutError` at the deadline.

    No deadline (None) is for callers that have set one. Not the loop's pool: its threads are waited for when the
    process ends, and one that hangs in the kernel would keep it from ending. A call that is given up goes on in its
    thread until the kernel lets it go; its answer is dropped.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_T] = loop.create_future()
    thread = threading.Thread(target=lambda: _settle(loop, answer, call), name=name, daemon=True)
    thread.start()
    async with asyncio.timeout(deadline_s):
        return await answer


def _settle(loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[_T]", call: Callable[[], _T]) -> None:
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the one who waits
        _tell(loop, answer, partial(answer.set_exception, error))
    else:
        _tell(loop, answer, lambda: answer.set_result(result))


def _tell(loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[_T]", settle: Callable[[], None]) -> None:
    """Settle in the loop's own thread, unless nobody waits any more or the loop has ended."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(lambda: None if answer.done() else settle())
