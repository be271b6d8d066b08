"""One `supervise run` at a time in an allocation: each would take the other's steps for those of its own attempt."""

import os
import socket
import struct
from contextlib import suppress
from typing import Final

from supervisor.errors import UsageError
from supervisor.model.ids import JobId

_CREDENTIALS: Final = struct.Struct("3i")
_ANSWER_S: Final = 1.0


def be_alone(job_id: JobId) -> socket.socket:
    """What holds this user's place in the job on this node: for as long as it is open. The kernel frees it.

    Raises `UsageError` where another one of the same user has it. A name that a stranger has taken stops nobody.
    """
    place = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    name = f"\0supervise-run-{os.getuid()}-{job_id}"
    try:
        place.bind(name)
        place.listen(1)
    except OSError:
        if _owner(name) == os.getuid():
            place.close()
            raise UsageError(
                f"another `supervise run` is at work in job {job_id}, and each would end the other's steps. "
                "Wait for it, give each an allocation of its own, or let one script start both: "
                "supervise run -- ./both.sh"
            ) from None
    return place


def _owner(name: str) -> int | None:
    """Who listens there; None: nobody who answers."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(_ANSWER_S)
        asking.connect(name)
        told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(told)[1])
    return None
