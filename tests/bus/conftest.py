"""Real brokers for the tests of the bus."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.bus import broker_kinds, credentials
from supervisor.bus.broker import Broker
from supervisor.bus.broker_kinds import BrokerKind
from supervisor.bus.credentials import Secrets
from tests.bus.helpers import new_broker


@pytest.fixture(scope="session")
def secrets() -> Secrets:
    """Credentials for loopback, made once: they do not change."""
    return credentials.make("127.0.0.1")


@pytest.fixture(params=["mosquitto", "amqtt"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> BrokerKind:
    """Each broker in turn, as if the other were not installed."""
    chosen: BrokerKind = request.param
    if chosen not in broker_kinds.find_kinds():
        pytest.skip(f"{chosen} is not installed")
    monkeypatch.setattr(broker_kinds, "find_kinds", lambda: (chosen,))
    return chosen


@pytest.fixture
async def broker(kind: BrokerKind, secrets: Secrets, tmp_path: Path) -> AsyncIterator[Broker]:
    """A running broker of each kind, ended afterwards."""
    started = new_broker(tmp_path, secrets)
    try:
        async with started:
            yield started
    finally:
        await started.stop()
