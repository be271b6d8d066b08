"""One rank of a gloo job that goes wrong in a known way; writes its own flight-recorder dump and ends.

Run by an interpreter that has PyTorch: gloo_rank.py STORY RANK RANKS FOLDER.
"""

import os
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

_SETTLE_S = 4.0
"""After that every rank is where it stays."""
_OTHERS_S = 10.0
"""A rank that ended would let the collectives of the others fail."""


def hang(rank: int) -> None:
    """Rank 2 never comes to all_reduce number 4."""
    for _ in range(3):
        dist.all_reduce(torch.ones(4))
    if rank == 2:
        time.sleep(60)
    dist.all_reduce(torch.ones(4))


def shape(rank: int) -> None:
    """Rank 1 comes to all_reduce number 3 with fewer elements."""
    for _ in range(2):
        dist.all_reduce(torch.ones(4))
    dist.all_reduce(torch.ones(2 if rank == 1 else 4))


def groups(rank: int) -> None:
    """Rank 2 hangs outside; rank 1 waits for it in the small group, rank 0 for both in the large one."""
    small = dist.new_group([1, 2])
    dist.all_reduce(torch.ones(4))
    if rank:
        dist.all_reduce(torch.ones(2), group=small)
    if rank == 2:
        time.sleep(60)
    if rank:
        dist.all_reduce(torch.ones(2), group=small)
    dist.all_reduce(torch.ones(4))


def cycle(rank: int) -> None:
    """Ranks 1 and 2 call the collectives of two groups in different orders."""
    one, other = dist.new_group([0, 1, 2]), dist.new_group([0, 1, 2])
    for group in (one, other):
        dist.all_reduce(torch.ones(2), group=group)
    for group in (one, other) if rank == 1 else (other, one):
        dist.all_reduce(torch.ones(2), group=group)


def main() -> None:
    """Tell the story in a thread of its own, write the dump from the main one, end."""
    story, rank, ranks, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    store = dist.FileStore(str(folder / "store"), ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    threading.Thread(target=globals()[story], args=(rank,), daemon=True).start()
    time.sleep(_SETTLE_S)
    for kind, data in (("pickle", c10d._dump_fr_trace()), ("json", c10d._dump_fr_trace_json())):
        place = folder / kind / "flight"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"rank_{rank}").write_bytes(data if isinstance(data, bytes) else data.encode())
    deadline = time.monotonic() + _OTHERS_S
    while time.monotonic() < deadline and len(list((folder / "json" / "flight").iterdir())) < ranks:
        time.sleep(0.1)
    os._exit(0)  # its collectives never end


if __name__ == "__main__":
    main()
