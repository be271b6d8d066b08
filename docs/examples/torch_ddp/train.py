"""PyTorch DDP over gloo on CPUs: a small character model, trained on text files of the machine.

Started by torchrun. Checkpoints are PyTorch's distributed ones, one folder `step-NNNNNN` each. With the same number
of ranks the final weights are equal to the last bit however often the run was interrupted.
"""

import argparse
import hashlib
import json
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.parallel import DistributedDataParallel

try:
    from supervise_beat import beat
except ImportError:  # not under supervise, or it is not on PYTHONPATH: the training is the same

    def beat(*_args: object, **_more: object) -> bool:
        """Nobody listens."""
        return False


CONTEXT, CHARACTERS = 16, 256
TIMEOUT = timedelta(minutes=30)


class Run:
    """Model, optimizer and the number of steps done."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        layers = [nn.Embedding(CHARACTERS, 16), nn.Flatten(), nn.Linear(16 * CONTEXT, 64), nn.Tanh()]
        self.model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(64, CHARACTERS)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self.step = 0

    def save(self, folder: Path) -> None:
        """Write `step-NNNNNN/`; `.metadata`, which makes it whole, comes last. All ranks take part."""
        model, optimizer = get_state_dict(self.model, self.optimizer)
        state = {"model": model, "optimizer": optimizer, "step": torch.tensor(self.step)}
        dcp.save(state, checkpoint_id=folder / f"step-{self.step:06d}")

    def load(self, path: str) -> None:
        """Read such a folder. All ranks take part."""
        model, optimizer = get_state_dict(self.model, self.optimizer)
        state = {"model": model, "optimizer": optimizer, "step": torch.tensor(0)}
        dcp.load(state, checkpoint_id=path)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        self.step = int(state["step"])

    def digest(self) -> str:
        """Of all weights."""
        parts = (value.detach().contiguous().numpy().tobytes() for value in self.model.state_dict().values())
        return hashlib.sha256(b"".join(parts)).hexdigest()


def text(folder: Path) -> Any:
    """All characters of the folder's files as one tensor."""
    data = b"".join(path.read_bytes() for path in sorted(folder.glob("*")) if path.is_file())
    if len(data) <= CONTEXT:
        raise SystemExit(f"{folder}: no text there; name a folder that has some with --text")
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def batch(data: Any, *, seed: int, step: int, rank: int) -> tuple[Any, Any]:
    """Contexts and their next characters; they follow from seed, step and rank alone."""
    generator = torch.Generator().manual_seed((seed * 1_000_003 + step) * 10_007 + rank)
    starts = torch.randint(len(data) - CONTEXT, (64, 1), generator=generator)
    windows = data[starts + torch.arange(CONTEXT + 1)].long()
    return windows[:, :-1], windows[:, -1]


def where_to_resume(folder: Path) -> str | None:
    """What supervise chose, else the newest whole one in the folder, else nothing. Rank 0 decides for all."""
    chosen = [os.environ.get("SUPERVISE_RESUME_FROM")]
    if dist.get_rank() == 0 and not chosen[0]:
        whole = sorted(path.parent for path in folder.glob("step-*/.metadata"))
        chosen = [str(whole[-1]) if whole else None]
    dist.broadcast_object_list(chosen, src=0)
    return chosen[0]


def train_step(run: Run, data: Any, seed: int) -> float:
    """Do one step; the loss of this rank."""
    inputs, wanted = batch(data, seed=seed, step=run.step, rank=dist.get_rank())
    loss = nn.functional.cross_entropy(run.model(inputs), wanted)
    run.optimizer.zero_grad()
    loss.backward()
    run.optimizer.step()
    run.step += 1
    return float(loss.detach())


def any_rank(said: bool) -> bool:  # noqa: FBT001 - the one thing it is about
    """Whether any rank says so; all ranks get the same answer."""
    flag = torch.tensor(float(said))
    dist.all_reduce(flag)
    return bool(flag)


def attempt() -> int:
    """Which launch of the script this is, from 1."""
    return int(os.environ.get("SUPERVISE_ATTEMPT") or int(os.environ.get("SLURM_RESTART_COUNT", "0")) + 1)


def train(args: argparse.Namespace, run: Run) -> None:
    """Run until the last step, or until supervise asks to save and stop."""
    data, rank, stop = text(args.text), dist.get_rank(), False
    while run.step < args.steps and not stop:
        began = time.monotonic()
        if args.raise_at == f"{rank}:{run.step}" and args.fault_attempt in {0, attempt()}:
            raise ValueError(f"told to fail in rank {rank} after {run.step} steps")
        loss = train_step(run, data, args.seed)
        stop = any_rank(beat(run.step, loss=loss))
        if rank == 0:
            note_step(args.out, run.step, loss)
        if run.step % args.save_every == 0 or stop or run.step == args.steps:
            beat(run.step, loss=loss, phase="checkpoint")
            run.save(args.checkpoint)
            beat(run.step, loss=loss)  # the save is over: from now on a standstill is one
        time.sleep(max(0.0, began + args.step_seconds - time.monotonic()))


def note_step(out: Path | None, step: int, loss: float) -> None:
    """Print progress and, with --out, append `step attempt loss` to steps.log."""
    if step % 10 == 0:
        print(f"step {step} loss {loss:.4f}", flush=True)
    if out:
        with (out / "steps.log").open("a") as file:
            file.write(f"{step} {attempt()} {loss!r}\n")


def finish(out: Path | None, run: Run) -> None:
    """Print the result and, with --out, write result.json."""
    print(f"done step {run.step} sha256 {run.digest()}", flush=True)
    if out:
        result = {"step": run.step, "sha256": run.digest(), "attempt": attempt()}
        (out / "result.json").write_text(json.dumps(result) + "\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints"), metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="DIR", help="rank 0 writes result.json and steps.log there")
    parser.add_argument("--text", type=Path, default=Path("/usr/share/common-licenses"), metavar="DIR")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--step-seconds", type=float, default=0.0, help="a step takes at least this long")
    parser.add_argument("--save-every", type=int, default=10, metavar="STEPS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--raise-at", metavar="RANK:STEP", help="fail in this rank before this step")
    parser.add_argument("--fault-attempt", type=int, default=0, metavar="N", help="in this attempt only; 0: in each")
    return parser.parse_args()


def main() -> None:
    """One rank's life."""
    args = arguments()
    torch.set_num_threads(1)  # ranks are small, and sums do not depend on the number of cores
    torch.use_deterministic_algorithms(mode=True)
    beat(0, phase="setup")
    dist.init_process_group("gloo", timeout=TIMEOUT)
    for folder in (args.checkpoint, args.out):
        if folder and dist.get_rank() == 0:
            folder.mkdir(parents=True, exist_ok=True)
    dist.barrier()
    run = Run(args.seed)
    path = where_to_resume(args.checkpoint)
    if path:
        run.load(path)
        if dist.get_rank() == 0:
            print(f"resumed from {path} at step {run.step}", flush=True)
    train(args, run)
    if dist.get_rank() == 0:
        finish(args.out, run)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
