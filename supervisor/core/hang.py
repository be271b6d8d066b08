"""Whether ranks that all live stand still. How long each phase may take is learned from the attempt's beats. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

SEEN_S: Final = 2.5
"""Pages are read once a second and beats come once a second: a standstill is seen so much later at most."""
_TIMES: Final = 5.0
"""So many times as long as usual is no slow step any more, nor a slow save."""
_PAUSE_TIMES: Final = 2.0
"""Nor so many times as long as the longest pause between steps so far."""
_OWN_S: Final = 300.0
"""A save, an evaluation or the loading of data may always take so long: storage that is slow for once is no hang."""
_UNTOLD_S: Final = 600.0
"""Ranks that only tell of steps may be in the midst of a save or an evaluation."""
_WARM_BEATS: Final = 12
"""Until each rank has beaten so often, compilation and warm-up may go on."""
_OWN: Final = frozenset({"checkpoint", "eval", "data"})
_TRACED, _STOPPED = "t", "T"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One living rank's last sign of progress. Ranks in phase idle are no business of ours."""

    step: int
    phase: str
    count: int
    moved_at: float
    seen_at: float
    usual_s: float | None = None
    """The median of its intervals; None: none is known yet."""
    tells: bool = False
    """It has told of a save, an evaluation or a pause."""
    state: str = ""
    """Of its process, as the kernel has it; empty: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the settings allow."""

    hang_s: float = 10.0
    """0: hangs are not looked for."""
    first_step_s: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What is known of an attempt."""

    moved_at: float = float("-inf")
    """When any of its ranks moved last."""
    phases: frozenset[str] = frozenset()
    """In which ranks were since then."""
    longest_s: Mapping[str, float] = field(default_factory=dict)
    """The longest standstill in each phase."""
    hung_step: int | None = None
    """Where a hang was noticed, also in the attempt before, until the slowest rank is beyond it."""
    is_told: bool = False
    """Of the present standstill."""


def looked(habits: Habits, signs: Sequence[Sign], *, awake_since: float) -> Habits:
    """The habits with what these signs add; there is at least one."""
    phases = frozenset(sign.phase for sign in signs)
    moved_at = max(sign.moved_at for sign in signs)
    hung_step = habits.hung_step
    if hung_step is not None and "setup" not in phases and min(sign.step for sign in signs) > hung_step:
        hung_step = None
    if moved_at <= habits.moved_at:
        return replace(habits, phases=habits.phases | phases, hung_step=hung_step)
    longest = dict(habits.longest_s)
    # A pause in which nobody looked, as of a suspended job, is no habit.
    if habits.moved_at >= awake_since:
        for phase in _learning(habits.phases, signs):
            longest[phase] = max(longest.get(phase, 0.0), moved_at - habits.moved_at)
    return replace(habits, moved_at=moved_at, phases=phases, longest_s=longest, hung_step=hung_step, is_told=False)


def hung_for(
    habits: Habits, signs: Sequence[Sign], *, awake_since: float, is_ending: bool, limits: Limits
) -> float | None:
    """For how long nobody has moved, as far as each rank was seen; None: that is no hang.

    `is_ending`: some rank's process has ended already, so that the others may be at their last work.
    """
    if not limits.hang_s or not signs or _is_stopped_by_hand(signs):
        return None
    stands_s = min(sign.seen_at for sign in signs) - max(habits.moved_at, awake_since)
    return stands_s if stands_s >= allowed_s(habits, signs, is_ending=is_ending, limits=limits) else None


def told(habits: Habits, signs: Sequence[Sign]) -> Habits:
    """The hang is noticed; whoever stands still at the same step again, after a restart, has the time of a first step.

    It may be work that nobody tells of, and that would be cut off each time.
    """
    return replace(habits, is_told=True, hung_step=max(sign.step for sign in signs))


def allowed_s(habits: Habits, signs: Sequence[Sign], *, is_ending: bool, limits: Limits) -> float:
    """How long ranks in these phases may stand still."""
    first = max(limits.first_step_s, limits.hang_s)
    if is_ending or habits.hung_step is not None or not _is_warm(signs):
        return first
    return max(_phase_s(phase, habits, signs, limits) for phase in {sign.phase for sign in signs})


def _phase_s(phase: str, habits: Habits, signs: Sequence[Sign], limits: Limits) -> float:
    longest = habits.longest_s.get(phase)
    if phase in _OWN and longest is not None:
        return max(_OWN_S, limits.hang_s, _TIMES * longest)
    usual = [sign.usual_s for sign in signs if sign.usual_s is not None]
    if phase != "step" or not usual:
        return max(limits.first_step_s, limits.hang_s)
    least = limits.hang_s if any(sign.tells for sign in signs) else max(_UNTOLD_S, limits.hang_s)
    needed = max(least, _TIMES * median(usual)) - SEEN_S
    return max(needed, _PAUSE_TIMES * (longest or 0.0), limits.hang_s / 2)


def _learning(phases: frozenset[str], signs: Sequence[Sign]) -> frozenset[str]:
    """The phases that account for a standstill: of steps only where nobody did anything else."""
    if phases - {"step"}:
        return phases & _OWN
    return phases if _is_warm(signs) else frozenset()


def _is_warm(signs: Sequence[Sign]) -> bool:
    return min(sign.count for sign in signs) >= _WARM_BEATS


def _is_stopped_by_hand(signs: Sequence[Sign]) -> bool:
    """Somebody looks at a rank with a debugger, or has stopped all of them."""
    return any(sign.state == _TRACED for sign in signs) or all(sign.state == _STOPPED for sign in signs)
