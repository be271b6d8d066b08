"""Finds what to resume from, in a thread that may hang on a dead filesystem without holding the run."""

import functools
import time

import structlog

from supervisor.checkpoint.find import check_again, find_newest
from supervisor.core.events import CheckpointChosen
from supervisor.core.instructions import ChooseCheckpoint
from supervisor.daemon.world import World
from supervisor.model.facts import Choice
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_BEYOND_S = 2.0
"""After the finder's own deadline: it looks at its clock between calls, and one call may hang."""


async def choose(world: World, order: ChooseCheckpoint) -> CheckpointChosen:
    """The newest whole checkpoint, or the one chosen before; without `--checkpoint` there is nothing to look for."""
    if not world.settings.checkpoint:
        return CheckpointChosen(at=world.clock(), attempt=order.attempt, choice=Choice(chosen=None))
    deadline_s = world.settings.checkpoint_deadline_s
    find = functools.partial(_find, world.settings.checkpoint, order, deadline_s=deadline_s)
    try:
        choice = await aside(find, deadline_s=deadline_s + _BEYOND_S, name="checkpoint")
    except TimeoutError:
        why = f"{world.settings.checkpoint} gave no answer within {deadline_s:.0f} s"
        choice = Choice(chosen=None, is_trustworthy=False, why=why)
    return CheckpointChosen(at=world.clock(), attempt=order.attempt, choice=choice)


def _find(url: str, order: ChooseCheckpoint, *, deadline_s: float) -> Choice:
    """The one that was chosen before, if it is still whole; otherwise the newest of those that are there now."""
    ends = time.monotonic() + deadline_s
    if order.again is not None:
        again = check_again(order.again, deadline_s=deadline_s)
        if again.verdict == "whole":
            return Choice(chosen=again)
        _log.warning("checkpoint.changed", path=again.path, verdict=again.verdict, why=again.why)
    return find_newest(url, deadline_s=ends - time.monotonic(), known_step=order.known_step, avoid=order.avoid)
