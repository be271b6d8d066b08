"""Starts the script through the keeper, with the environment of this attempt."""

import json
from collections.abc import Mapping
from pathlib import Path

import structlog

from supervisor.core.instructions import LaunchAttempt
from supervisor.daemon.job_environment import environment_of_the_job
from supervisor.daemon.orders import save_file
from supervisor.daemon.world import World
from supervisor.slurm.environment import DEFAULT_PATH, Attempt, Shim, attempt_environment
from supervisor.slurm.shim import install_shim

_log = structlog.stdlib.get_logger(__name__)


def launch(world: World, order: LaunchAttempt) -> None:
    """Ask the keeper to start the attempt; its answer comes with the keeper's reports."""
    base = environment_of_the_job()
    attempt = Attempt(
        run_id=world.run.run_id,
        attempt=order.attempt,
        nodes=order.nodes if world.around.is_slurm else (),
        hidden=order.hidden,
        resume_from=order.resume_from,
        resume_step=order.resume_step,
        incident=order.incident,
        skip=order.skip,
        save_file=str(save_file(world, order.attempt)) if world.settings.save_file else "",
        run_folder=str(world.folder),
        beat_folder=str(_beat_folder(world.folder)),
        shim=_shim(world, base) if order.hidden else None,
    )
    changes = attempt_environment(base, attempt)
    world.begin_attempt(order.attempt)
    # The standard library's JSON: bytes of a PATH that are no UTF-8 survive it.
    text = json.dumps({"set": changes.set, "unset": changes.unset}, indent=1)
    world.writer.write(world.attempt_folder(order.attempt) / "environment.json", text.encode())
    world.keeper.start(order.attempt, changes.set, changes.unset)


def _shim(world: World, base: Mapping[str, str]) -> Shim | None:
    try:
        return install_shim(world.folder / "shim", path=base.get("PATH", DEFAULT_PATH))
    except OSError as exc:
        _log.warning("shim.not_installed", reason=exc)
        return None


def _beat_folder(run_folder: Path) -> Path:
    """A folder with `supervise_beat.py` alone: nothing else of ours becomes importable in ranks."""
    return run_folder / "beat"
