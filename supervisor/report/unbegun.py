"""What there is to say of a job whose supervisor has not written yet, by Slurm's word about it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from supervisor.report.standing import Conclusion, Standing
from supervisor.report.words import duration

_LATE_S: Final = 60.0
"""A supervisor writes within seconds of the job's start."""
_LIVING: Final = frozenset({"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING"})
_REMEDIES: Final[Mapping[str, str]] = {
    "JobHeldUser": "it is held; let it go with: scontrol release {job}",
    "JobHeldAdmin": "an administrator holds it; ask there",
    "DependencyNeverSatisfied": "the job that it depends on has failed, so it will never start: scancel {job}",
    "BadConstraints": "no node can satisfy what it asks for: scancel {job}, and ask for less",
    "PartitionNodeLimit": "the partition does not have so many nodes: scancel {job}, and ask for fewer",
}
"""Slurm's reasons for waiting that do not go away by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmsWord:
    """What Slurm said of one job."""

    job_id: str
    state: str = ""
    """`PENDING`, `CANCELLED`; empty: Slurm does not know the job any more."""
    reason: str = ""
    """Why it waits; empty: not said."""
    has_started: bool = False
    """It was given nodes."""
    started_at: float | None = None

    @property
    def is_to_start(self) -> bool:
        """It waits, or begins: not one that is just being cleared away."""
        return self.state in {"PENDING", "REQUEUED", "CONFIGURING", "RUNNING"}


def unbegun(word: SlurmsWord, now: float) -> Conclusion:
    """How a run stands whose only job has left no trace of a supervisor."""
    if word.state in {"PENDING", "REQUEUED"}:
        return _pending(word)
    if word.state in _LIVING:
        return _starting(word, now)
    if not word.state:
        return Conclusion(
            Standing.UNSTARTED,
            f"Over: Slurm no longer knows job {word.job_id}; it never started under supervision. "
            "If you still want it, submit it again.",
        )
    return _ended(word)


def _ended(word: SlurmsWord) -> Conclusion:
    """A job that is over; where it had started, its script ran as it is."""
    if word.state == "COMPLETED":
        text = f"Completed, but not supervised: job {word.job_id} ran as it is; its output says why."
        return Conclusion(Standing.COMPLETED, text)
    if word.has_started:
        look = f"the output of job {word.job_id} says why; a script that cannot be supervised runs as it is"
        text = f"ENDED, needs you: job {word.job_id} has ended ({word.state}), and no supervisor wrote of it."
        return Conclusion(Standing.ENDED, text, (look,))
    if word.state == "CANCELLED":
        text = f"Cancelled: job {word.job_id} was cancelled before it started. If you still want it, submit it again."
        return Conclusion(Standing.CANCELLED, text)
    text = f"ENDED, needs you: job {word.job_id} has ended ({word.state}) before it started."
    return Conclusion(Standing.ENDED, text, ("submit it again",))


def handed_on(word: SlurmsWord, conclusion: Conclusion, what_next: str) -> Conclusion:
    """The conclusion on a run that another start of a job was to go on with, by Slurm's word about that start."""
    if word.state in {"PENDING", "REQUEUED"}:
        remedy = _remedy(word)
        return Conclusion(conclusion.standing, f"{conclusion.text} It waits{_because(word)}.", (*remedy,))
    if word.state in _LIVING:
        return conclusion
    ended = f"was {word.state.lower()}" if word.state == "CANCELLED" else f"has ended ({word.state})"
    fate = f"{ended} before it could" if word.state else "never began, and Slurm no longer knows it"
    standing = Standing.CANCELLED if word.state == "CANCELLED" else Standing.ENDED
    head = "Cancelled" if word.state == "CANCELLED" else "ENDED, needs you"
    return Conclusion(standing, f"{head}: job {word.job_id} was to go on with this run and {fate}.", (what_next,))


def _pending(word: SlurmsWord) -> Conclusion:
    if remedy := _remedy(word):
        text = f"Waiting, needs you: job {word.job_id} does not start by itself{_because(word)}."
        return Conclusion(Standing.WAITING, text, remedy)
    hint = f"Slurm's estimate: squeue --start -j {word.job_id}"
    return Conclusion(Standing.WAITING, f"Waiting: job {word.job_id} is in the queue{_because(word)}. {hint}")


def _starting(word: SlurmsWord, now: float) -> Conclusion:
    age_s = now - word.started_at if word.started_at is not None else 0.0
    if age_s < _LATE_S:
        return Conclusion(Standing.WAITING, f"Starting: Slurm has started job {word.job_id}, its supervisor comes up.")
    text = f"UNKNOWN, look at it: job {word.job_id} runs for {duration(age_s)}, and no supervisor has written of it."
    look = "look at the job's output: a script that cannot be supervised on its node runs as it is"
    return Conclusion(Standing.SILENT, text, (look,))


def _because(word: SlurmsWord) -> str:
    return f" ({word.reason})" if word.reason else ""


def _remedy(word: SlurmsWord) -> tuple[str, ...]:
    found = _REMEDIES.get(word.reason, "")
    return (found.format(job=word.job_id),) if found else ()
