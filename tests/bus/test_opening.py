"""Which transport is opened, and that a supervisor that is started again finds the same."""

import os
from pathlib import Path

import msgspec
import pytest

from supervisor.bus import broker_kinds, credentials
from supervisor.bus.broker_kinds import BrokerKind
from supervisor.bus.opening import BusPlace, local_folder, open_hub
from supervisor.errors import BrokerFailed
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import JobId
from tests.bus.helpers import NODE, RUN


def _place(tmp_path: Path) -> BusPlace:
    return BusPlace(
        run=RUN,
        address="localhost",
        folder=tmp_path / "local",
        secrets_file=tmp_path / "secrets",
        lives_with=os.getpid(),
    )


def _no_broker() -> tuple[BrokerKind, ...]:
    raise BrokerFailed("none here")


async def test_mqtt_is_opened_and_found_again(kind: BrokerKind, tmp_path: Path) -> None:
    """The second supervisor has the first one's broker, and tells agents the same."""
    plain = AgentConfig(run_id=RUN, job_id=JobId("1"), batch_host=NODE)
    async with open_hub(_place(tmp_path)) as first:
        told = first.agent_config(plain)
    async with open_hub(_place(tmp_path)) as second:
        assert second.agent_config(plain) == told
        assert (second.transport, second.reason) == ("mqtt", "")
        assert second.broker is not None
        kept = credentials.load(tmp_path / "secrets")
        assert kept is not None
        assert (told.broker_host, told.broker_port) == ("127.0.0.1", second.broker.port)
        assert (told.password, told.ca_pem, told.broker_port) == (kept.password, kept.certificate_pem, kept.port)
        await second.stop()


async def test_without_a_broker_it_is_stdout_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No broker is no failure but the other transport, and it stays so for the agents' sake."""
    monkeypatch.setattr(broker_kinds, "find_kinds", _no_broker)
    async with open_hub(_place(tmp_path)) as hub:
        assert (hub.transport, hub.reason) == ("stdout", "none here")
        assert hub.agent_config(AgentConfig(run_id=RUN, job_id=JobId("1"), batch_host=NODE)).transport == "stdout"
    monkeypatch.undo()
    async with open_hub(_place(tmp_path)) as again:
        assert (again.transport, again.reason) == ("stdout", "")


async def test_mqtt_alone_fails_without_a_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asked for MQTT by name hears that it cannot be had."""
    monkeypatch.setattr(broker_kinds, "find_kinds", _no_broker)
    with pytest.raises(BrokerFailed, match="none here"):
        async with open_hub(msgspec.structs.replace(_place(tmp_path), transport="mqtt")):
            pass


async def test_an_address_that_does_not_resolve_is_a_reason(tmp_path: Path) -> None:
    """A wrong node address costs the broker, not the run."""
    place = msgspec.structs.replace(_place(tmp_path), address="no-such-node.invalid")
    async with open_hub(place) as hub:
        assert hub.transport == "stdout"
        assert "no-such-node.invalid" in hub.reason


def test_a_folder_of_somebody_elses_making_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An open folder that waits for us under the expected name is passed over."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    job = JobId(f"test-{os.getpid()}")
    first = local_folder(job)
    try:
        assert first == local_folder(job)
        first.chmod(0o777)
        assert local_folder(job).parent == tmp_path
    finally:
        first.rmdir()
