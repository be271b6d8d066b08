"""How long each stage may take: always longer than the hands' own deadlines, so that a late answer still counts."""

from supervisor.core.state import Stage
from supervisor.settings import Settings

_MARGIN_S = 5.0
_LAUNCH_S = 15.0
"""The keeper starts a process: more than this is no delay but a loss."""


def allowed_s(stage: Stage, settings: Settings) -> float | None:
    """Seconds from entering the stage until it counts as failed; None: as long as it takes."""
    slurm = settings.slurm_deadline_s
    looking = max(settings.check_deadline_s, settings.checkpoint_deadline_s) + _MARGIN_S
    return {
        Stage.PREPARING: looking,
        Stage.CHECKING: looking,
        Stage.LAUNCHING: _LAUNCH_S,
        # Slurm's answer and the last lines come first, then the diagnosis.
        Stage.COLLECTING: slurm + settings.collect_deadline_s + _MARGIN_S,
        Stage.STOPPING: settings.stop_deadline_s + _MARGIN_S,
        # The order, and the look whether a timed-out order was carried out.
        Stage.SHRINKING: 2 * slurm + _MARGIN_S,
        # sbatch, three looks for the job that a timed-out one made, and those that wait for this one, before and after.
        Stage.SUBMITTING: settings.submit_deadline_s + 3 * (slurm + 1) + 4 * slurm + _MARGIN_S,
        Stage.REQUEUEING: 4 * slurm + _MARGIN_S,
        Stage.LEAVING: settings.checkpoint_deadline_s + _MARGIN_S,
        Stage.ENDING: asking_s(settings),
    }.get(stage)


def asking_s(settings: Settings) -> float:
    """For Slurm's one answer about a SIGTERM."""
    return settings.slurm_deadline_s + 1.0


def leaving_s(settings: Settings) -> float:
    """For what is still under way when Slurm's answer about a SIGTERM is known: a submission, a stop."""
    return max(settings.submit_deadline_s, settings.stop_deadline_s) + _MARGIN_S
