"""One agent of a job on each node, the newest: two would take the broker's place from each other for ever.

The name is a socket in the kernel's abstract namespace: it needs no file and goes with its holder.
"""

import os
import signal
import socket
import struct
import time
from contextlib import suppress
from typing import Final

from supervisor.model.ids import JobId, NodeName, RunId

_DEADLINE_S: Final = 3.0
_PAUSE_S: Final = 0.02
_CREDENTIALS: Final = struct.Struct("3i")
"""Pid, uid and gid of whoever listens."""


def name_of(run: RunId, job: JobId, node: NodeName) -> str:
    """What the agent of this run and job on this node is held by."""
    return f"\0supervise-agent-{os.getuid()}-{job}-{run}-{node}"


def replace_older(name: str, *, deadline_s: float = _DEADLINE_S) -> socket.socket | None:
    """Hold the name until the socket is closed; an older agent that holds it is killed, for it may be stuck.

    None where the name cannot be had within the deadline: the agent then runs without it. Its ranks' beat pages stay.
    """
    ends = time.monotonic() + deadline_s
    while time.monotonic() < ends:
        mine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            mine.bind(name)
            mine.listen(1)
        except OSError:
            mine.close()
        else:
            return mine
        _end_holder(name)
        time.sleep(_PAUSE_S)
    return None


def _end_holder(name: str) -> None:
    """Kill the process that listens there, if it is this user's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking, suppress(OSError):
        asking.setblocking(False)
        asking.connect(name)
        told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(told)
        if pid > 0 and pid != os.getpid() and uid == os.getuid():
            os.kill(pid, signal.SIGKILL)
