"""The drill's own trainer: ranks that step together, save, resume, and fail on order. Standard library alone.

It is copied into the drill's folder and started from there, as a user's program is: `python trainer.py FOLDER`.
A rank whose peer is gone waits for ever, as in NCCL. `FOLDER/order.json` orders a fault, `FOLDER/end.json` the end.
"""

import argparse
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

try:
    from supervise_beat import beat
except ImportError:  # not under supervise: the training is the same

    def beat(*_args: Any, **_more: Any) -> bool:
        """Nobody listens."""
        return False


JOIN_S: Final = 60.0
HEAP_MB: Final = 64
"""What a rank that runs out of memory may take beyond what it has: the kernel refuses it more, no node is harmed."""
STATE: Final = struct.Struct("<64d")
"""The parameters; a checkpoint is a safetensors file of them."""
_HELLO: Final = struct.Struct("!QI")
_KEPT: Final = 4
"""Checkpoints; older ones are this program's to remove."""


# --- ranks that step together -------------------------------------------------------------------------------------


class Group:
    """All ranks, joined in a star around rank 0."""

    def __init__(self) -> None:
        env = os.environ
        self.rank = int(env.get("SLURM_PROCID", "0"))
        self.ranks = int(env.get("SLURM_STEP_NUM_TASKS", "1"))
        launch = "/".join(env.get(name, "0") for name in ("SLURM_JOB_ID", "SLURM_STEP_ID", "SUPERVISE_ATTEMPT"))
        # Equal in all ranks of one launch: a straggler of an earlier one is not let in.
        self.token = zlib.crc32(launch.encode())
        self.port = 10_000 + self.token % 20_000  # below the ephemeral ports
        self.peers: list[socket.socket] = []

    def join(self) -> None:
        """Return when all ranks are there; raises `TimeoutError` when they are not in time."""
        if self.ranks > 1:
            self.peers = self._accepted() if self.rank == 0 else [self._connected()]
        for peer in self.peers:
            peer.settimeout(None)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def agree(self, *, wish: bool) -> bool:
        """What any rank wishes, in all ranks: each waits for all others here, as in a collective."""
        if self.rank:
            _send(self.peers[0], bytes([wish]))
            return _receive(self.peers[0]) != b"\0"
        all_of_them = bytes([wish or any(_receive(peer) != b"\0" for peer in list(self.peers))])
        for peer in self.peers:
            _send(peer, all_of_them)
        return all_of_them != b"\0"

    def _accepted(self) -> list[socket.socket]:
        ends = time.monotonic() + JOIN_S
        found: dict[int, socket.socket] = {}
        with socket.create_server(("", self.port), backlog=1024) as server:
            while len(found) < self.ranks - 1:
                server.settimeout(max(0.001, ends - time.monotonic()))
                peer, _ = server.accept()
                peer.settimeout(10)
                with suppress(OSError, struct.error):
                    token, rank = _HELLO.unpack(peer.recv(_HELLO.size, socket.MSG_WAITALL))
                    if token == self.token:
                        found[rank] = peer
        return list(found.values())

    def _connected(self) -> socket.socket:
        ends, host = time.monotonic() + JOIN_S, _first_host(os.environ.get("SLURM_STEP_NODELIST", ""))
        while True:
            try:
                peer = socket.create_connection((host, self.port), timeout=10)
                peer.sendall(_HELLO.pack(self.token, self.rank))
            except OSError as error:
                if time.monotonic() > ends:
                    raise TimeoutError(f"rank 0 at {host}:{self.port} not reached in {JOIN_S:.0f} s") from error
                time.sleep(0.05)
            else:
                return peer


def _first_host(nodes: str) -> str:
    """The first name of Slurm's short form, which is where rank 0 runs."""
    if not re.search(r"[\[,]", nodes):
        return nodes or "127.0.0.1"
    command = ["scontrol", "show", "hostnames", nodes]  # answers without asking the controller
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.split()[0]


def _send(peer: socket.socket, data: bytes) -> None:
    try:
        peer.sendall(data)
    except OSError:
        _wait_for_ever()


def _receive(peer: socket.socket) -> bytes:
    try:
        got = peer.recv(1)
    except OSError:
        got = b""
    if not got:
        _wait_for_ever()
    return got


def _wait_for_ever() -> None:  # a peer is gone; NCCL does not tell either, the collective just never completes
    while True:
        time.sleep(3600)


# --- data and checkpoints -----------------------------------------------------------------------------------------


def read_shards(folder: Path, skip: set[str]) -> list[int]:
    """Every record of the shards on the list, but for those that are to be left out. Raises `OSError`."""
    records: list[int] = []
    for name in json.loads((folder / "list.json").read_text()):
        shard = folder / name
        if str(shard) in skip:
            continue
        wanted, _, body = shard.read_text().partition("\n")
        if int(wanted) != zlib.crc32(body.encode()):
            raise OSError(f"Checksum failure: {shard}")
        records += [int(line) for line in body.split()]
    return records


def save(folder: Path, step: int, values: tuple[float, ...]) -> None:
    """Write `step-NNNNNN.safetensors` so that it is there whole or not at all, and remove the oldest."""
    tensor = {"dtype": "F64", "shape": [len(values)], "data_offsets": [0, STATE.size]}
    head = json.dumps({"values": tensor, "__metadata__": {"step": str(step)}}).encode()
    unfinished = folder / f"step-{step:06d}.safetensors.tmp"
    with unfinished.open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + STATE.pack(*values))
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / f"step-{step:06d}.safetensors")
    for old in sorted(folder.glob("step-*.safetensors"))[:-_KEPT]:
        old.unlink(missing_ok=True)


def load(path: Path) -> tuple[int, tuple[float, ...]]:
    """Step and parameters. Raises `ValueError` or `struct.error` for a file that is not whole."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    head = json.loads(content[8 : 8 + length])
    return int(head["__metadata__"]["step"]), STATE.unpack(content[8 + length :])


def first_state(folder: Path) -> tuple[int, tuple[float, ...]]:
    """Where to begin: what supervise chose, else the newest checkpoint, else at step 0."""
    chosen = os.environ.get("SUPERVISE_RESUME_FROM", "").removeprefix("file://")
    path = Path(chosen) if chosen else max(folder.glob("step-*.safetensors"), default=None)
    return load(path) if path else (0, (0.0,) * 64)


# --- faults on order ----------------------------------------------------------------------------------------------


def _collate(_folder: Path) -> None:
    """Fail as user code fails."""
    batch = {"tokens": [1, 2, 3]}
    batch["loss_mask"].clear()


def _bad_data(folder: Path) -> None:
    """From now on a damaged shard is on the list."""
    data = folder / "data"
    (data / "shard-001.txt").write_text("1\n2 3 5 7")
    (data / "list.json").write_text(json.dumps(["shard-000.txt", "shard-001.txt"]))
    read_shards(data, set())


def _out_of_memory(_folder: Path) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (HEAP_MB << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    taken = [bytearray(1 << 20) for _ in range(2 * HEAP_MB)]
    raise AssertionError(f"{len(taken)} MB were to be had in spite of a limit of {HEAP_MB} MB")


def _port_in_use(_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(first.getsockname()):
        raise AssertionError("one port was given twice")


def _torn_checkpoint(folder: Path) -> None:
    """The newest checkpoint is cut in half, and this rank dies before there is another."""
    newest = max((folder / "checkpoints").glob("step-*.safetensors"))
    os.truncate(newest, newest.stat().st_size // 2)
    os.kill(os.getpid(), signal.SIGKILL)


FAULTS: Final[dict[str, Callable[[Path], None]]] = {
    "exception": _collate,
    "bad_data": _bad_data,
    "out_of_memory": _out_of_memory,
    "port_in_use": _port_in_use,
    "torn_checkpoint": _torn_checkpoint,
}


def obey(folder: Path, group: Group, step: int) -> None:
    """Have the fault that this rank was ordered to have, once, and note the moment before it."""
    try:
        order = json.loads((folder / "order.json").read_text())
    except (OSError, ValueError):
        return
    if order["rank"] % group.ranks != group.rank or (done := folder / f"done-{order['number']}.json").exists():
        return
    node = os.environ.get("SLURMD_NODENAME", "") or socket.gethostname().partition(".")[0]
    moment = {"at": time.time(), "node": node, "rank": group.rank, "pid": os.getpid(), "step": step}
    write_whole(done, moment)
    FAULTS[order["kind"]](folder)


def write_whole(path: Path, content: object) -> None:
    """Whoever waits for the file never reads half of it."""
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(json.dumps(content))
    fresh.rename(path)


# --- the run ------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--step-s", type=float, default=0.1, help="a step takes at least this long")
    parser.add_argument("--work", type=int, default=0, help="rounds of arithmetic in a step")
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--times", type=Path, help="rank 0 writes there how long each step took")
    return parser.parse_args()


def train(args: argparse.Namespace, group: Group, step: int, values: tuple[float, ...]) -> list[float]:
    """Until the last step, or until somebody wants the end; how long each step took."""
    took: list[float] = []
    ends = wish = False
    while step < args.steps and not ends:
        began = time.monotonic()
        if not args.times:
            obey(args.folder, group, step)
            wish = wish or (group.rank == 0 and (args.folder / "end.json").exists())
        moved = sum(range(args.work)) % 2 + 1
        values = tuple(value + moved for value in values)
        time.sleep(max(0.0, began + args.step_s - time.monotonic()))
        ends = group.agree(wish=wish)
        step += 1
        wish = beat(step, loss=1 / step)
        if group.rank == 0 and not args.times and (step % args.save_every == 0 or ends):
            beat(step, phase="checkpoint")
            save(args.folder / "checkpoints", step, values)
            beat(step, loss=1 / step)  # the save is over: from now on a standstill is one
        took.append(time.monotonic() - began)
    return took


def main() -> None:
    """One rank's life."""
    args, group = arguments(), Group()
    beat(0, phase="setup")
    group.join()
    step, values = (0, (0.0,) * 64) if args.times else first_state(args.folder / "checkpoints")
    if group.rank == group.ranks - 1:
        skip = set(os.environ.get("SUPERVISE_SKIP", "").splitlines())
        read_shards(args.folder / "data", skip)
    took = train(args, group, step, values)
    if args.times and group.rank == 0:
        write_whole(args.times, took)


if __name__ == "__main__":
    main()
