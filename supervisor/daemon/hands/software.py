"""Records what each attempt runs with, and tells at an incident what of it changed since the last good run."""

import asyncio
from collections import Counter
from functools import partial
from typing import Any, Final

import structlog

from supervisor.core.instructions import LaunchAttempt
from supervisor.daemon.job_environment import environment_of_the_job
from supervisor.daemon.software.gather import gather
from supervisor.daemon.software.good_run import FILE, Good, good_runs, read_software
from supervisor.daemon.software.repository import differences
from supervisor.daemon.world import World
from supervisor.diagnose.changed import choose, compared, environment
from supervisor.model.base import encode_readable, readable
from supervisor.model.ids import AttemptNo
from supervisor.model.software import Hunk, Software
from supervisor.model.verdict import Changed
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_RECORD_S: Final = 30.0
"""Beside an attempt that starts: nobody waits for it."""
_COMPARE_S: Final = 2.0
"""At an incident, where a verdict waits for it."""
_COMPARED: Final = 6
"""Good runs that are compared with until one shows a change."""


async def remember(world: World, order: LaunchAttempt) -> None:
    """Write the attempt's `software.json`; one that cannot be found out in time has none."""
    try:
        async with asyncio.timeout(_RECORD_S):
            software = await _now(world)
    except TimeoutError:
        _log.info("software.cut", attempt=order.attempt)
        return
    world.writer.write(world.attempt_folder(order.attempt) / FILE, encode_readable(software))


async def since_last_good(world: World, attempt: AttemptNo) -> dict[str, Any]:
    """What a bundle's `environment.json` holds; nothing where it cannot be found out in time."""
    try:
        async with asyncio.timeout(_COMPARE_S):
            now = await aside(partial(read_software, world.folder, attempt), deadline_s=None, name="software")
            now = now or await _now(world)
            found: dict[str, Any] = readable(environment(now, await _changed(world, attempt, now)))
            return found
    except Exception as exc:  # noqa: BLE001  # a whole component: no verdict may fail for want of this
        _log.warning("software.not_compared", reason=repr(exc))
        return {}


async def _now(world: World) -> Software:
    return await gather(world.run, environment_of_the_job(), driver=_driver(world))


async def _changed(world: World, attempt: AttemptNo, now: Software) -> Changed | None:
    look = partial(good_runs, world.folder, world.run, attempt)
    found = await aside(look, deadline_s=None, name="good_runs")
    comparisons: list[Changed] = []
    for good in found[:_COMPARED]:
        comparisons.append(compared(now, good.software, since=good.since, between=await _between(now, good)))
        if comparisons[-1].what:
            break
    return choose(comparisons)


async def _between(now: Software, good: Good) -> tuple[Hunk, ...]:
    """What was committed in the same repository since the good run."""
    here, then = now.git, good.software.git
    if here is None or then is None or here.root != then.root or here.commit == then.commit:
        return ()
    return await differences(here.root, then.commit, here.commit)


def _driver(world: World) -> str:
    """The driver of most nodes; a node that differs is tier 0's business."""
    facts = [world.roster.facts(node) for node in world.around.nodes]
    versions = Counter(one.driver_version for one in facts if one and one.driver_version)
    return versions.most_common(1)[0][0] if versions else ""
