"""Fixtures of the daemon's tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from supervisor.settings import Settings
from tests.daemon.scripts import Scripts
from tests.daemon.site_job import SiteRun


@pytest.fixture
def scripts(tmp_path: Path) -> Iterator[Scripts]:
    """Real scripts in a folder of their own."""
    made = Scripts(tmp_path)
    yield made
    made.clear()


@pytest.fixture
async def job(tmp_path: Path) -> AsyncIterator[SiteRun]:
    """A job of a site that keeps a ledger."""
    (tmp_path / "ledger").mkdir()
    (tmp_path / "run").mkdir()
    made = SiteRun(tmp_path, Settings(ledger=str(tmp_path / "ledger"), ledger_users="none"))
    yield made
    await made.writer.flushed(30)
    made.writer.close(30)
    if made.hand is not None:
        await made.hand.close()
        made.hand._writer._thread.join(30)
