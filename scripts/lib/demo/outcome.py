"""What the demo has shown, and whether that is what it set out to show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Told:
    """A story at its end."""

    deed: str
    """What the demo did to the job, in words."""
    done_at: float
    """When, in seconds since the epoch."""
    completed: bool
    """The job ended well, with its result."""
    attempts: int
    incidents: tuple[Json, ...]
    """Incident records as they lie in the run folder."""
    save_every: int
    """Steps between two checkpoints."""
    more: tuple[tuple[str, str], ...] = ()
    """More rows for the screen: label and text."""

    @property
    def incident(self) -> Json:
        """The one that the demo is about."""
        return self.incidents[0]

    @property
    def detection_s(self) -> float:
        """From the deed to the opening of the incident."""
        return detection_s(self.incident, self.done_at)


def detection_s(record: Json, done_at: float) -> float:
    """From the deed to the opening of this incident."""
    opened_at: float = record["opened_at"]
    return max(0.0, opened_at - done_at)


def answer(told: Told) -> Json:
    """The object for programs. Times are seconds; `recovery_s` is from the verdict to ranks running."""
    return {
        "completed": told.completed,
        "attempts": told.attempts,
        "steps_lost": sum(record.get("steps_lost") or 0 for record in told.incidents),
        "incidents": [_short(record, told) for record in told.incidents],
    }


def _short(record: Json, told: Told) -> Json:
    verdict = record["verdict"]
    recovery = record.get("recovery_s")
    return {
        "class": verdict["cls"],
        "cause": verdict["cause"],
        "nodes": list(verdict.get("blame", {}).get("nodes", ())),
        "detection_s": round(detection_s(record, told.done_at), 3),
        "recovery_s": None if recovery is None else round(recovery, 3),
        "action": record["action"],
    }


def complaints(told: Told, *, cause: str, nodes: Sequence[str], actions: Sequence[str]) -> list[str]:
    """Everything that is not as expected, a sentence each: one incident, of this cause, on these nodes.

    An empty `cause` stands for any.
    """
    found = [] if told.completed else ["the job did not complete"]
    if len(told.incidents) != 1:
        return [*found, f"one incident was expected, {len(told.incidents)} are recorded"]
    shown = answer(told)["incidents"][0]
    name = f"{shown['class']}/{shown['cause']}"
    if cause not in {"", name}:
        found.append(f"the verdict is {name}, not {cause}")
    if shown["nodes"] != list(nodes):
        found.append(f"the blame is on {shown['nodes'] or 'no node'}, not on {list(nodes) or 'none'}")
    if shown["action"] not in actions:
        found.append(f"the action was {shown['action']}, not {' or '.join(actions)}")
    if told.attempts != 2:  # noqa: PLR2004  # the first, and the one after the fault
        found.append(f"there were {told.attempts} attempts, not 2")
    return found
