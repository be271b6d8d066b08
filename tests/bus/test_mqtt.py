"""Both ends of the bus over real brokers."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import aiomqtt
import msgspec
import pytest

from supervisor.bus import connection, mqtt, topics
from supervisor.bus.broker import Broker
from supervisor.bus.connection import Endpoint, connected, new_client
from supervisor.bus.credentials import Secrets
from supervisor.bus.mqtt_hub import MqttHubLink
from supervisor.errors import BrokerFailed
from supervisor.model.base import encode
from supervisor.model.ids import Rank
from supervisor.model.wire import Beats, Checked, NodeFacts, RankGone, Status, Stopped
from tests.bus.helpers import (
    FIRST,
    LONG_S,
    NODE,
    OTHER,
    RUN,
    Heard,
    beats,
    check_node,
    config_at,
    config_for,
    stop_ranks,
    until,
    up,
)


@pytest.fixture
async def hub(broker: Broker, secrets: Secrets) -> AsyncIterator[MqttHubLink]:
    """The supervisor's end at the running broker."""
    async with mqtt.hub_link(run=RUN, secrets=secrets, port=broker.port) as link:
        yield link


@pytest.fixture
async def heard(hub: MqttHubLink) -> AsyncIterator[Heard]:
    """What the supervisor's end receives."""
    collected = Heard(hub)
    yield collected
    await collected.stop()


def _endpoint(broker: Broker, secrets: Secrets) -> Endpoint:
    return Endpoint(
        host=broker.host,
        port=broker.port,
        user=secrets.user,
        password=secrets.password,
        ca_pem=secrets.certificate_pem,
    )


async def test_hello_beats_command_answer(broker: Broker, secrets: Secrets, hub: MqttHubLink, heard: Heard) -> None:
    """The whole conversation of one node passes, each answer to its question, and the agent notices the broker."""
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        assert await heard.first(Status) == up()
        agent.send(beats(7, ranks=8), attempt=FIRST)
        assert await heard.first(Beats) == beats(7, ranks=8)
        await hub.command(NODE, stop_ranks(), attempt=FIRST)
        async with asyncio.timeout(LONG_S):
            command = await anext(agent.commands())
        assert command == stop_ranks()
        agent.send(Stopped(node=NODE, ask=command.ask), attempt=FIRST)
        assert await heard.first(Stopped) == Stopped(node=NODE, ask="ask-1")
        assert agent.last_heard is not None
    await until(lambda: heard.statuses() == ["up", "down"])


async def test_a_command_to_all_reaches_all_and_one_to_a_node_that_node(
    broker: Broker, secrets: Secrets, hub: MqttHubLink, heard: Heard
) -> None:
    """The address of a command is kept, and a command that comes twice is passed on once."""
    config = config_for(broker, secrets)
    async with mqtt.agent_link(config, NODE) as one, mqtt.agent_link(config, OTHER) as two:
        for link, node in ((one, NODE), (two, OTHER)):
            link.send(up(node))
            await heard.first(Status, node)
        await hub.command(OTHER, stop_ranks("only two"), attempt=FIRST)
        await hub.command(None, check_node("all"), attempt=FIRST)
        await hub.command(None, check_node("all"), attempt=FIRST)
        await hub.command(None, check_node("last"), attempt=FIRST)
        commands_one, commands_two = one.commands(), two.commands()
        async with asyncio.timeout(LONG_S):
            assert [(await anext(commands_one)).ask for _ in range(2)] == ["all", "last"]
            assert [(await anext(commands_two)).ask for _ in range(3)] == ["only two", "all", "last"]


async def test_a_killed_broker_comes_back_and_both_ends_with_it(
    broker: Broker, secrets: Secrets, hub: MqttHubLink, heard: Heard
) -> None:
    """After SIGKILL of the broker both ends meet again, and what was said meanwhile arrives."""
    watching = asyncio.create_task(broker.watch(lambda _: None))
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        await heard.first(Status)
        os.kill(broker.pid, signal.SIGKILL)
        await until(lambda: not hub._is_up.is_set())
        agent.send(RankGone(node=NODE, at=1.0, attempt=FIRST, rank=Rank(3), pid=1, step=2), attempt=FIRST)
        await heard.first(RankGone)
        await until(lambda: heard.statuses().count("up") >= 2)
        await hub.command(NODE, stop_ranks(), attempt=FIRST)
        async with asyncio.timeout(LONG_S):
            assert await anext(agent.commands()) == stop_ranks()
    watching.cancel()
    await asyncio.wait({watching})


async def test_a_command_that_an_agent_missed_is_said_again_when_it_is_up(
    broker: Broker, secrets: Secrets, hub: MqttHubLink
) -> None:
    """An agent that connects after the question still gets it."""
    await hub.command(NODE, stop_ranks(), attempt=FIRST)
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        async with asyncio.timeout(LONG_S):
            assert await anext(agent.commands()) == stop_ranks()


async def test_the_last_will_of_a_killed_agent_comes_within_six_seconds(
    broker: Broker, secrets: Secrets, heard: Heard, tmp_path: Path
) -> None:
    """SIGKILL of an agent's process is told as `down`."""
    path = tmp_path / "agent.json"
    path.write_bytes(encode(config_for(broker, secrets)))
    script = (
        "import asyncio, sys, msgspec\n"
        "from pathlib import Path\n"
        "from supervisor.bus import mqtt\n"
        "from supervisor.model.agent_config import AgentConfig\n"
        "from tests.bus.helpers import NODE, up\n"
        "async def main():\n"
        f"    config = msgspec.json.decode(Path({str(path)!r}).read_bytes(), type=AgentConfig)\n"
        "    async with mqtt.agent_link(config, NODE) as link:\n"
        "        link.send(up())\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, cwd=Path(__file__).parents[2])
    await heard.first(Status)
    process.kill()
    await process.wait()
    assert await until(lambda: heard.statuses() == ["up", "down"]) < 6.0
    assert heard.of(Status)[-1] == Status(node=NODE, state="down", pid=process.pid)


async def test_a_false_last_will_is_contradicted(broker: Broker, secrets: Secrets, heard: Heard) -> None:
    """`down` said of an agent that is up, as by the will of an older connection of its, does not stand."""
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        await heard.first(Status)
        async with connected(new_client(_endpoint(broker, secrets), "liar")) as client:
            topic = topics.node_topic(RUN, FIRST, NODE, "status").replace("/1/node", "/0/node")
            await client.publish(topic, encode(Status(node=NODE, state="down")), qos=1, retain=True)
        await until(lambda: heard.statuses()[-2:] == ["down", "up"])


async def test_an_agent_that_leaves_does_not_contradict_itself(broker: Broker, secrets: Secrets) -> None:
    """The agent's own good-bye, which it hears as well, is no false last will."""
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
    agent._take(agent._status_topic, agent._will())
    assert len(agent._outbox) == 0


async def test_a_supervisor_that_comes_back_learns_who_is_up(broker: Broker, secrets: Secrets) -> None:
    """Statuses are retained: a new supervisor hears of agents that said nothing since."""
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        for _ in range(2):
            async with mqtt.hub_link(run=RUN, secrets=secrets, port=broker.port) as hub:
                heard = Heard(hub)
                assert await heard.first(Status) == up()
            await heard.ended()


async def test_hostile_messages_are_counted_and_dropped(
    broker: Broker, secrets: Secrets, hub: MqttHubLink, heard: Heard
) -> None:
    """Garbage, and a message in another node's name, are not believed; the honest one behind them is."""
    where = topics.node_topic(RUN, FIRST, NODE, "beats")
    async with connected(new_client(_endpoint(broker, secrets), "hostile")) as client:
        for payload in (b"\xff\xfe", b"[" * 100_000, b"{}", encode(beats(1, node=OTHER)), encode(up())):
            await client.publish(where, payload, qos=1)
        await client.publish(where, encode(beats(5)), qos=1)
    assert await heard.first(Beats) == beats(5)
    assert (hub.refused, heard.messages) == (5, [beats(5)])


async def test_hostile_commands_are_counted_and_dropped(broker: Broker, secrets: Secrets, heard: Heard) -> None:
    """An agent obeys only what is exactly a command."""
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        await heard.first(Status)
        where = topics.command_topic(RUN, FIRST, NODE, stop_ranks())
        async with connected(new_client(_endpoint(broker, secrets), "hostile")) as client:
            for payload in (b"", b"null", encode(up()), encode(stop_ranks())):
                await client.publish(where, payload, qos=1)
        async with asyncio.timeout(LONG_S):
            assert await anext(agent.commands()) == stop_ranks()
        assert agent.refused == 3


async def test_topics_of_another_run_are_out_of_reach(broker: Broker, secrets: Secrets) -> None:
    """The run's own user cannot speak or listen elsewhere in the broker."""
    async with (
        connected(new_client(_endpoint(broker, secrets), "spy")) as spy,
        connected(new_client(_endpoint(broker, secrets), "speaker")) as speaker,
    ):
        with contextlib.suppress(aiomqtt.MqttError):
            await connection.subscribe(spy, [("#", 1)])
        await connection.subscribe(spy, [(topics.everything(RUN), 1)])
        await speaker.publish("supervise/1/other/1/node/n/beats", b"secret", qos=1)
        await speaker.publish("supervise/1/llama-ab12c/1/node/n/beats", b"open", qos=1)
        async with asyncio.timeout(LONG_S):
            message = await anext(spy.messages)
        assert message.payload == b"open"


async def test_a_hub_without_a_broker_fails_in_time(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entering raises BrokerFailed instead of waiting for ever, and a command without connection does too."""
    monkeypatch.setattr("supervisor.bus.mqtt_hub._READY_S", 0.5)
    monkeypatch.setattr("supervisor.bus.mqtt_hub._COMMAND_S", 0.2)
    link = mqtt.hub_link(run=RUN, secrets=secrets, port=1)
    with pytest.raises(BrokerFailed, match=r"127\.0\.0\.1:1"):
        await link.__aenter__()
    with pytest.raises(BrokerFailed):
        await link.command(None, stop_ranks(), attempt=FIRST)


async def test_the_wrong_password_never_connects(broker: Broker, secrets: Secrets, hub: MqttHubLink) -> None:
    """An agent with another run's secrets is not heard, and says why."""
    wrong = msgspec.structs.replace(config_for(broker, secrets), password="wrong")
    async with mqtt.agent_link(wrong, NODE) as agent:
        await until(lambda: bool(agent.lost))
        assert agent.last_heard is None


async def test_another_certificate_is_not_trusted(broker: Broker, secrets: Secrets) -> None:
    """Whoever took the broker's place cannot get the password."""
    from supervisor.bus import credentials

    stranger = credentials.make("127.0.0.1")
    config = msgspec.structs.replace(config_for(broker, secrets), ca_pem=stranger.certificate_pem)
    async with mqtt.agent_link(config, NODE) as agent:
        await until(lambda: "certificate" in agent.lost.lower())


def _open_sockets() -> int:
    count = 0
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            count += str(path.readlink()).startswith("socket:")
    return count


@pytest.mark.parametrize("wait_s", [0.0, 0.05, 0.3])
async def test_leaving_while_connecting_leaves_nothing(secrets: Secrets, wait_s: float) -> None:
    """At whatever moment of the handshake a link is left: no task, no thread at work, no socket stays."""
    with socket.socket() as silent:  # takes connections and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        before, sockets = asyncio.all_tasks(), _open_sockets()
        async with mqtt.agent_link(config_at(secrets, port), NODE):
            await asyncio.sleep(wait_s)
        gc.collect()  # an unclosed socket would warn now, and warnings are errors
        assert asyncio.all_tasks() == before
        assert _open_sockets() == sockets
        assert not [thread for thread in threading.enumerate() if "paho" in thread.name]


async def test_leaving_while_connected_leaves_nothing(broker: Broker, secrets: Secrets) -> None:
    """A link that is left in order leaves no task and no socket."""
    before, sockets = asyncio.all_tasks(), _open_sockets()
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        await until(lambda: agent.last_heard is not None)
    gc.collect()
    assert asyncio.all_tasks() == before
    assert _open_sockets() == sockets


async def test_what_was_queued_is_sent_before_leaving(broker: Broker, secrets: Secrets, heard: Heard) -> None:
    """The last answer of an agent that ends is not lost."""
    async with mqtt.agent_link(config_for(broker, secrets), NODE) as agent:
        agent.send(up())
        agent.send(Checked(node=NODE, ask="q", facts=NodeFacts()))
    assert await heard.first(Checked) == Checked(node=NODE, ask="q", facts=NodeFacts())
