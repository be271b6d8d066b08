"""Decisions of a recorded run, made again with other settings."""

import msgspec
import pytest

from supervisor.core.shadow import decisions
from supervisor.settings import Settings
from tests.core.facts import crash, node
from tests.core.harness import World


def _told() -> World:
    """A run with three interruptions: a crash, a crash at another place, a dead node."""
    world = World(spares=1, settings=Settings(max_lost_share=1)).start()
    world.ranks().progress(1).exit(1)
    world.run(30)
    world.verdict = crash(fingerprint="elsewhere")
    world.ranks().progress(5).exit(1)
    world.run(30)
    world.ranks().progress(9).kill(node(2))
    world.run(30)
    return world


def test_the_same_settings_decide_the_same() -> None:
    """Every decision is found, and none differs."""
    world = _told()
    found = list(decisions(world.log, world.settings, world.settings))
    assert [(one.incident, one.cause, one.action) for one in found] == [
        (1, "segfault", "relaunch"),
        (2, "segfault", "relaunch"),
        (3, "node_unreachable", "relaunch_on_spare"),
    ]
    assert not any(one.differs for one in found)
    assert [record.action for record in world.records] == [one.action for one in found]


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"policy": "segfault.budget=1"}, [2]),
        ({"policy": "software.budget=0"}, [1, 2]),
        ({"policy": "segfault.wait_s=30"}, [1, 2]),
        ({"max_restarts": 2}, [3]),
        ({"mode": "observe"}, [1, 2, 3]),
        ({"policy": "network.budget=0"}, []),
    ],
)
def test_what_would_differ_is_found(changes: dict[str, object], differing: list[int]) -> None:
    """Each at its own moment: the past before it stays as it was."""
    world = _told()
    other = msgspec.structs.replace(world.settings, **changes)
    found = list(decisions(world.log, world.settings, other))
    assert [one.incident for one in found if one.differs] == differing
    assert len(found) == 3


def test_another_decision_is_told_in_words() -> None:
    """Which budget would have stopped it."""
    world = _told()
    other = msgspec.structs.replace(world.settings, policy="segfault.budget=1")
    second = list(decisions(world.log, world.settings, other))[1]
    assert second.other_action == "stop"
    assert "1 restarts for segfault are behind this run" in second.other_text
    assert second.text == "starting again on the same nodes"
