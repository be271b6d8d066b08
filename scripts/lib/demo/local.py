"""The same story on one machine without Slurm: a rank is killed, and the job goes on from its checkpoint."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from product import venv
from story.example import lay_out
from story.run_folder import RunFolder, tail, text_of
from story.waiting import wait_for

from demo.outcome import Told, complaints
from demo.screen import Screen

_STEPS, _STEP_S, _SAVE_EVERY, _RANKS = 120, 0.1, 10, 4
_VICTIM = 2
_STEPS_AT_RISK = 5
"""Steps beyond the checkpoint when the rank is killed: something has to be lost, or nothing is shown."""
_CHECKPOINT_S, _END_S, _STOP_S = 60.0, 180.0, 30.0

ACTIONS = ("relaunch",)
_LAUNCHER = """\
#!/bin/bash
# Starts the ranks; the first one that fails ends them all, as with torchrun.
export WORLD_SIZE=$1 OPENBLAS_NUM_THREADS=1
shift
for ((rank = 0; rank < WORLD_SIZE; rank++)); do
    RANK=$rank "$PYTHON" train.py "$@" &
done
trap 'kill $(jobs -p)' TERM
for ((rank = 0; rank < WORLD_SIZE; rank++)); do
    wait -n || { code=$?; kill $(jobs -p); exit $code; }
done
"""


def prepare(screen: Screen) -> Path:
    """The Python of the environment with the product."""
    screen.say("environment with supervise in it")
    return venv.environment()


def play(folder: Path, python: Path, screen: Screen) -> tuple[Told, list[str]]:
    """Run the story in this empty folder; what it showed, and what was not as expected."""
    lay_out(folder)
    (folder / "launch.sh").write_text(_LAUNCHER, encoding="utf-8")
    command = _command()
    screen.say(f"$ {' '.join(command)}")
    with (
        (folder / "output").open("wb") as output,
        subprocess.Popen(
            [str(python.with_name("supervise")), *command[1:]],
            cwd=folder,
            env={**_own_environment(), "PYTHON": str(python)},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as job,
    ):
        try:
            killed_at = _kill_a_rank(folder, screen)
            code = job.wait(_END_S)
        finally:
            _end(job)
    screen.say(f"the job ended with exit code {code}")
    screen.show(text_of(folder / "output").rstrip())
    return _told(folder, screen, killed_at, code)


def _command() -> list[str]:
    trainer = ["--steps", str(_STEPS), "--step-seconds", str(_STEP_S), "--save-every", str(_SAVE_EVERY)]
    script = ["bash", "launch.sh", str(_RANKS), *trainer, "--out", "out"]
    return ["supervise", "--checkpoint", "checkpoints", "run", "--", *script]


def _own_environment() -> dict[str, str]:
    """Ours without what an allocation or another run would say."""
    foreign = ("SLURM_", "SUPERVISE_", "RANK", "WORLD_SIZE", "MASTER_")
    return {key: value for key, value in os.environ.items() if not key.startswith(foreign)}


def _kill_a_rank(folder: Path, screen: Screen) -> float:
    """When it was killed."""
    wait_for(lambda: sorted(folder.glob("checkpoints/step-*.npz")), "the first checkpoint", _CHECKPOINT_S)
    log = folder / "out" / "steps.log"
    wait_for(lambda: text_of(log).count("\n") >= _SAVE_EVERY + _STEPS_AT_RISK, "steps beyond it", _CHECKPOINT_S)
    pid = wait_for(lambda: _pid_of_rank(folder, _VICTIM), f"a process of rank {_VICTIM}", _CHECKPOINT_S)
    screen.say(f"training, a checkpoint is written; now rank {_VICTIM} (process {pid}) is killed with SIGKILL")
    killed_at = time.time()
    os.kill(pid, signal.SIGKILL)
    return killed_at


def _pid_of_rank(folder: Path, rank: int) -> int | None:
    """The trainer that was started in this folder with this rank."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").resolve() == folder and _is_rank(entry, rank):
                return int(entry.name)
    return None


def _is_rank(process: Path, rank: int) -> bool:
    words = (process / "cmdline").read_bytes().split(b"\0")
    return b"--steps" in words and f"RANK={rank}".encode() in (process / "environ").read_bytes().split(b"\0")


def _end(job: "subprocess.Popen[bytes]") -> None:
    """Leave no process behind, however the story went."""
    if job.poll() is not None:
        return
    job.terminate()
    try:
        job.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        job.kill()


def _told(folder: Path, screen: Screen, killed_at: float, code: int) -> tuple[Told, list[str]]:
    run = _run(folder)
    told = Told(
        deed=f"rank {_VICTIM} was killed with SIGKILL",
        done_at=killed_at,
        completed=code == 0 and (folder / "out" / "result.json").exists(),
        attempts=run.attempts,
        incidents=tuple(run.incidents()),
        save_every=_SAVE_EVERY,
    )
    found = complaints(told, cause="", nodes=(), actions=ACTIONS)
    if found:
        screen.show(story_text(folder))
    return told, found


def _run(folder: Path) -> RunFolder:
    return RunFolder(next(folder.glob(".supervise/*/run.json"), folder / "none" / "run.json").parent)


def story_text(folder: Path) -> str:
    """All that explains a failure."""
    run = _run(folder)
    events = "\n".join(str(event)[:300] for event in run.events())
    parts = {"output": text_of(folder / "output"), "supervisor.log": run.log(), "events": events}
    return "\n".join(f"--- {name}\n{tail(text)}" for name, text in parts.items())
