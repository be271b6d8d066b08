"""The agent as a process: who it is, what it is told, how it makes itself small, how it ends."""

import asyncio
import os
import platform
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import msgspec

from supervisor.agent.lease import Lease
from supervisor.agent.only_one import name_of, replace_older
from supervisor.agent.processes import NO_JOB, Scanner
from supervisor.agent.service import Agent, Senses
from supervisor.agent.watcher import Watcher
from supervisor.beat import supervise_beat
from supervisor.beat.pages import Pages
from supervisor.bus.protocol import AgentLink
from supervisor.errors import SuperviseError, UsageError
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import NodeName
from supervisor.selftest.tier0 import NodeCheck
from supervisor.telemetry.aside import aside
from supervisor.telemetry.gpu.nvml import NvmlReader

_LOOKUP_S: Final = 2.0
_NICENESS: Final = 19


def main(arguments: Sequence[str]) -> int:
    """Run the agent of this node until it is told to leave; 0 then, 2 where it cannot begin, with the reason."""
    try:
        config = read_config(arguments)
        node = node_name(os.environ)
        link = make_link(config, node)
    except SuperviseError as error:
        print(f"supervise agent: {error}", file=sys.stderr)  # noqa: T201
        return 2
    step_back()
    held = replace_older(name_of(config.run_id, config.job_id, node))
    if held is None:
        print(f"supervise agent: another one may be at work on {node}", file=sys.stderr)  # noqa: T201
    with held or nullcontext():
        asyncio.run(_run(config, node, link))
    return 0


def read_config(arguments: Sequence[str]) -> AgentConfig:
    """The configuration from the file named as the only argument. Raises `UsageError`."""
    if len(arguments) != 1:
        raise UsageError("the agent takes one argument, the path of its configuration (an AgentConfig in JSON)")
    path = Path(arguments[0])
    try:
        return msgspec.json.decode(path.read_bytes(), type=AgentConfig)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): is the run folder shared?") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} is no agent configuration ({error}): start the agents again") from error


def node_name(environment: Mapping[str, str]) -> NodeName:
    """This node as Slurm calls it; without Slurm, the host's name."""
    return NodeName(environment.get("SLURMD_NODENAME") or platform.node())


def make_link(config: AgentConfig, node: NodeName) -> AgentLink:
    """This node's end of the bus by the transport of the run. Raises `PayloadRefused` for a bad name."""
    if config.transport == "mqtt":
        from supervisor.bus import mqtt  # each transport costs memory that the other need not pay

        return mqtt.agent_link(config, node)
    from supervisor.bus import stdout  # see above

    return stdout.agent_link(config, node)


def step_back() -> None:
    """Run only when a processor has nothing else to do. Where that is not to be had, only the niceness stays."""
    os.nice(_NICENESS)
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError:
        return


async def _run(config: AgentConfig, node: NodeName, link: AgentLink) -> None:
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave.set)
    address = await own_address(config)
    agent = Agent(config, node, link, _senses(config, address), address=address)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _told_to_leave, agent, leave)
    await agent.run(leave, pid=os.getpid())


def _told_to_leave(agent: Agent, leave: asyncio.Event) -> None:
    if agent.left_at_once():
        os._exit(0)
    leave.set()


def _senses(config: AgentConfig, address: str) -> Senses:
    job = config.job_id if config.job_id != NO_JOB else ""
    # A `SUPERVISE_BEAT_DIR` of the user's is in this environment as it is in the ranks'.
    folder = supervise_beat.folder_of({**os.environ, "SLURM_JOB_ID": job, "SUPERVISE_RUN_ID": config.run_id})
    return Senses(
        watcher=Watcher(Scanner(run_id=config.run_id, job_id=config.job_id)),
        pages=Pages(Path(folder)),
        check=NodeCheck(gpus=NvmlReader(), environment=os.environ, address=address),
        lease=Lease(config),
    )


async def own_address(config: AgentConfig) -> str:
    """`host:port` where this node's slurmd can be asked: the address that faces the batch host; empty if unknown.

    The port is the batch host's own: slurmd listens on the same one everywhere, but for clusters that are simulated.
    """
    host, _, port = config.slurmd_address.rpartition(":")
    if not host:
        return ""
    try:
        facing = await aside(lambda: _address_facing(host.strip("[]"), int(port)), deadline_s=_LOOKUP_S, name="lookup")
    except (OSError, ValueError):
        return ""
    return f"[{facing}]:{port}" if ":" in facing else f"{facing}:{port}"


def _address_facing(host: str, port: int) -> str:
    """This machine's address on the way to the host. A connected datagram socket sends nothing."""
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as way:
        way.connect(address)
        return str(way.getsockname()[0])
