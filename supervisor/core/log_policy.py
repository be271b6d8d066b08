"""Which events are recorded: all that a replay needs to come to the same state, and no beat more."""

from supervisor.core.events import Event, Progressed, Tick

_PROGRESS_S = 60.0


class LogPolicy:
    """Thins out what repeats. One per log; the newest progress is held back and written before anything else."""

    def __init__(self) -> None:
        self._held: Progressed | None = None
        self._written_at = float("-inf")

    def kept(self, event: Event, *, decides: bool) -> tuple[Event, ...]:
        """What to append for this event, in order. `decides`: the machine answered it with instructions."""
        if isinstance(event, Tick) and not decides:
            return ()
        held = self._held
        before = () if held is None or _says_more(event, held) else (held,)
        if isinstance(event, Progressed) and not decides and event.at - self._written_at < _PROGRESS_S:
            self._held = event
            return before
        self._held = None
        if isinstance(event, Progressed):
            self._written_at = event.at
        return (*before, event)


def _says_more(event: Event, held: Progressed) -> bool:
    """The event tells all that the held one told."""
    return isinstance(event, Progressed) and event.attempt == held.attempt and event.step >= held.step
