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


def pace_s(*, lease_s: float) -> float:
    """Time between two looks at the bus, which costs nothing."""
    return min(0.5, lease_s / 10)


def quiet_s(*, lease_s: float) -> float:
    """After this long without a word on the bus, term file and slurmd are asked.

    A link has an answer of the broker every three seconds.
    """
    return min(3.3, lease_s / 5)


def pause_s(*, lease_s: float) -> float:
    """Time between two such questions."""
    return lease_s / 5


def question_s(*, lease_s: float) -> float:
    """Deadline of one question (file, probe): two of them and a pause stay below what counts as having slept."""
    return min(2.0, lease_s / 12)


def is_due(watch: Watch, *, now: float, asked_at: float, lease_s: float, leases: int) -> bool:
    """Whether to ask now: after each pause, and so that the answer is there when silence has lasted a lease.

    `leases`: after so many, something is decided at each question, so they come closer together.
    """
    silent_s, asked_silent_s = now - watch.silent_since, asked_at - watch.silent_since
    if silent_s < quiet_s(lease_s=lease_s):
        return False
    ends = [number * lease_s for number in range(1, leases + 1)]
    # Before the end of a lease, since a host that is gone answers by letting the deadline pass; and right at it.
    moments = [end - early for end in ends for early in (question_s(lease_s=lease_s), 0.0)]
    is_over = any(asked_silent_s < moment <= silent_s for moment in moments)
    pause = min(2.0, pause_s(lease_s=lease_s)) if silent_s >= leases * lease_s else pause_s(lease_s=lease_s)
    return is_over or now - asked_at >= pause


def look(watch: Watch, *, now: float, sign_at: float | None, lease_s: float) -> Watch:
    """The watch after one look; `sign_at`: when a sign came, None: there was none.

    A sign ends the silence; so does having slept, for then nobody was listening.
    """
    has_slept = now - watch.looked_at > lease_s / 2
    if has_slept:
        return Watch(silent_since=now, looked_at=now)
    since = watch.silent_since if sign_at is None else max(sign_at, watch.silent_since)
    return replace(watch, silent_since=since, looked_at=now)


def is_cut_off(watch: Watch, *, lease_s: float, is_batch_host: bool) -> bool:
    """Whether the ranks must go. Never on the batch host: what it cannot hear there is on its own machine."""
    return not is_batch_host and watch.looked_at - watch.silent_since >= lease_s
