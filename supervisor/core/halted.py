"""A run that a person halts: the words for it and its record. It is planned, and costs no budget."""

from supervisor.core import incident
from supervisor.core.carried import Halt
from supervisor.core.turn import Turn
from supervisor.model.verdict import Class, Retry, Verdict


def words(halt: Halt) -> str:
    """`halted by alice: maintenance of the store`."""
    return f"halted by {halt.by}{': ' + halt.why if halt.why else ''}"


def keep(turn: Turn) -> None:
    """The interruption at hand ends with the halt; without one the halt has a record of its own."""
    halt = turn.state.halt
    text = words(halt) if halt else "halted"
    current = turn.state.incident
    if current is not None and not current.record.is_closed and not incident.is_relaunched(turn):
        incident.acted(turn, action="stop", text=text)
        return
    incident.open_incident(turn, evidence_at=turn.at)
    verdict = Verdict(cls=Class.PLANNED, cause="user_stop", confidence=0.98, summary=text, retry=Retry.NEVER)
    incident.diagnosed(turn, verdict)
    turn.change_incident(is_slurm_asked=True)
    incident.acted(turn, action="stop", text=text)
    incident.close_planned(turn)
