"""The broker as a process, with the real mosquitto and the real amqtt."""

import asyncio
import contextlib
import ipaddress
import os
import signal
import socket
import ssl
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from supervisor.bus import broker_kinds, credentials
from supervisor.bus.broker import Broker
from supervisor.bus.broker_kinds import BrokerKind
from supervisor.bus.credentials import Secrets
from supervisor.bus.probe import connect_packet, is_ours
from supervisor.errors import BrokerFailed
from tests.bus.helpers import LONG_S, new_broker, until


def _listeners(port: int) -> set[str]:
    """The addresses on which anybody listens at this port, as the kernel says."""
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, *_ = line.split()
        address, _, number = local.partition(":")
        if state == "0A" and int(number, 16) == port:
            found.add(str(ipaddress.IPv4Address(int(address, 16).to_bytes(4, sys.byteorder))))
    return found


def _shown(pid: int) -> bytes:
    """What everybody on the node can read of a process, and what its children inherit."""
    return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))


async def _watched(broker: Broker) -> tuple[asyncio.Task[None], list[str]]:
    said: list[str] = []
    return asyncio.create_task(broker.watch(said.append)), said


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def test_it_listens_on_the_given_address_alone(broker: Broker) -> None:
    """A broker is reachable at the node's own address and nowhere else."""
    assert _listeners(broker.port) == {"127.0.0.1"}


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "", "node001"])  # noqa: S104 - that it is refused is the point
async def test_it_refuses_to_listen_everywhere(address: str, secrets: Secrets, tmp_path: Path) -> None:
    """An address that means all of them, or that is none, is refused before anything starts."""
    everywhere = msgspec.structs.replace(secrets, address=address)
    with pytest.raises(BrokerFailed):
        await new_broker(tmp_path, everywhere).__aenter__()


async def test_the_wrong_password_is_refused(broker: Broker, secrets: Secrets) -> None:
    """Only the run's own password opens the broker."""
    assert await is_ours(secrets, broker.port, deadline_s=LONG_S)
    assert not await is_ours(msgspec.structs.replace(secrets, password="wrong"), broker.port, deadline_s=LONG_S)
    assert not await is_ours(msgspec.structs.replace(secrets, user="somebody"), broker.port, deadline_s=LONG_S)


async def test_plain_text_is_refused(broker: Broker, secrets: Secrets) -> None:
    """Without TLS not even the right password is answered."""
    reader, writer = await asyncio.open_connection(broker.host, broker.port)
    writer.write(connect_packet("plain", secrets.user, secrets.password))
    async with asyncio.timeout(LONG_S):
        with contextlib.suppress(OSError):
            assert not (await reader.read(4)).startswith(b"\x20")
    writer.close()


async def test_the_anonymous_are_refused(broker: Broker, secrets: Secrets) -> None:
    """A connection without a name is not let in."""
    context = ssl.create_default_context(cadata=secrets.certificate_pem)
    reader, writer = await asyncio.open_connection(broker.host, broker.port, ssl=context)
    writer.write(b"\x10\x10\x00\x04MQTT\x04\x02\x00\x05\x00\x04anon")
    async with asyncio.timeout(LONG_S):
        with contextlib.suppress(OSError):
            assert await reader.read(4) != b"\x20\x02\x00\x00"
    writer.close()


async def test_nothing_secret_shows(broker: Broker, secrets: Secrets, tmp_path: Path) -> None:
    """Neither arguments nor environment hold a secret; the files are the owner's alone."""
    assert secrets.password.encode() not in _shown(broker.pid)
    folder = tmp_path / "broker"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    kept = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".log"]
    assert kept
    for path in kept:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


async def test_it_has_a_session_of_its_own_and_low_priority(broker: Broker) -> None:
    """What is done to the supervisor's process group does not reach the broker, and ranks come first."""
    assert os.getsid(broker.pid) != os.getsid(0)
    assert os.getpriority(os.PRIO_PROCESS, broker.pid) == 19


async def test_a_killed_broker_comes_back_on_its_port(broker: Broker, secrets: Secrets) -> None:
    """After SIGKILL the same port answers with the same credentials."""
    port, killed = broker.port, broker.pid
    watching, said = await _watched(broker)
    os.kill(killed, signal.SIGKILL)
    await until(lambda: broker.restarts == 1)
    assert (broker.port, broker.pid != killed) == (port, True)
    assert await is_ours(secrets, port, deadline_s=LONG_S)
    assert str(killed) in said[0]
    await _end(watching)


async def test_the_next_supervisor_finds_the_same_broker(broker: Broker, secrets: Secrets, tmp_path: Path) -> None:
    """A supervisor that is started again adopts the broker that runs, and can watch and end it."""
    async with new_broker(tmp_path, secrets) as found:
        assert (found.pid, found.port, found.kind) == (broker.pid, broker.port, broker.kind)
        await found.stop()
    assert not _listeners(broker.port)


async def test_a_broker_that_died_with_its_supervisor_comes_back_on_its_port(
    broker: Broker, secrets: Secrets, tmp_path: Path
) -> None:
    """When both were killed, the next supervisor's broker stands where the agents look for it."""
    told = msgspec.structs.replace(secrets, port=broker.port)
    os.kill(broker.pid, signal.SIGKILL)
    await until(lambda: not _listeners(told.port))
    async with new_broker(tmp_path, told) as second:
        assert second.port == told.port
        await second.stop()


async def test_it_outlives_a_killed_supervisor_but_not_the_keeper(
    kind: BrokerKind, secrets: Secrets, tmp_path: Path
) -> None:
    """SIGKILL of the process that started it leaves it running; the end of the keeper ends it."""
    keeper = await asyncio.create_subprocess_exec("sleep", "600")
    script = (
        "import asyncio, os, signal, msgspec, sys\n"
        "from pathlib import Path\n"
        "from supervisor.bus import broker_kinds, credentials\n"
        "from tests.bus.helpers import new_broker\n"
        f"broker_kinds.find_kinds = lambda: ({kind!r},)\n"
        "async def main():\n"
        f"    secrets = credentials.load(Path({str(tmp_path / 'secrets')!r}))\n"
        f"    await new_broker(Path({str(tmp_path)!r}), secrets, lives_with={keeper.pid}).__aenter__()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    credentials.save(tmp_path / "secrets", secrets)
    try:
        first = await asyncio.create_subprocess_exec(sys.executable, "-c", script, cwd=Path(__file__).parents[2])
        assert await first.wait() == -signal.SIGKILL
        found = new_broker(tmp_path, secrets)
        assert await found.adopt()
        port = found.port
    finally:
        keeper.kill()
        await keeper.wait()
    await until(lambda: not _listeners(port))


async def test_a_port_of_the_range_is_chosen(kind: BrokerKind, secrets: Secrets, tmp_path: Path) -> None:
    """Where the site allows a range only, the broker is in it, and passes over ports that are taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = taken.getsockname()[1]
        async with new_broker(tmp_path, secrets, ports=range(first, first + 20)) as chosen:
            assert first < chosen.port < first + 20
            await chosen.stop()


async def test_without_a_free_port_it_fails_with_the_remedy(kind: BrokerKind, secrets: Secrets, tmp_path: Path) -> None:
    """No port is no hang but an error that names the other transport."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BrokerFailed, match="--transport stdout"):
            await new_broker(tmp_path, secrets, ports=range(port, port + 1)).__aenter__()


async def test_a_broker_that_cannot_run_fails_with_its_own_words(
    secrets: Secrets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason that a broker gave reaches the user."""
    complains = ["sh", "-c", "echo unknown option 'listener' >&2; exit 3"]
    monkeypatch.setattr(broker_kinds, "find_kinds", lambda: ("mosquitto",))
    monkeypatch.setattr(broker_kinds, "command", lambda _kind, _folder: complains)
    with pytest.raises(BrokerFailed, match="unknown option"):
        await new_broker(tmp_path, secrets).__aenter__()


def test_without_any_broker_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing installed is an error with a remedy."""
    monkeypatch.setattr("shutil.which", lambda *_args, **_kwargs: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(BrokerFailed, match="slurm-supervise"):
        broker_kinds.find_kinds()


def test_mosquitto_is_told_to_trust_nobody() -> None:
    """The configuration binds one address and lets in no stranger."""
    lines = broker_kinds.mosquitto_text(Path("/f"), host="10.0.0.7", port=61000, account="alice").splitlines()
    assert [line for line in lines if line.startswith("listener")] == ["listener 61000 10.0.0.7"]
    assert "allow_anonymous false" in lines
    assert {"keyfile /f/key.pem", "password_file /f/passwords", "acl_file /f/rules"} <= set(lines)
