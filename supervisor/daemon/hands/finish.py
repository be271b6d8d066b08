"""The job's last act: say it where Slurm keeps it, then let the keeper exit with the user's status."""

import asyncio
from collections.abc import Callable

import structlog

from supervisor.core.instructions import Finish
from supervisor.daemon.hands.record import Commenter
from supervisor.daemon.world import World

_log = structlog.stdlib.get_logger(__name__)

_LAST_WORDS_S = 3.0
"""For the last Comment, record and status: the exit status must not wait for a dead filesystem or a busy Slurm."""


async def finish(world: World, order: Finish, commenter: Commenter, *, is_wanted: Callable[[], bool]) -> None:
    """Flush what is owed under a short deadline, then hand the exit status to the keeper if that is still wanted."""
    if order.comment:
        commenter.want(order.comment)
    try:
        async with asyncio.timeout(_LAST_WORDS_S):
            await commenter.flush()
            await world.writer.flushed(_LAST_WORDS_S)
    except TimeoutError:
        _log.warning("finish.cut", what="last words", after_s=_LAST_WORDS_S)
    finally:
        if is_wanted():
            _tell_keeper(world, order)  # whatever broke: nobody would ever order it again, and the job would hang


def _tell_keeper(world: World, order: Finish) -> None:
    is_unknown = order.code is None and order.signal is None
    if order.handed_over or is_unknown:
        # Dependents with afterok must not start while another job goes on with the run.
        world.keeper.finish(code=1, signal=None)
    else:
        world.keeper.finish(code=order.code, signal=order.signal)
