"""How long each stage may take: always longer than the hands' own deadlines, so that a late answer still counts."""

from supervisor.core.state import Stage
from supervisor.settings import Settings

_MARGIN_S = 5.0
_LAUNCH_S = 15.0
"""The keeper starts a process: more than this is no delay but a loss."""


def allowed_s(stage: Stage, settings: Settings) -> float | None:
    """Seconds from entering the stage until it counts as failed; None: as long as it takes."""
    slurm = settings.slurm_deadline_s
    match stage:
        case Stage.PREPARING | Stage.CHECKING:
            return max(settings.check_deadline_s, settings.checkpoint_deadline_s) + _MARGIN_S
        case Stage.LAUNCHING:
            return _LAUNCH_S
        case Stage.COLLECTING:
            return max(settings.collect_deadline_s, slurm) + _MARGIN_S
        case Stage.STOPPING:
            return settings.stop_deadline_s + _MARGIN_S
        case Stage.SHRINKING:
            # The order, and the look whether a timed-out order was carried out.
            return 2 * slurm + _MARGIN_S
        case Stage.SUBMITTING:
            # sbatch, and three looks for the job that a timed-out one made.
            return settings.submit_deadline_s + 3 * (slurm + 1) + _MARGIN_S
        case Stage.REQUEUEING:
            return 4 * slurm + _MARGIN_S
        case Stage.ENDING:
            return slurm + 1.0
        case Stage.NEW | Stage.RUNNING | Stage.FINISHED:
            return None


def leaving_s(settings: Settings) -> float:
    """For what is still under way when Slurm's answer about a SIGTERM is known: a submission, a stop."""
    return max(settings.submit_deadline_s, settings.stop_deadline_s) + _MARGIN_S
