"""What was injected against what followed. Pure."""

from collections.abc import Iterator
from typing import Final

from supervisor.drill.kinds import Kind, known_kind
from supervisor.drill.record import Injection, Seen
from supervisor.drill.suite import Limits
from supervisor.model.base import Fact
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Verdict
from supervisor.report.words import count, duration, names

SAVE_EVERY: Final = 10
"""Steps between two checkpoints of the drill's trainer."""
_GOES_ON: Final = frozenset({"relaunch", "relaunch_on_spare", "relaunch_smaller", "resubmit", "requeue"})


class Result(Fact, frozen=True, kw_only=True):
    """One fault, judged."""

    seen: Seen
    wrong: tuple[str, ...] = ()
    """What is not as it should be, each in a few words; empty: it was handled."""
    detection_s: float | None = None
    """From the fault to the opening of the incident."""
    back_s: float | None = None
    """From the fault to the furthest step again; where nothing was interrupted, until another process was there."""

    @property
    def is_handled(self) -> bool:
        """As it should be."""
        return not self.wrong


def judge(seen: Seen, limits: Limits) -> Result:
    """Everything that is not as the kind of the fault wants it, within its limits."""
    kind = known_kind(seen.fault)
    if seen.injection is None:
        return Result(seen=seen, wrong=(seen.problem or "it could not be made",))
    detection_s, back_s = _detection_s(seen), _back_s(kind, seen)
    complaints = _interrupted if kind.interrupts else _undisturbed
    wrong = tuple(complaints(kind, seen, seen.injection, limits))
    problem = (seen.problem,) if seen.problem else ()
    return Result(seen=seen, wrong=(*wrong, *problem), detection_s=detection_s, back_s=back_s)


def _detection_s(seen: Seen) -> float | None:
    return None if seen.record is None or seen.injection is None else seen.record.opened_at - seen.injection.at


def _back_s(kind: Kind, seen: Seen) -> float | None:
    injection, record = seen.injection, seen.record
    if injection is None:
        return None
    if not kind.interrupts:
        return None if injection.back_at is None else injection.back_at - injection.at
    if record is None or not record.is_closed or record.action not in _GOES_ON:
        return None
    if record.step_before is not None and record.split.catch_up is None:
        return None  # closed by the next interruption
    return record.opened_at - injection.at + record.split.after_opening_s


def _undisturbed(kind: Kind, seen: Seen, injection: Injection, limits: Limits) -> Iterator[str]:
    if seen.record is not None:
        yield f"interrupted the run ({_cause(seen.record.verdict)}), and should not have"
    back_s = _back_s(kind, seen)
    if back_s is None:
        yield f"nobody has taken the {kind.target}'s place on {injection.node or 'its node'}"
    elif back_s > limits.back_s:
        yield f"another {kind.target} was there after {duration(back_s)}, limit {duration(limits.back_s)}"
    if not seen.is_moving:
        yield "no new steps afterwards"


def _interrupted(kind: Kind, seen: Seen, injection: Injection, limits: Limits) -> Iterator[str]:
    record = seen.record
    if record is None:
        yield "nobody noticed"
        return
    late_s = record.opened_at - injection.at
    if late_s > limits.seen_s:
        yield f"noticed after {duration(late_s)}, limit {duration(limits.seen_s)}"
    yield from _verdict(kind, record.verdict, injection)
    if seen.more:
        yield f"{count(len(seen.more), 'more interruption')} followed"
    yield from _stopped(seen, record) if kind.stops else _recovered(kind, seen, record, injection, limits)


def _verdict(kind: Kind, verdict: Verdict, injection: Injection) -> Iterator[str]:
    if verdict.cls not in kind.classes:
        yield f"taken for {_cause(verdict)} instead of {' or '.join(sorted(kind.classes))}"
    elif kind.causes and verdict.cause not in kind.causes:
        yield f"taken for {_cause(verdict)} instead of {' or '.join(sorted(kind.causes))}"
    if kind.blames == "rank" and injection.rank is not None and injection.rank not in verdict.blame.ranks:
        yield f"blames {blamed(verdict)} instead of rank {injection.rank}"
    if kind.blames == "node" and injection.node not in verdict.blame.nodes:
        yield f"blames {blamed(verdict)} instead of {injection.node}"
    innocent = set(verdict.exclude_nodes) - ({injection.node} if kind.blames == "node" else set())
    if innocent:
        yield f"excludes {names(sorted(innocent))}, which nothing had happened to"


def _stopped(seen: Seen, record: IncidentRecord) -> Iterator[str]:
    if record.action != "stop":
        yield f"action {record.action} instead of stop"
    elif not seen.has_ended:
        yield "the job has not ended, its nodes are not free"


def _recovered(kind: Kind, seen: Seen, record: IncidentRecord, injection: Injection, limits: Limits) -> Iterator[str]:
    if record.action not in _GOES_ON:
        yield f"action {record.action or 'none'}, the run did not go on"
        return
    back_s = _back_s(kind, seen)
    if back_s is None:
        yield "the furthest step was not reached again"
    elif back_s > limits.back_s:
        yield f"the furthest step again after {duration(back_s)}, limit {duration(limits.back_s)}"
    elif not seen.is_moving:
        yield "no new steps afterwards"
    if kind.rolls_back and not _is_older(record.resumed_step, injection.step):
        yield f"went on from step {record.resumed_step} instead of the checkpoint before the torn one"


def _is_older(resumed: int | None, step: int | None) -> bool:
    """The newest checkpoint was that of the last save before the fault."""
    return resumed is not None and step is not None and resumed < step // SAVE_EVERY * SAVE_EVERY


def _cause(verdict: Verdict) -> str:
    return f"{verdict.cls}/{verdict.cause}"


def blamed(verdict: Verdict) -> str:
    """`rank 3 on node002`, `node002`, `nobody`."""
    blame = verdict.blame
    ranks = f"rank {', '.join(map(str, blame.ranks[:3]))}" if blame.ranks else ""
    nodes = names(blame.nodes) if blame.nodes else ""
    return " on ".join(part for part in (ranks, nodes) if part) or "nobody"
