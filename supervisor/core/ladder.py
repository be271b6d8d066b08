"""Which other job goes on with a run when this one cannot: the rungs and their order. Pure.

submit: another job without the bad nodes, if all that wait for this one can be told to wait for it.
requeue: this very job again, which keeps its id.
submit_anyhow: another job, whoever waits for this one.
submit_anywhere: the same with the bad nodes.
"""

from supervisor.core.state import Rung, State


def first(state: State) -> Rung:
    """Where the ladder begins."""
    return "requeue" if own_id(state) else "submit"


def own_id(state: State) -> str:
    """Why this very job should go on and no other, in words; empty: another one will do.

    A task off a dead node is submitted all the same: Slurm starts it again only once it has noticed that the node died.
    """
    if state.is_waited_for:
        return "sbatch --wait waits for this very job"
    is_dead_held = any(node in state.trouble and node in state.unfit for node in state.held)
    return "this job is a task of an array" if "_" in state.job_id and not is_dead_held else ""


def below(state: State) -> Rung | None:
    """The next rung after one that could not be had; None: there is none."""
    match state.rung:
        case "submit":
            return "requeue"
        case "requeue" if not state.is_refused:
            return "submit_anyhow"
        case "requeue" | "submit_anyhow" if state.exclude:
            return "submit_anywhere"
        case _:
            return None
