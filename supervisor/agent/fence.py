"""Pure: when an agent that hears nobody must kill its ranks.

Only when bus, lease file and the batch host's slurmd have all been silent for the whole lease, seen by looking all the
time: a node that slept has heard nobody either, and that is no sign of anything.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Since when there has been no sign. Monotonic seconds."""

    silent_since: float
    looked_at: float


def pause_s(*, lease_s: float) -> float:
    """Time between two looks."""
    return lease_s / 5


def question_s(*, lease_s: float) -> float:
    """Deadline of one question (file, probe): two of them and a pause stay below what counts as having slept."""
    return min(2.0, lease_s / 12)


def look(watch: Watch, *, now: float, is_any_sign: bool, lease_s: float) -> Watch:
    """The watch after one look. A sign ends the silence; so does having slept, for then nobody was listening."""
    has_slept = now - watch.looked_at > lease_s / 2
    if is_any_sign or has_slept:
        return Watch(silent_since=now, looked_at=now)
    return replace(watch, looked_at=now)


def is_cut_off(watch: Watch, *, lease_s: float, is_batch_host: bool) -> bool:
    """Whether the ranks must go. Never on the batch host: what it cannot hear there is on its own machine."""
    return not is_batch_host and watch.looked_at - watch.silent_since >= lease_s
