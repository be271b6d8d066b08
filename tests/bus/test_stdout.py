"""The stdout transport, through a real FIFO and a real file."""

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from supervisor.bus import stdout
from supervisor.bus.stdout_agent import StdoutAgentLink
from supervisor.bus.stdout_hub import IN_NAME, OUT_NAME, StdoutHubLink, prepare
from supervisor.errors import BrokerFailed
from supervisor.model.base import encode
from supervisor.model.ids import Rank
from supervisor.model.wire import Beats, RankGone, Status, Stopped
from tests.bus.helpers import FIRST, LONG_S, NODE, OTHER, Heard, beats, check_node, stop_ranks, until, up


class Pipes:
    """What the agent step's shell does: holds the FIFO open, appends to the file."""

    def __init__(self, folder: Path) -> None:
        prepare(folder)
        self.read_from = os.open(folder / IN_NAME, os.O_RDWR)
        self.write_to = os.open(folder / OUT_NAME, os.O_WRONLY | os.O_APPEND)

    def close(self) -> None:
        """The step has ended."""
        os.close(self.read_from)
        os.close(self.write_to)


@pytest.fixture
def pipes(tmp_path: Path) -> Iterator[Pipes]:
    """An agent step's two descriptors."""
    opened = Pipes(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
async def hub(pipes: Pipes, tmp_path: Path) -> AsyncIterator[StdoutHubLink]:
    """The supervisor's end."""
    async with stdout.hub_link(tmp_path) as link:
        yield link


@pytest.fixture
async def heard(hub: StdoutHubLink) -> AsyncIterator[Heard]:
    """What the supervisor's end receives."""
    collected = Heard(hub)
    yield collected
    await collected.stop()


def _agent(pipes: Pipes) -> StdoutAgentLink:
    return StdoutAgentLink(NODE, read_from=pipes.read_from, write_to=pipes.write_to)


async def test_hello_beats_command_answer(pipes: Pipes, hub: StdoutHubLink, heard: Heard) -> None:
    """The whole conversation of one node passes, also what needs several lines, and each answer once."""
    async with _agent(pipes) as agent:
        agent.send(up())
        agent.send(beats(7, ranks=40), attempt=FIRST)
        assert await heard.first(Status) == up()
        assert await heard.first(Beats) == beats(7, ranks=40)
        await hub.command(OTHER, stop_ranks("not mine"), attempt=FIRST)
        await hub.command(NODE, stop_ranks(), attempt=FIRST)
        await hub.command(None, check_node(), attempt=FIRST)
        commands = agent.commands()
        async with asyncio.timeout(LONG_S):
            assert [await anext(commands), await anext(commands)] == [stop_ranks(), check_node()]
        agent.send(Stopped(node=NODE, ask="ask-1"), attempt=FIRST)
        agent.send(RankGone(node=NODE, at=1.0, attempt=FIRST, rank=Rank(1), pid=2, step=3), attempt=FIRST)
        await until(lambda: not agent._repeats and not len(agent._outbox))
        assert agent.last_heard is not None
    await until(lambda: heard.statuses()[-1] == "down")
    assert (len(heard.of(Stopped)), len(heard.of(RankGone)), hub.refused) == (1, 1, 0)


async def test_a_large_command_arrives_whole(pipes: Pipes, hub: StdoutHubLink) -> None:
    """A command beyond what a pipe holds at once is written piece by piece."""
    large = check_node("x" * 150_000)
    async with _agent(pipes) as agent:
        await hub.command(None, large, attempt=FIRST)
        async with asyncio.timeout(LONG_S):
            assert await anext(agent.commands()) == large


async def test_a_torn_command_does_not_spoil_the_next(pipes: Pipes, hub: StdoutHubLink, tmp_path: Path) -> None:
    """A supervisor that was killed amid a line costs that line alone."""
    with (tmp_path / IN_NAME).open("wb") as killed:
        killed.write(b'{"node":"*","comm')
    async with _agent(pipes) as agent:
        await hub.command(None, check_node(), attempt=FIRST)
        async with asyncio.timeout(LONG_S):
            assert await anext(agent.commands()) == check_node()
        assert agent.refused == 1


async def test_hostile_lines_are_counted_and_dropped(hub: StdoutHubLink, heard: Heard, tmp_path: Path) -> None:
    """Whatever else stands in the file, the honest lines are heard."""
    with (tmp_path / OUT_NAME).open("ab") as file:
        file.write(b"\x00\xff\n{}\nsrun: error: something\n~a b\n" + encode(beats(5)) + b"\n")
    assert await heard.first(Beats) == beats(5)
    assert hub.refused == 3


async def test_a_supervisor_that_comes_back_learns_who_is_up_and_nothing_stale(tmp_path: Path, pipes: Pipes) -> None:
    """Of what was said before it only the newest statuses count."""
    with (tmp_path / OUT_NAME).open("ab") as file:
        for message in (up(), up(OTHER), beats(1), Stopped(node=NODE, ask="old"), Status(node=OTHER, state="down")):
            file.write(encode(message) + b"\n")
        file.write(encode(beats(2))[:20])
    async with stdout.hub_link(tmp_path) as hub:
        heard = Heard(hub)
        await until(lambda: len(heard.messages) == 2)
        with (tmp_path / OUT_NAME).open("ab") as file:
            file.write(encode(beats(2))[20:] + b"\n")
        await heard.first(Beats)
    await heard.ended()
    assert heard.messages == [up(), Status(node=OTHER, state="down"), beats(2)]


async def test_agents_say_their_status_again(pipes: Pipes, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is retained here, so an agent repeats that it is up, and gets what it was asked meanwhile."""
    monkeypatch.setattr("supervisor.bus.stdout_agent._STATUS_EVERY_S", 0.05)
    async with _agent(pipes) as agent:
        agent.send(up())
        await until(lambda: heard.statuses().count("up") >= 3)


async def test_the_file_does_not_grow_for_ever(
    pipes: Pipes, hub: StdoutHubLink, heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is cut off beyond a size, and what comes afterwards is read."""
    monkeypatch.setattr("supervisor.bus.stdout_hub._TRUNCATE_BYTES", 2000)
    for count in range(30):
        os.write(pipes.write_to, encode(beats(count)) + b"\n")
    await until(lambda: (tmp_path / OUT_NAME).stat().st_size == 0)
    os.write(pipes.write_to, encode(beats(99)) + b"\n")
    await until(lambda: beats(99) in heard.messages)
    assert hub.refused == 0


async def test_a_command_that_nobody_reads_fails_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an agent step a command raises BrokerFailed."""
    monkeypatch.setattr("supervisor.bus.stdout_hub._COMMAND_S", 0.2)
    async with stdout.hub_link(tmp_path) as hub:
        with pytest.raises(BrokerFailed, match="is it running"):
            await hub.command(None, check_node(), attempt=FIRST)


async def test_a_sign_of_life_reaches_the_agents(pipes: Pipes, hub: StdoutHubLink) -> None:
    """The supervisor is heard without any command."""
    async with _agent(pipes) as agent:
        await until(lambda: agent.last_heard is not None)


async def test_a_stdout_that_stands_still_holds_up_neither_work_nor_exit() -> None:
    """An agent whose stdout nobody reads goes on, and leaves in time."""
    read_end, write_end = os.pipe()
    silent_in, silent_out = os.pipe()
    agent = StdoutAgentLink(NODE, read_from=silent_in, write_to=write_end)
    async with asyncio.timeout(LONG_S), agent:
        agent.send(up())
        for count in range(200):
            agent.send(Stopped(node=NODE, ask="x" * 900 + str(count)))
        await until(lambda: agent._outbox.dropped > 0)
    os.close(read_end)  # the stuck write ends with it
    await until(lambda: not [each for each in threading.enumerate() if each.name == "bus-writer"])
    for descriptor in (write_end, silent_in, silent_out):
        os.close(descriptor)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_leaving_leaves_nothing(tmp_path: Path) -> None:
    """No task, thread or open file stays of either end."""
    pipes = Pipes(tmp_path)
    before, files = asyncio.all_tasks(), _open_files()
    async with stdout.hub_link(tmp_path), _agent(pipes) as agent:
        agent.send(up())
    gc.collect()
    assert asyncio.all_tasks() == before
    assert _open_files() == files
    assert not [thread for thread in threading.enumerate() if thread.name == "bus-writer"]
    pipes.close()


def test_the_pipes_are_the_owners_alone(tmp_path: Path) -> None:
    """Nobody else can command the agents or read them."""
    prepare(tmp_path / "stdout")
    prepare(tmp_path / "stdout")
    modes = [(tmp_path / "stdout" / name).stat().st_mode & 0o777 for name in ("", IN_NAME, OUT_NAME)]
    assert modes == [0o700, 0o600, 0o600]
