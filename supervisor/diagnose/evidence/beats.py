"""What the ranks' last signs of life say: whose process is gone, who stopped first, who was busy with something else.

`beats.json` of a bundle: one object per node, as `model/wire.py` has `Beats`. In a synchronous job all ranks come to
the same step and wait there for the last one: who stands still at a lower step, or in another phase, is waited for.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.signatures import Mark
from supervisor.model.ids import NodeName, Rank

SOURCE: Final = "beats.json"
GONE: Final = "beat_rank_gone"
FIRST: Final = "beat_stopped_first"
STOPPED: Final = "beat_stopped_rank"
LATE: Final = "beat_late_rank"
BUSY: Final = "beat_busy_rank"
STILL: Final = "beat_all_still"
NAMING: Final = (GONE, FIRST, STOPPED, LATE, BUSY)
"""Findings that name a rank the others wait for, the surest first."""
_WAITED_FOR: Final[dict[str, Mark]] = {"checkpoint": "saving", "eval": "evaluating", "data": "loading"}
"""Phases in which a rank does something that others may wait for, and what the rules call it."""
_WORKING: Final = frozenset({"data", "step", "checkpoint", "eval"})
_APART_S: Final = 3.0
"""A rank that moved so much earlier than all others stopped before them, and not because of them."""
_STANDS_S: Final = 2.0
"""Beats travel once a second: who moved less long ago than this may be under way."""
_STILL_S: Final = 3600.0
"""Nobody works so long without a step."""
_STATES: Final = {"T": "is stopped (SIGSTOP)", "D": "waits in the kernel and cannot be interrupted"}
_RANKS: Final = 16
_MOST: Final = 10**12
"""Seconds, and numbers of steps: no job is so old."""


@dataclass(frozen=True, slots=True)
class Beat:
    """One rank's last sign of life."""

    rank: Rank
    node: NodeName | None
    step: int
    phase: str
    age_s: float
    """Since it moved."""
    is_alive: bool
    has_ended: bool
    """It said that it came to its end."""
    state: str = ""
    """Of its process, as the kernel has it."""

    @property
    def is_gone(self) -> bool:
        """Its process is no more, and it had not said that it would end."""
        return not self.is_alive and not self.has_ended


def find(beats: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Findings of context: they show no cause, and the rules decide whom they blame. Wrong shapes are left out."""
    seen = [beat for told in beats for beat in _read(told)]
    gone = [beat for beat in seen if beat.is_gone]
    others = [beat for beat in seen if beat.is_alive]
    if gone and others:
        for beat in _oldest_first(gone):
            text = f"the process of {_named(beat)} is gone and did not say that it ends; {len(others)} others live"
            yield _finding(GONE, beat, text)
    elif gone:
        yield from _stopped_first(seen)
    yield from _stopped(others)
    yield from _waited_for(others)
    if others and all(beat.age_s >= _STILL_S and beat.phase in _WORKING for beat in others):
        youngest = min(beat.age_s for beat in others)
        yield _finding(STILL, None, f"no rank has moved for {youngest:.0f} s, and {len(others)} live")


def _stopped_first(seen: Sequence[Beat]) -> Iterator[Finding]:
    """All are gone: whoever ended the others has left the last moves of the first ones behind."""
    ordered = sorted(seen, key=lambda beat: -beat.age_s)
    for count in range(1, len(ordered) // 2 + 1):
        if ordered[count - 1].age_s - ordered[count].age_s >= _APART_S:
            apart_s = ordered[count - 1].age_s - ordered[count].age_s
            for beat in ordered[:count][:_RANKS]:
                yield _finding(FIRST, beat, f"{_named(beat)} stopped moving {apart_s:.0f} s before all others")
            return


def _stopped(living: Sequence[Beat]) -> Iterator[Finding]:
    """A few processes that cannot run, while the others could."""
    for state, words in _STATES.items():
        stuck = [beat for beat in living if beat.state == state]
        if 0 < 2 * len(stuck) <= len(living):
            for beat in stuck[:_RANKS]:
                yield _finding(STOPPED, beat, f"{_named(beat)} {words}")


def _waited_for(living: Sequence[Beat]) -> Iterator[Finding]:
    """Of ranks that all stand still: a few at a lower step, or at the same step in a phase of their own."""
    if any(beat.age_s < _STANDS_S for beat in living):
        return
    stepping = [beat for beat in living if beat.phase in _WORKING]
    if not stepping:
        return
    step, phase = max(beat.step for beat in stepping), _usual(beat.phase for beat in stepping)
    late = [beat for beat in stepping if beat.step < step]
    if 0 < 2 * len(late) <= len(stepping):
        for beat in sorted(late, key=lambda one: (one.step, -one.age_s))[:_RANKS]:
            yield _finding(LATE, beat, f"{_named(beat)} stands still at step {beat.step:,}, others wait at {step:,}")
    busy = [beat for beat in stepping if beat.phase != phase and beat.phase in _WAITED_FOR]
    if 0 < 2 * len(busy) < len(stepping):
        for beat in busy[:_RANKS]:
            text = f"{_named(beat)} is in phase {beat.phase} for {beat.age_s:.0f} s, others wait in phase {phase}"
            yield _finding(BUSY, beat, text, marks=(_WAITED_FOR[beat.phase],))


def _oldest_first(beats: Iterable[Beat]) -> list[Beat]:
    return sorted(beats, key=lambda beat: -beat.age_s)[:_RANKS]


def _usual(phases: Iterable[str]) -> str:
    return Counter(phases).most_common(1)[0][0]


def _named(beat: Beat) -> str:
    return f"rank {beat.rank}" + (f" on {beat.node}" if beat.node else "")


def _finding(signature: str, beat: Beat | None, text: str, marks: tuple[Mark, ...] = ()) -> Finding:
    return Finding(
        signature=signature,
        role="context",
        source=SOURCE,
        text=text,
        scope="own" if beat else "job",
        marks=marks,
        rank=beat.rank if beat else None,
        node=beat.node if beat else None,
        step=beat.step if beat else None,
    )


def _read(told: Mapping[str, Any]) -> Iterator[Beat]:
    """The ranks of one node's object."""
    node, ranks = told.get("node"), told.get("ranks")
    for one in ranks if isinstance(ranks, list | tuple) else ():
        if isinstance(one, Mapping) and _is_whole(one):
            yield Beat(
                rank=Rank(one["rank"]),
                node=NodeName(node) if isinstance(node, str) and node else None,
                step=one["step"],
                phase=str(one.get("phase") or ""),
                age_s=float(one["age_s"]),
                is_alive=one.get("is_alive") is not False,
                has_ended=one.get("has_ended") is True,
                state=str(one.get("state") or ""),
            )


def _is_whole(one: Mapping[str, Any]) -> bool:
    return (
        all(isinstance(one.get(name), int) and not isinstance(one[name], bool) for name in ("rank", "step"))
        and one["rank"] >= 0
        and abs(one["step"]) < _MOST
        and isinstance(one.get("age_s"), int | float)
        and not isinstance(one["age_s"], bool)
        and abs(one["age_s"]) < _MOST
    )
