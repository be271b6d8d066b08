"""Ranks that find each other over TCP and sum their arrays; a rank whose peer is gone waits for ever, as in NCCL."""

import contextlib
import os
import re
import socket
import struct
import subprocess
import time
import zlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RENDEZVOUS_S = 120.0
HELLO = struct.Struct("!QI")


@dataclass(frozen=True)
class Place:
    """This rank's place among all."""

    rank: int
    ranks: int
    host: str
    """Where rank 0 runs."""
    port: int
    token: int
    """Equal in all ranks of one launch: a straggler of an earlier launch is not let in."""


def attempt() -> int:
    """Which launch of the script this is, from 1."""
    return int(os.environ.get("SUPERVISE_ATTEMPT") or int(os.environ.get("SLURM_RESTART_COUNT", "0")) + 1)


def place() -> Place:
    """Read from what srun or the shell says."""
    env = os.environ
    launch = "/".join([env.get("SLURM_JOB_ID", "0"), env.get("SLURM_STEP_ID", "0"), str(attempt())])
    token = zlib.crc32(launch.encode())
    port = int(env.get("MASTER_PORT", 10_000 + token % 20_000))  # below the ephemeral ports
    if "RANK" in env and "WORLD_SIZE" in env:
        host = env.get("MASTER_ADDR", "127.0.0.1")
        return Place(int(env["RANK"]), int(env["WORLD_SIZE"]), host, port, token)
    nodes = env.get("SLURM_STEP_NODELIST", "")
    if not nodes:
        return Place(0, 1, "127.0.0.1", port, token)
    return Place(int(env["SLURM_PROCID"]), int(env["SLURM_STEP_NUM_TASKS"]), first_host(nodes), port, token)


def first_host(nodes: str) -> str:
    """The first name of Slurm's short form, which is where rank 0 runs."""
    if not re.search(r"[\[,]", nodes):
        return nodes
    command = ["scontrol", "show", "hostnames", nodes]  # answers without asking the controller
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.split()[0]


def wait_for_ever() -> None:
    """A peer is gone. NCCL does not tell either: the collective just never completes."""
    while True:
        time.sleep(3600)


@dataclass
class Group:
    """All ranks, joined in a star around rank 0."""

    place: Place
    peers: list[socket.socket] = field(default_factory=list)
    """In rank 0: the others in order of rank; in the others: rank 0."""

    def join(self) -> None:
        """Return when all ranks are there; raise `TimeoutError` when they are not in time."""
        if self.place.ranks == 1:
            return
        self.peers = self._accept() if self.place.rank == 0 else [self._connect()]
        for peer in self.peers:
            peer.settimeout(None)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _accept(self) -> list[socket.socket]:
        deadline = time.monotonic() + RENDEZVOUS_S
        found: dict[int, socket.socket] = {}
        address = "127.0.0.1" if self.place.host == "127.0.0.1" else ""
        with socket.create_server((address, self.place.port), backlog=4096) as server:
            while len(found) < self.place.ranks - 1:
                server.settimeout(max(0.001, deadline - time.monotonic()))
                peer, _ = server.accept()
                peer.settimeout(10)
                with contextlib.suppress(OSError):
                    token, rank = HELLO.unpack(peer.recv(HELLO.size, socket.MSG_WAITALL))
                    if token == self.place.token:
                        found[rank] = peer
        return [found[rank] for rank in sorted(found)]

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + RENDEZVOUS_S
        while True:
            try:
                peer = socket.create_connection((self.place.host, self.place.port), timeout=10)
                peer.sendall(HELLO.pack(self.place.token, self.place.rank))
            except OSError as error:
                if time.monotonic() > deadline:
                    where = f"{self.place.host}:{self.place.port}"
                    raise TimeoutError(f"rank 0 at {where} not reached in {RENDEZVOUS_S:.0f} s") from error
                time.sleep(0.05)
            else:
                return peer

    def gather(self, mine: Floats) -> list[Floats]:
        """In rank 0 the arrays of all ranks, which are as large as `mine`; in the others nothing."""
        if self.place.rank:
            send(self.peers[0], mine)
            return []
        return [mine, *(receive(peer, mine.shape) for peer in self.peers)]

    def spread(self, mine: Floats) -> Floats:
        """Rank 0's array, in every rank."""
        if self.place.rank:
            return receive(self.peers[0], mine.shape)
        for peer in self.peers:
            send(peer, mine)
        return mine


def send(peer: socket.socket, array: Floats) -> None:
    """Send all of the array, or wait for ever."""
    try:
        peer.sendall(array.tobytes())
    except OSError:
        wait_for_ever()


def receive(peer: socket.socket, shape: tuple[int, ...]) -> Floats:
    """Receive an array of this shape, or wait for ever."""
    array = np.empty(shape)
    left = array.data.cast("B")
    while left:
        try:
            got = peer.recv_into(left)
        except OSError:
            got = 0
        if got == 0:
            wait_for_ever()
        left = left[got:]
    return array
