"""A run whose batch host has died: may an agent start another job for it, and what does that job begin with? Pure.

The dead supervisor's log says where the run stood. What forbids a restart there forbids one here.
"""

from collections.abc import Iterable

import msgspec

from supervisor.core import halted
from supervisor.core.accounting import booked, with_restart
from supervisor.core.carried import Carried, Halt
from supervisor.core.cut_off import verdict_on
from supervisor.core.policy import budget_used_up, excluded
from supervisor.core.state import Incident, Stage, State
from supervisor.core.wording import planned_action
from supervisor.model.base import Fact
from supervisor.model.ids import NodeName
from supervisor.model.order import PersonOrder
from supervisor.model.takeover import Takeover
from supervisor.settings import Settings


class Succession(Fact, frozen=True, kw_only=True):
    """What is done about the orphaned job."""

    exclude: tuple[NodeName, ...] = ()
    why_not: str = ""
    """No other job, and why; empty: another job goes on."""
    ends_job: bool = True
    """The orphaned job is cancelled: it would hold its nodes for nothing, and Slurm could start it again."""


def decide(state: State, orders: Iterable[PersonOrder], settings: Settings, *, host: NodeName, at: float) -> Succession:
    """`state` by the log of the supervisor that died on `host`; `orders` of persons that it has not carried out."""
    if (state.behind.mode or settings.mode) == "observe":
        return Succession(why_not="mode observe: nothing is done", ends_job=False)
    if state.stage is Stage.ENDING:
        return Succession(why_not="Slurm was ending the job when its batch host died", ends_job=False)
    if state.stage is Stage.FINISHED:
        words = state.finish.reason if state.finish else "the job was over"
        return Succession(why_not=f"nothing is left to do: {words}")
    halt = state.halt or _halt(orders)
    if halt is not None:
        return Succession(why_not=halted.words(halt))
    # What the interruption costs counts from the last that was heard on.
    why = budget_used_up(verdict_on(state, host), booked(state, at), settings, at)
    if why:
        return Succession(why_not=f"stopped: {why}")
    return Succession(exclude=tuple(dict.fromkeys([host, *excluded(state)])))


def begun_by_agent(behind: Carried, takeover: Takeover) -> Carried:
    """What a job begins with that an agent has started: the interruption tells who did it, and a restart is counted."""
    exclude = tuple(dict.fromkeys([takeover.batch_host, *behind.excluded]))
    record = behind.open_incident
    if record is not None:
        action = "requeue" if takeover.is_requeued else "resubmit"
        who = f"the agent on {takeover.node} took over from {takeover.batch_host}"
        text = f"{who}; {planned_action(action, drop=exclude)}"
        record = msgspec.structs.replace(record, action=action, action_text=text)
    counted = with_restart(State(behind=behind, incident=Incident(record=record) if record else None))
    return msgspec.structs.replace(counted.behind, excluded=exclude, open_incident=record)


def _halt(orders: Iterable[PersonOrder]) -> Halt | None:
    """A halt that nobody has carried out or taken back."""
    found = None
    for order in orders:
        if order.what == "halt":
            found = Halt(by=order.by, why=order.why)
        elif order.what == "resume":
            found = None
    return found
