"""The story on a throw-away Slurm: a job of an ordinary user, a node killed under it, and the job goes on."""

import time
from collections.abc import Callable
from pathlib import Path

from product import packages, venv
from story.example import lay_out, supervise, user_folder
from story.job import Job, step_of, submit
from story.waiting import wait_for
from testbed.api import Testbed

from demo.explain import PACKAGES
from demo.outcome import Told, complaints
from demo.screen import Screen

_STEPS, _STEP_S, _SAVE_EVERY = 180, 0.1, 20
_STEPS_AT_RISK = 7
"""Steps beyond the checkpoint when the node is killed: something has to be lost, or nothing is shown."""
_END_S = 180.0
_GONE_S = 60.0

CAUSE = "hardware/node_unreachable"
ACTIONS = ("relaunch_on_spare",)


def prepare(screen: Screen) -> Path:
    """Everything installed; the Python of the environment with the product."""
    if missing := packages.missing(list(PACKAGES)):
        screen.say(f"installing {' '.join(missing)}")
    packages.install(list(PACKAGES))
    screen.say("environment with supervise in it")
    return venv.environment()


def play(bed: Testbed, python: Path, screen: Screen, watch: Callable[[Job], None]) -> tuple[Told, list[str]]:
    """Run the story on a testbed that is not up yet; what it showed, and what was not as expected.

    `watch` is given the job as soon as there is one, for whoever has to explain a failure.
    """
    bed.up(nodes=4)
    screen.say("a Slurm of 4 nodes is up")
    folder = user_folder(bed, "train")
    lay_out(folder)
    job = submit(bed, folder, _command(python, folder), env={"PYTHON": str(python)})
    watch(job)
    screen.say(f"alice submitted job {job.job_id}: {' '.join(_command(python, folder)[1:])}")
    screen.show(job.said.rstrip())
    victim, killed_at = _kill_a_node(bed, job, screen)
    nodes = _node_leaves(job, victim)
    screen.say(f"squeue shows the job on {' '.join(nodes)}: {victim} is gone from it")
    return _end(job, python, screen, (victim, killed_at, nodes))


def _command(python: Path, folder: Path) -> list[str]:
    checkpoint = f"{folder}/checkpoints"
    trainer = ["--steps", str(_STEPS), "--step-seconds", str(_STEP_S), "--save-every", str(_SAVE_EVERY)]
    return supervise(
        python, ["--spares", "1", "--checkpoint", checkpoint], ["-N3", "train.sbatch", *trainer, "--out", "out"]
    )


def _kill_a_node(bed: Testbed, job: Job, screen: Screen) -> tuple[str, float]:
    """A node that ranks run on and the script does not; and when it was killed."""
    job.wait_attempt(1)
    checkpoint = job.wait_checkpoint()
    step = job.wait_step(step_of(checkpoint) + _STEPS_AT_RISK)
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    screen.say(
        f"step {step}, newest checkpoint {checkpoint.name}; now {victim} is killed: SIGKILL to all its processes"
    )
    killed_at = time.time()
    bed.kill_node(victim)
    return victim, killed_at


def _node_leaves(job: Job, victim: str) -> list[str]:
    """The nodes that squeue shows once the dead one is not among them, while the job goes on."""
    job.wait_attempt(2, _GONE_S)

    def without() -> list[str] | None:
        nodes = job.nodes()
        return nodes if nodes and victim not in nodes else None

    return wait_for(without, f"{victim} leaves job {job.job_id}", _GONE_S)


def _end(job: Job, python: Path, screen: Screen, known: tuple[str, float, list[str]]) -> tuple[Told, list[str]]:
    victim, killed_at, nodes = known
    facts = job.wait_ended(_END_S)
    screen.say(f"job {job.job_id} ended: {facts.get('JobState')}, exit code {facts.get('ExitCode')}")
    screen.show(job.output.rstrip())
    done = facts.get("JobState") == "COMPLETED" and (job.folder / "out" / "result.json").exists()
    told = Told(
        deed=f"{victim} was killed under the running job",
        done_at=killed_at,
        completed=done,
        attempts=job.run.attempts,
        incidents=tuple(job.run.incidents()),
        save_every=_SAVE_EVERY,
        more=(("the job's nodes", f"{' '.join(nodes)} (squeue, after {victim} had left)"),),
    )
    screen.say(f"supervise why {job.job_id}")
    screen.show(job.bed.run([str(python.with_name("supervise")), "why", job.job_id], cwd=job.folder).stdout.rstrip())
    return told, complaints(told, cause=CAUSE, nodes=[victim], actions=ACTIONS)
