"""What a source says, as the event that it means."""

from types import SimpleNamespace
from typing import cast

import pytest

from supervisor.core.events import KeeperReported, SupervisorStarted
from supervisor.core.state import State
from supervisor.daemon import eyes
from supervisor.daemon.history import Opening
from supervisor.daemon.keeper_link import KeeperState
from supervisor.daemon.main import first_events
from supervisor.daemon.world import World
from supervisor.model.ids import AttemptNo


@pytest.mark.parametrize(("script", "signals"), [("", (15, 10)), ("train.sh", (2, 10))])
def test_a_ctrl_c_that_came_while_no_supervisor_lived_is_not_forgotten(script: str, signals: tuple[int, ...]) -> None:
    """At `supervise run` it means the end of the run; for a job it is a signal like any other."""
    world = SimpleNamespace(
        run=SimpleNamespace(script_name=script), clock=lambda: 1.0, adopt_attempt=lambda _attempt, _pid: None
    )
    said = KeeperState(attempt=AttemptNo(1), pid=9, alive=True, signals=(2, 10))
    event = eyes._reported(cast("World", world), said)
    assert isinstance(event, KeeperReported)
    assert event.signals == signals


@pytest.mark.parametrize(("signals", "is_first"), [((), False), ((15,), True)])
def test_a_cancel_that_no_supervisor_heard_goes_before_all_open_questions(
    signals: tuple[int, ...],
    *,
    is_first: bool,
) -> None:
    """They are asked anew, and one of them could be the last before a launch."""
    begins = Opening(State(), SupervisorStarted(at=1.0, generation=2), 2)
    report = KeeperReported(at=1.0, attempt=AttemptNo(1), is_alive=False, signals=signals)
    events = first_events(begins, [report])
    assert events == ((report, begins.event) if is_first else (begins.event, report))
