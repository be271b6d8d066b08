"""The job that waits in the queue for this one to fail: kept up to date, used as the successor, else taken away."""

from supervisor.core.instructions import CancelJob, TellStandby
from supervisor.core.policy import excluded
from supervisor.core.state import State
from supervisor.core.turn import Turn


def follow(turn: Turn, before: State) -> None:
    """It must not begin on a node that this job has found bad meanwhile."""
    standby, exclude = turn.state.standby, excluded(turn.state)
    if standby is not None and exclude and exclude != excluded(before):
        turn.do(TellStandby(job_id=standby, exclude=exclude))


def take_away(turn: Turn, *, handed_over: bool) -> None:
    """The job ends: unless its standby goes on with the run, or this job is queued again, nobody needs it.

    Where this job ends well Slurm takes it away itself; a failure that is final would start it.
    """
    standby = turn.state.standby
    goes_on = handed_over and turn.state.submitted in {None, standby}
    if standby is not None and not goes_on:
        turn.do(CancelJob(job_id=standby))
        turn.set(unwanted=standby, standby=None)
