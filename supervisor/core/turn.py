"""One event's handling: the state as it becomes, and the instructions gathered on the way."""

from typing import Any, TypeVar

import msgspec

from supervisor.core.deadlines import allowed_s
from supervisor.core.instructions import Comment, Instruction, Say
from supervisor.core.state import Attempt, Incident, Stage, State, Term
from supervisor.model.job_comment import comment
from supervisor.settings import Settings

_T = TypeVar("_T")


class Turn:
    """Lives for one call of `handle` and is never shared: the functions of the stages write to it in turn."""

    def __init__(self, state: State, settings: Settings, at: float) -> None:
        self.state = state
        self.settings = settings
        self.at = at
        self.out: list[Instruction] = []

    def set(self, **changes: Any) -> None:  # names and types of State's fields: msgspec raises for an unknown one
        """The state with these fields changed."""
        self.state = msgspec.structs.replace(self.state, **changes)

    def do(self, *instructions: Instruction) -> None:
        """Have these done, in this order."""
        self.out.extend(instructions)

    def say(self, text: str) -> None:
        """One line in the job's output."""
        self.do(Say(text=text))

    def tell(self, text: str) -> None:
        """One line in the job's output, and as Slurm's Comment."""
        self.do(Say(text=text), Comment(text=comment(text, self.state.marks)))

    def enter(self, stage: Stage) -> None:
        """Go on to this stage; its time begins now."""
        allowed = allowed_s(stage, self.settings)
        deadline = None if allowed is None else self.at + allowed
        self.set(stage=stage, deadline=deadline, tries=0)

    def change_attempt(self, **changes: Any) -> None:  # fields of Attempt
        """The present attempt with these fields changed; there must be one."""
        self.set(attempt=msgspec.structs.replace(self.attempt, **changes))

    def change_incident(self, **changes: Any) -> None:  # fields of Incident
        """The incident at hand with these fields changed; there must be one."""
        self.set(incident=msgspec.structs.replace(self.incident, **changes))

    def change_behind(self, **changes: Any) -> None:  # fields of Carried
        """The run's counts with these fields changed."""
        self.set(behind=msgspec.structs.replace(self.state.behind, **changes))

    def change_term(self, **changes: Any) -> None:  # fields of Term
        """What is known of the SIGTERM with these fields changed; it must have come."""
        self.set(term=msgspec.structs.replace(self.term, **changes))

    @property
    def attempt(self) -> Attempt:
        """The present attempt. Raises `LookupError` where none was launched."""
        return _present(self.state.attempt, "attempt")

    @property
    def incident(self) -> Incident:
        """The incident at hand. Raises `LookupError` where there is none."""
        return _present(self.state.incident, "incident")

    @property
    def term(self) -> Term:
        """The SIGTERM. Raises `LookupError` where none has come."""
        return _present(self.state.term, "SIGTERM")

    @property
    def is_observing(self) -> bool:
        """Nothing is stopped, restarted or submitted."""
        return self.settings.mode == "observe"


def _present(value: _T | None, what: str) -> _T:
    if value is None:
        raise LookupError(f"no {what} at this point")
    return value
