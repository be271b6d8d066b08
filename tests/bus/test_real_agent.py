"""The real agent at the far end of the real bus: it reports, checks its node, and stops what bears the marks."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from supervisor.bus import mqtt, stdout
from supervisor.bus.broker import Broker
from supervisor.bus.credentials import Secrets
from supervisor.bus.protocol import HubLink
from supervisor.bus.stdout_hub import IN_NAME, OUT_NAME, prepare
from supervisor.model.agent_config import AgentConfig
from supervisor.model.base import encode
from supervisor.model.ids import JobId, RunId
from supervisor.model.wire import Beats, Checked, Status, Stopped
from tests.bus.helpers import FIRST, LONG_S, NODE, RUN, Heard, check_node, config_for, stop_ranks, until

Process = asyncio.subprocess.Process

JOB = JobId(str(900_000 + os.getpid()))
"""Of this test process alone: stopping must not reach what another one started."""
MARKS = {"SUPERVISE_RUN_ID": RUN, "SUPERVISE_ATTEMPT": "1", "SLURM_JOB_ID": JOB, "SLURM_STEP_ID": "0"}


@contextlib.asynccontextmanager
async def _running(
    *command: str, marks: dict[str, str], pipes: tuple[int, int] | None = None
) -> AsyncIterator[Process]:
    read_from, write_to = pipes or (asyncio.subprocess.DEVNULL, asyncio.subprocess.DEVNULL)
    process = await asyncio.create_subprocess_exec(
        *command, env={"PATH": os.defpath, **marks}, stdin=read_from, stdout=write_to, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def _agent(config: AgentConfig, folder: Path, pipes: tuple[int, int] | None = None) -> AsyncIterator[Process]:
    path = folder / "agent.json"
    path.write_bytes(encode(msgspec.structs.replace(config, job_id=JOB)))
    place = {"SLURMD_NODENAME": NODE, "SUPERVISE_BEAT_DIR": str(folder / "beats")}
    async with _running(sys.executable, "-I", "-m", "supervisor.agent", str(path), marks=place, pipes=pipes) as agent:
        yield agent


@contextlib.contextmanager
def _step_pipes(folder: Path) -> Iterator[tuple[int, int]]:
    """Stdin and stdout of an agent step, held open by its shell."""
    prepare(folder)
    pipes = os.open(folder / IN_NAME, os.O_RDWR), os.open(folder / OUT_NAME, os.O_WRONLY | os.O_APPEND)
    try:
        yield pipes
    finally:
        for descriptor in pipes:
            os.close(descriptor)


async def _talk(hub: HubLink, agent: Process, folder: Path) -> None:
    """Hello, beats with the marked process in them, a check, the stop with its proof, the good-bye."""
    heard = Heard(hub)
    try:
        await heard.first(Status)
        async with _running("sleep", "600", marks=MARKS) as sleeper, _running("sleep", "600", marks={}) as stranger:
            await until(lambda: any(isinstance(each, Beats) and each.processes for each in heard.messages))
            await hub.command(NODE, msgspec.structs.replace(check_node(), folders=(str(folder),)), attempt=FIRST)
            checked = await heard.first(Checked)
            assert isinstance(checked, Checked)
            assert (checked.ask, checked.facts.mounts_missing) == ("ask-2", ())
            await hub.command(None, stop_ranks(), attempt=FIRST)
            assert await heard.first(Stopped) == Stopped(node=NODE, ask="ask-1")
            async with asyncio.timeout(LONG_S):
                assert await sleeper.wait() == -signal.SIGTERM
            assert stranger.returncode is None
        agent.terminate()
        async with asyncio.timeout(LONG_S):
            assert await agent.wait() == 0
        await until(lambda: heard.statuses()[-1] == "down")
    finally:
        await heard.stop()


async def test_over_mqtt(broker: Broker, secrets: Secrets, tmp_path: Path) -> None:
    """The agent process does over MQTT what it is for."""
    async with (
        mqtt.hub_link(run=RUN, secrets=secrets, port=broker.port) as hub,
        _agent(config_for(broker, secrets), tmp_path) as agent,
    ):
        await _talk(hub, agent, tmp_path)


async def test_over_stdout(tmp_path: Path) -> None:
    """The agent process does over its own stdin and stdout what it is for."""
    config = AgentConfig(run_id=RunId(RUN), job_id=JOB, transport="stdout", batch_host=NODE)
    with _step_pipes(tmp_path) as pipes:
        async with stdout.hub_link(tmp_path) as hub, _agent(config, tmp_path, pipes) as agent:
            await _talk(hub, agent, tmp_path)


async def test_a_killed_agent_is_told_as_down(broker: Broker, secrets: Secrets, tmp_path: Path) -> None:
    """SIGKILL of the real agent is known within six seconds."""
    async with mqtt.hub_link(run=RUN, secrets=secrets, port=broker.port) as hub:
        heard = Heard(hub)
        async with _agent(config_for(broker, secrets), tmp_path) as agent:
            await heard.first(Status)
            agent.kill()
            assert await until(lambda: heard.statuses() == ["up", "down"]) < 6.0
        await heard.stop()
