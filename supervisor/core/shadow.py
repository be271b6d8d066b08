"""What other settings would have decided: each decision of a recorded run, made again from the same moment.

Everything up to a decision stays as it was; only the decision itself is made with the other settings. What would have
followed from another one nobody can know. Pure.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from supervisor.core.machine import handle
from supervisor.core.snapshot import Recorded, Snapshot
from supervisor.core.state import State
from supervisor.model.base import Fact
from supervisor.model.ids import IncidentNo
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class
from supervisor.settings import Settings

_UNDECIDED: Final = "none"


class Decided(Fact, frozen=True, kw_only=True):
    """One decision, as it was and as it would have been."""

    at: float
    incident: IncidentNo
    cls: Class
    cause: str
    action: str
    text: str
    other_action: str
    other_text: str

    @property
    def differs(self) -> bool:
        """Another action, or the same one at another time or on other nodes."""
        return (self.action, self.text) != (self.other_action, self.other_text)


def decisions(events: Iterable[Recorded], settings: Settings, other: Settings) -> Iterator[Decided]:
    """Each decision of the run that these events tell, oldest first."""
    state = State()
    for event in events:
        if isinstance(event, Snapshot):
            state = event.state
            continue
        before, state = state, handle(state, event, settings)[0]
        record = _decision(before, state)
        if record is not None:
            yield _decided(event.at, record, handle(before, event, other)[0])


def _decision(before: State, after: State) -> IncidentRecord | None:
    """The record that this event wrote a decision to: the first one, not what became of it on the ladder."""
    known, now = before.incident, after.incident
    if known is None or now is None or known.record.incident != now.record.incident:
        return None
    is_first = known.record.action == _UNDECIDED and now.record.action != _UNDECIDED
    return now.record if is_first else None


def _decided(at: float, record: IncidentRecord, other: State) -> Decided:
    would = other.incident.record if other.incident else None
    return Decided(
        at=at,
        incident=record.incident,
        cls=record.verdict.cls,
        cause=record.verdict.cause,
        action=record.action,
        text=record.action_text,
        other_action=would.action if would else _UNDECIDED,
        other_text=would.action_text if would else "",
    )
