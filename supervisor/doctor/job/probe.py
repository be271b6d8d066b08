"""One task on each node of the test job: `look` sees what a rank sees and then lets itself be stopped, `after` counts.

Started as `python -I -m supervisor.doctor.job.probe look|after FOLDER ADDRESS NODES`.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from supervisor.doctor.job import answers
from supervisor.doctor.job.answers import AfterLook, Ask, NodeLook, OpenPort, Pid
from supervisor.doctor.job.processes import has_agent, is_alive, pid_of
from supervisor.doctor.look_machine import look_machine
from supervisor.telemetry.gpu.nvml import NvmlReader

LIVE_S: Final = 50
"""A task that nobody stops ends by itself."""
_WAIT_S: Final = 15.0
"""For what another node must have written: shared filesystems show it late."""
_CONNECT_S: Final = 5.0
_PAUSE_S: Final = 0.1


def look(folder: Path, address: str, nodes: int) -> None:
    """Tell, wait until all have told, and fail on the first node: the supervisor must stop the others."""
    signal.alarm(LIVE_S)
    port = _tried_port(folder, address, nodes)
    if not os.environ.get("SUPERVISE_RUN_ID"):  # nobody would stop what is left
        answers.write(folder, f"node-{_node()}.json", _seen(port, ()))
        return
    # A session of its own and no pipe of ours: what a stop by process group would leave behind.
    child = subprocess.Popen(
        ["sleep", str(LIVE_S)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    left = tuple(one for number in (os.getpid(), child.pid) if (one := pid_of(number)) is not None)
    answers.write(folder, f"node-{_node()}.json", _seen(port, left))
    _wait(lambda: len(list(folder.glob("node-*.json"))) >= nodes)
    if _is_first():
        os.kill(os.getpid(), signal.SIGKILL)
    child.wait()


def after(folder: Path) -> None:
    """Who of the first attempt is still there."""
    node = _node()
    before = answers.read(folder, f"node-{node}.json", NodeLook)
    left = before.left if before is not None else ()
    job = os.environ.get("SLURM_JOB_ID", "")
    found = AfterLook(node=node, survivors=sum(map(is_alive, left)), has_agent=has_agent(job))
    answers.write(folder, f"after-{node}.json", found)


def _seen(port: str, left: tuple[Pid, ...]) -> NodeLook:
    given = os.environ.get("SLURM_GPUS_ON_NODE", "")
    facts = NvmlReader().facts()
    return NodeLook(
        node=_node(),
        machine=look_machine(),
        gpus_given=int(given) if given.isdigit() else 0,
        gpus_seen=None if facts is None else facts.device_count,
        port=port,
        left=left,
    )


def _tried_port(folder: Path, address: str, nodes: int) -> str:
    if nodes == 1:
        return "alone"
    if _is_first():
        return _listen(folder, address)
    _wait((folder / answers.PORT).exists)
    opened = answers.read(folder, answers.PORT, OpenPort)
    if opened is None:
        return "the first node did not tell its port"
    if opened.complaint:
        return opened.complaint
    try:
        with socket.create_connection((opened.host, opened.port), timeout=_CONNECT_S):
            return "open"
    except OSError as exc:
        return f"{opened.host}:{opened.port}: {exc}"


def _listen(folder: Path, address: str) -> str:
    """On a port of the site's range, as the broker would; the socket stays open as long as this process."""
    ask = answers.read(folder, answers.ASK, Ask) or Ask()
    complaint = "no port of SrunPortRange is free"
    for port in range(ask.first_port, ask.last_port + 1):
        try:
            server = socket.create_server((address, port), family=_family(address))
        except OSError as exc:
            complaint = f"{address}:{port}: {exc.strerror or exc}"
            continue
        _SERVERS.append(server)
        answers.write(folder, answers.PORT, OpenPort(host=address, port=server.getsockname()[1]))
        return "listening"
    answers.write(folder, answers.PORT, OpenPort(host=address, port=0, complaint=complaint))
    return complaint


_SERVERS: Final[list[socket.socket]] = []
"""Kept from being closed."""


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _WAIT_S
    while not holds() and time.monotonic() < end:
        time.sleep(_PAUSE_S)


def _node() -> str:
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def _is_first() -> bool:
    return os.environ.get("SLURM_PROCID", "0") == "0"


if __name__ == "__main__":
    if sys.argv[1] == "look":
        look(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        after(Path(sys.argv[2]))
