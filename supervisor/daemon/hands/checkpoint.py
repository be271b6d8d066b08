"""Finds what to resume from, in a thread that may hang on a dead filesystem without holding the run."""

import functools

from supervisor.checkpoint.find import find_newest
from supervisor.core.events import CheckpointChosen
from supervisor.core.instructions import ChooseCheckpoint
from supervisor.daemon.world import World
from supervisor.model.facts import Choice
from supervisor.telemetry.aside import aside

_BEYOND_S = 2.0
"""After the finder's own deadline: it looks at its clock between calls, and one call may hang."""


async def choose(world: World, order: ChooseCheckpoint) -> CheckpointChosen:
    """The newest whole checkpoint; without `--checkpoint` there is nothing to look for."""
    if not world.settings.checkpoint:
        return CheckpointChosen(at=world.clock(), attempt=order.attempt, choice=Choice(chosen=None))
    deadline_s = world.settings.checkpoint_deadline_s
    find = functools.partial(find_newest, world.settings.checkpoint, deadline_s=deadline_s, known_step=order.known_step)
    try:
        choice = await aside(find, deadline_s=deadline_s + _BEYOND_S, name="checkpoint")
    except TimeoutError:
        why = f"{world.settings.checkpoint} gave no answer within {deadline_s:.0f} s"
        choice = Choice(chosen=None, is_trustworthy=False, why=why)
    return CheckpointChosen(at=world.clock(), attempt=order.attempt, choice=choice)
