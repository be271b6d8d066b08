"""The ranks of an attempt as `core/hang.py` judges them, from tick to tick."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from supervisor.bus.protocol import NO_ATTEMPT
from supervisor.core import hang
from supervisor.core.events import Event, Hung
from supervisor.daemon.stall import Seen
from supervisor.model.ids import AttemptNo, Rank


@dataclass(slots=True)
class Hangs:
    """What is known of the present attempt's pace."""

    limits: hang.Limits = field(default_factory=hang.Limits)
    _attempt: AttemptNo = NO_ATTEMPT
    _habits: hang.Habits = field(default_factory=hang.Habits)

    def look(self, ranks: Mapping[Rank, Seen], *, attempt: AttemptNo, awake_since: float, now: float) -> list[Event]:
        """A hang, once for each; nothing where no rank beats."""
        if attempt != self._attempt:
            # Of another attempt only where it hung is of use.
            self._attempt, self._habits = attempt, hang.Habits(hung_step=self._habits.hung_step)
        signs = [_sign(rank) for rank in ranks.values() if rank.is_alive and rank.beat.phase != "idle"]
        if not signs:
            return []
        self._habits = hang.looked(self._habits, signs, awake_since=awake_since)
        is_ending = any(not rank.is_alive for rank in ranks.values())
        silent_s = hang.hung_for(self._habits, signs, awake_since=awake_since, is_ending=is_ending, limits=self.limits)
        if silent_s is None or self._habits.is_told:
            return []
        self._habits = hang.told(self._habits, signs)
        since = max(self._habits.moved_at, awake_since)
        return [Hung(at=now, attempt=attempt, silent_s=max(silent_s, now - since))]


def _sign(rank: Seen) -> hang.Sign:
    beat = rank.beat
    return hang.Sign(
        step=beat.step,
        phase=beat.phase,
        count=beat.count,
        moved_at=rank.moved_at,
        seen_at=rank.seen_at,
        usual_s=median(rank.intervals) if rank.intervals else None,
        tells=beat.tells,
        state=beat.state,
    )
