"""`scripts/chaos`: N random faults from a seed; exit 0 only if the run came to the same end as an undisturbed one."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from product import packages, venv
from story import release_env, slurm_calls
from story.example import EXAMPLE, lay_out, supervise, user_folder
from story.job import submit
from story.waiting import Late, wait_for
from testbed.api import Testbed

from chaos.arena import SAVE_EVERY, Arena
from chaos.checks import calls, complaints
from chaos.faults import KINDS, Done, inject

_STEP_S = 0.05
_STEPS_A_FAULT = 150
_STEPS_AT_LEAST = 300
_WITHIN_RECOVERY = 0.25
_BACK_S = 180.0
_REFERENCE_S = 600.0
_MANY = 1000
_UNBOUNDED = ("software", "data", "unknown", "segfault")
_OPTIONS = (
    *("--spares", "1", "--max-restarts", str(_MANY), "--max-restarts-without-progress", str(_MANY)),
    *("--max-lost-share", "1", "--policy", " ".join(f"{name}.budget={_MANY}" for name in _UNBOUNDED)),
)


def main(argv: Sequence[str] | None = None) -> int:
    """0 when nothing is to complain about."""
    arguments = _parser().parse_args(argv)
    packages.install(["slurmctld", "slurmd", "slurm-client", "munge", "mosquitto", "iproute2", "procps"])
    python = venv.environment(dev=True)
    steps = _STEPS_AT_LEAST + _STEPS_A_FAULT * arguments.faults
    expected = _reference(python, steps)
    began = time.monotonic()
    with Testbed(f"chaos-{os.getpid()}") as bed:
        arena = _begun(bed, _up(bed, arguments.nodes, arguments.release) or python, steps, Random(arguments.seed))  # noqa: S311  # to be had again
        found: list[str] = []
        done: list[Done] = []
        try:
            _rage(arena, arguments.faults, done, arguments.haste)
            arena.settle()
            wait_for(lambda: arena.is_over, "the run has its result", _BACK_S + steps * _STEP_S)
        except Late as exc:
            found.append(str(exc))
        found += complaints(arena, done, expected, seconds=time.monotonic() - began)
        _tell(arena, done, found, seconds=time.monotonic() - began, seed=arguments.seed)
        if found and arguments.keep:
            (arguments.keep / f"chaos-{arguments.seed}.txt").write_text(arena.job.story(), encoding="utf-8")
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--faults", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--nodes", type=int, default=6, metavar="N", help="of the testbed; the job takes four")
    parser.add_argument(
        "--haste",
        type=float,
        default=_WITHIN_RECOVERY,
        metavar="SHARE",
        help="of faults that do not wait until the one before is over (default: %(default)s)",
    )
    parser.add_argument("--release", default="native", help="of Slurm: native, bookworm, trixie, forky")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the tale of a run that went wrong is kept")
    return parser


def _up(bed: Testbed, nodes: int, release: str) -> Path | None:
    """The testbed is there; the Python with the product in the root of another release, None on this machine's own."""
    binds = [folder for folder in [release_env.CERTIFICATES] if release != "native" and folder.exists()]
    bed.up(nodes=nodes, release=release, binds=binds)
    return None if release == "native" else release_env.environment(bed)


def _reference(python: Path, steps: int) -> str:
    """The result of an undisturbed run."""
    with tempfile.TemporaryDirectory() as name:
        trainer = [str(python), str(EXAMPLE / "train.py"), "--steps", str(steps), "--out", name, "--checkpoint", name]
        env = {"OPENBLAS_NUM_THREADS": "1", "PATH": os.defpath}
        subprocess.run(trainer, env=env, stdout=subprocess.DEVNULL, check=True, timeout=_REFERENCE_S)
        found: str = json.loads((Path(name) / "result.json").read_text())["sha256"]
        return found


def _begun(bed: Testbed, python: Path, steps: int, random: Random) -> Arena:
    folder = user_folder(bed, "chaos")
    lay_out(folder)
    trainer = ["--steps", str(steps), "--step-seconds", str(_STEP_S), "--save-every", str(SAVE_EVERY), "--out", "out"]
    options = [*_OPTIONS, "--checkpoint", f"{folder}/checkpoints"]
    words = supervise(python, options, ["-N3", "--time=60", "train.sbatch", *trainer])
    before = slurm_calls.of_users(bed)
    job = submit(bed, folder, words, env={"PYTHON": str(python)})
    job.wait_checkpoint(deadline_s=_BACK_S)
    return Arena(bed, folder, job, random, calls_before=before)


def _rage(arena: Arena, faults: int, done: list[Done], haste: float) -> None:
    """One fault after the other, each as soon as the run has got over the one before, or sooner."""
    while len(done) < faults:
        kind = arena.random.choice(KINDS)
        before = _newest(arena)
        fault = inject(arena, kind)
        if fault is None:
            time.sleep(1)
            continue
        done.append(fault)
        print(f"chaos: {len(done):3} at step {before}: {kind.name}", file=sys.stderr, flush=True)
        if arena.random.random() < haste:
            time.sleep(arena.random.uniform(0.0, 3.0))
            continue
        _wait_for_progress(arena, before, kind.name)
        arena.mend()
        time.sleep(arena.random.uniform(0.0, 3.0))


def _newest(arena: Arena) -> int:
    return max((step for step, _ in arena.step_lines), default=0)


def _wait_for_progress(arena: Arena, before: int, what: str) -> None:
    """Steps beyond those before the fault; dead nodes are given back meanwhile."""
    ends = time.monotonic() + _BACK_S
    while _newest(arena) <= before + SAVE_EVERY and not arena.is_over:
        if time.monotonic() > ends:
            raise Late(f"no new step within {_BACK_S:.0f} s after: {what}")
        time.sleep(0.5)
        if time.monotonic() > ends - _BACK_S / 2:
            arena.mend()


def _tell(arena: Arena, done: Sequence[Done], found: Sequence[str], *, seconds: float, seed: int) -> None:
    for complaint in found:
        print(f"chaos: WRONG: {complaint}")
    kinds = ", ".join(f"{number} x {name}" for name, number in Counter(one.kind.name for one in done).most_common())
    records = [record for record in arena.run.incidents() if record["verdict"]["cls"] != "planned"]
    back = sorted(record["recovery_s"] for record in records if record.get("recovery_s") is not None)
    middle = f"{back[len(back) // 2]:.1f} s" if back else "-"
    print(
        f"chaos: {'WRONG' if found else 'right'}: seed {seed}, {len(done)} faults ({kinds}), "
        f"{len(records)} interruptions, {arena.run.attempts} attempts in {len(arena.run.jobs())} jobs, "
        f"verdict to ranks {middle} (median), {calls(arena)} calls to slurmctld, {seconds:.0f} s"
    )
