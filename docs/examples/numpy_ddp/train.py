"""Data-parallel training in numpy, one rank per Slurm task: small, deterministic, and as fragile as the real thing.

The gradients are summed over TCP, and a rank whose peer is gone waits for ever, as in NCCL. The final result is equal
to the last bit however often the run was interrupted and on however many ranks and nodes it ran.
Needs numpy alone; without Slurm it takes RANK, WORLD_SIZE and MASTER_PORT, or runs as a single rank.
"""

import argparse
import ctypes
import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from allreduce import Floats, Group, attempt, place, wait_for_ever

try:
    from supervise_beat import beat
except ImportError:  # not under supervise, or it is not on PYTHONPATH: the training is the same

    def beat(*_args: object, **_more: object) -> bool:
        """Nobody listens."""
        return False


INPUTS, HIDDEN, SAMPLES = 16, 32, 32
PARAMETERS = INPUTS * HIDDEN + HIDDEN + HIDDEN + 1
MICRO_BATCHES = 48
"""Gradients are summed per micro-batch in a fixed order, so the number of ranks does not change a bit of the sum."""
RATE, MOMENTUM = 0.02, 0.9
FAULTS = ("raise", "oom", "segfault", "exit", "kill", "hang")


# --- the model --------------------------------------------------------------------------------------------------


@dataclass
class State:
    """All that a checkpoint holds."""

    step: int
    """Steps done."""
    parameters: Floats
    velocity: Floats

    def packed(self) -> Floats:
        """As one array."""
        return np.concatenate([[float(self.step)], self.parameters, self.velocity])

    @staticmethod
    def unpacked(array: Floats) -> "State":
        """From that array."""
        return State(int(array[0]), array[1 : 1 + PARAMETERS].copy(), array[1 + PARAMETERS :].copy())


def new_state(seed: int) -> State:
    """The beginning of a run."""
    return State(0, np.random.default_rng([seed]).normal(scale=0.3, size=PARAMETERS), np.zeros(PARAMETERS))


def gradient(parameters: Floats, *, seed: int, step: int, micro_batch: int) -> Floats:
    """Gradient and loss (last) of one micro-batch, whose data follow from its number alone."""
    rng = np.random.default_rng([seed, step, micro_batch])
    x = rng.normal(size=(SAMPLES, INPUTS))
    wanted = np.sin(x.sum(axis=1))
    w1, b1, w2, b2 = np.split(parameters, [INPUTS * HIDDEN, INPUTS * HIDDEN + HIDDEN, PARAMETERS - 1])
    # einsum, not matmul: BLAS may add in another order on another machine.
    hidden = np.tanh(np.einsum("si,ih->sh", x, w1.reshape(INPUTS, HIDDEN)) + b1)
    error = np.einsum("sh,h->s", hidden, w2) + b2[0] - wanted
    back = np.einsum("s,h->sh", error, w2) * (1 - hidden**2)
    parts = [np.einsum("si,sh->ih", x, back).ravel(), back.sum(axis=0), np.einsum("s,sh->h", error, hidden)]
    return np.concatenate([*parts, [error.sum()], [0.5 * (error**2).sum()]]) / SAMPLES


def mean_gradient(group: Group, state: State, *, seed: int, wants_stop: bool) -> tuple[Floats, float, bool]:
    """Gradient and loss over all ranks, and whether any of them wants to stop."""
    rank, ranks = group.place.rank, group.place.ranks
    mine = np.zeros((-(-MICRO_BATCHES // ranks), PARAMETERS + 2))
    for row, number in enumerate(range(rank, MICRO_BATCHES, ranks)):
        mine[row, :-1] = gradient(state.parameters, seed=seed, step=state.step, micro_batch=number)
    mine[0, -1] = wants_stop
    total = np.zeros(PARAMETERS + 2)
    parts = group.gather(mine)
    for number in range(MICRO_BATCHES if parts else 0):
        total[:-1] += parts[number % ranks][number // ranks, :-1]
    total[-1] = sum(part[0, -1] for part in parts)
    total = group.spread(total)
    return total[:PARAMETERS] / MICRO_BATCHES, float(total[-2]) / MICRO_BATCHES, bool(total[-1])


def train_step(group: Group, state: State, *, seed: int, wants_stop: bool) -> tuple[float, bool]:
    """Do one step; the loss, and whether to stop after it."""
    slope, loss, stop = mean_gradient(group, state, seed=seed, wants_stop=wants_stop)
    state.velocity = MOMENTUM * state.velocity - RATE * slope
    state.parameters = state.parameters + state.velocity
    state.step += 1
    return loss, stop


# --- checkpoints ------------------------------------------------------------------------------------------------


def save(folder: Path, state: State) -> None:
    """Write `step-NNNNNN.npz` so that it is there whole or not at all."""
    path = folder / f"step-{state.step:06d}.npz"
    unfinished = path.with_name(f"{path.name}.tmp")
    with unfinished.open("wb") as file:
        np.savez(file, step=np.int64(state.step), parameters=state.parameters, velocity=state.velocity)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def load(path: Path) -> State:
    """Read a checkpoint."""
    with np.load(path, allow_pickle=False) as data:
        return State(int(data["step"]), data["parameters"], data["velocity"])


def where_to_resume(folder: Path) -> Path | None:
    """What supervise chose, else the newest in the folder, else nothing."""
    chosen = os.environ.get("SUPERVISE_RESUME_FROM")
    if chosen:
        return Path(chosen.removeprefix("file://"))
    return max(folder.glob("step-*.npz"), default=None)


def first_state(group: Group, folder: Path, *, seed: int) -> State:
    """The state to start from. Rank 0 alone reads it, so that all agree."""
    state = new_state(seed)
    path = where_to_resume(folder) if group.place.rank == 0 else None
    if path:
        state = load(path)
        print(f"resumed from {path} at step {state.step}", flush=True)
    return State.unpacked(group.spread(state.packed()))


# --- faults, for trying out what happens --------------------------------------------------------------------------


def collate(batch: dict[str, list[int]]) -> list[int]:
    """Fail as user code fails."""
    return batch["loss_mask"]


def fail(kind: str, code: int) -> None:
    """Be the fault."""
    if kind == "raise":
        collate({"tokens": [1, 2, 3]})
    elif kind == "oom":
        print(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of "
            "79.11 GiB of which 1.10 GiB is free.",
            file=sys.stderr,
            flush=True,
        )
        sys.exit(1)
    elif kind == "segfault":
        ctypes.string_at(0)
    elif kind == "exit":
        os._exit(code)
    elif kind == "kill":
        os.kill(os.getpid(), 9)
    elif kind == "hang":
        wait_for_ever()


def due_fault(args: argparse.Namespace, rank: int, step: int) -> str | None:
    """The fault that this rank was told to have before this step."""
    if args.fault_attempt not in {0, attempt()}:
        return None
    return next((kind for kind in FAULTS if getattr(args, f"{kind}_at") == f"{rank}:{step}"), None)


# --- the run ----------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints"), metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="DIR", help="rank 0 writes result.json and steps.log there")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--step-seconds", type=float, default=0.0, help="a step takes at least this long")
    parser.add_argument("--save-every", type=int, default=10, metavar="STEPS")
    parser.add_argument("--seed", type=int, default=1)
    for kind in FAULTS:
        parser.add_argument(f"--{kind}-at", metavar="RANK:STEP", help=f"{kind} in this rank before this step")
    parser.add_argument("--exit-code", type=int, default=7, help="for --exit-at")
    parser.add_argument("--fault-attempt", type=int, default=0, metavar="N", help="in this attempt only; 0: in each")
    return parser.parse_args()


def note_step(out: Path | None, state: State, loss: float) -> None:
    """Print progress and, with --out, append `step attempt loss` to steps.log."""
    if state.step % 10 == 0:
        print(f"step {state.step} loss {loss:.6f}", flush=True)
    if out:
        with (out / "steps.log").open("a") as file:
            file.write(f"{state.step} {attempt()} {loss!r}\n")


def finish(out: Path | None, state: State) -> None:
    """Print the result and, with --out, write result.json."""
    digest = hashlib.sha256(state.packed().tobytes()).hexdigest()
    print(f"done step {state.step} sha256 {digest}", flush=True)
    if out:
        result = {"step": state.step, "sha256": digest, "attempt": attempt()}
        (out / "result.json").write_text(json.dumps(result) + "\n")


def train(args: argparse.Namespace, group: Group, state: State) -> None:
    """Run until the last step, or until supervise asks to save and stop."""
    is_first = group.place.rank == 0
    stop = wants_stop = False
    while state.step < args.steps and not stop:
        began = time.monotonic()
        if fault := due_fault(args, group.place.rank, state.step):
            fail(fault, args.exit_code)
        loss, stop = train_step(group, state, seed=args.seed, wants_stop=wants_stop)
        wants_stop = beat(state.step, loss=loss)
        if is_first:
            note_step(args.out, state, loss)
        if is_first and (state.step % args.save_every == 0 or stop or state.step == args.steps):
            beat(state.step, loss=loss, phase="checkpoint")
            save(args.checkpoint, state)
            beat(state.step, loss=loss)  # the save is over: from now on a standstill is one
        time.sleep(max(0.0, began + args.step_seconds - time.monotonic()))


def main() -> None:
    """One rank's life."""
    args = arguments()
    group = Group(place())
    beat(0, phase="setup")
    for folder in (args.checkpoint, args.out):
        if folder and group.place.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
    group.join()
    state = first_state(group, args.checkpoint, seed=args.seed)
    train(args, group, state)
    if group.place.rank == 0:
        finish(args.out, state)


if __name__ == "__main__":
    main()
