"""What became of the interruptions of one job: handled, left to a person, or not over yet. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from supervisor.ledger.site.history import JobHistory
from supervisor.model.site import SiteIncident
from supervisor.model.verdict import Class

WAITS: Final = frozenset({"stop", "observe"})
"""Actions that leave the rest to a person."""
BY_PERSON: Final = WAITS | {"none"}
"""Those, and none at all: whoever should have acted died first, or the job was cancelled before the verdict."""
_RELAUNCH: Final = "relaunch"
"""How actions begin that end with ranks running in the same job."""
_OVER: Final = frozenset({"stopped", "failed"})
"""Ends after which a run waits for somebody."""
_WENT_ON: Final = frozenset({"completed", "handed_on"})
SILENT_S: Final = 2 * 3600.0
"""A job that lives writes each hour."""


class Standing(NamedTuple):
    """How a job stands, as far as its record says. There is one of each job."""

    end: str
    """As in `SiteUse.end`."""
    is_over: bool
    """It ended, or has been silent for so long that nobody can have written its end."""

    @property
    def fate(self) -> str:
        """Of a relaunch whose ranks nobody saw run, where nothing followed it."""
        if self.end in _WENT_ON:
            return "handled"
        return "person" if self.is_over else "open"

    @property
    def is_left(self) -> bool:
        """It came to an end after which its run waits for somebody, if it was interrupted."""
        return self.end in _OVER or (self.is_over and not self.end)


def standing(history: JobHistory, last_at: float, until: float) -> Standing:
    """At the end of the time that is asked for."""
    end = history.use.end if history.use else ""
    return Standing(end, bool(end) or last_at < until - SILENT_S)


def unhandled(
    history: JobHistory, real: Sequence[SiteIncident], how: Standing
) -> tuple[list[SiteIncident], list[SiteIncident]]:
    """Of these interruptions those that were not handled without a person, and those of which nobody can say yet."""
    failed = how.end == "failed" and not history.incidents[-1].is_closed
    by_person = [one for one in real if one.action in BY_PERSON]
    doubtful = [one for one in real if one.recovery_s is None and one.action not in BY_PERSON]
    if not doubtful and not failed:
        return by_person, []
    fates = _fates(history.incidents, how)
    by_person = [one for one in real if fates[one.incident] == "person"]
    return by_person, [one for one in real if fates[one.incident] == "open"]


def _fates(incidents: Sequence[SiteIncident], how: Standing) -> dict[int, str]:
    """By number. A relaunch that was interrupted before its ranks ran has the fate of what it was followed by."""
    fates: dict[int, str] = {}
    after = how.fate
    for one in reversed(incidents):
        is_last_word = one is incidents[-1] and how.end == "failed" and not one.is_closed
        fates[one.incident] = fate = "person" if is_last_word else _fate(one, after)
        after = how.fate if one.cls is Class.PLANNED else fate
    return fates


def _fate(one: SiteIncident, after: str) -> str:
    if one.action in BY_PERSON:
        return "person"
    is_back = one.recovery_s is not None or not one.action.startswith(_RELAUNCH)
    return "handled" if is_back else after


def waits(history: JobHistory, how: Standing) -> bool:
    """Its run stands still, and the newest word of it is an interruption that leaves the rest to a person."""
    if not how.is_left or not history.incidents:
        return False
    last = history.incidents[-1]
    return last.cls is not Class.PLANNED and (last.action in WAITS or not last.is_closed)
