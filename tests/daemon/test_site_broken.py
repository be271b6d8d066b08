"""Whatever the site's ledger does, the run does not notice."""

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from supervisor.daemon.hands import site as module
from supervisor.ledger.site.append import SiteFile
from tests.core import harness
from tests.daemon.site_job import SiteRun


def _hang(release: threading.Event) -> Callable[..., None]:
    def wait(*_: object, **__: object) -> None:
        release.wait(60)

    return wait


async def test_a_ledger_that_hangs_holds_nothing_up(job: SiteRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run folder's own files are written meanwhile: they have another thread. The end waits half a second."""
    release = threading.Event()
    monkeypatch.setattr(SiteFile, "_append", _hang(release))
    hand = await job.supervise()
    assert hand
    job.core.start().progress(1).exit(1).settle()
    assert await job.writer.flushed(30)
    assert (job.tmp_path / "run" / "incidents/001/verdict.json").exists()
    assert (job.tmp_path / "run" / "usage.json").exists()
    before = asyncio.get_running_loop().time()
    await hand.close()
    assert asyncio.get_running_loop().time() - before < 5
    release.set()


async def test_a_ledger_that_is_away_changes_no_decision(job: SiteRun, caplog: pytest.LogCaptureFixture) -> None:
    """The run is as it would be without; what is lost is counted, and told once."""
    (job.tmp_path / "ledger").rmdir()
    plain = harness.World().start().progress(1).exit(1).settle()
    with caplog.at_level(logging.WARNING):
        hand = await job.supervise()
        assert hand
        job.core.start().progress(1).exit(1).settle()
        assert await hand._writer.flushed(30)
    assert job.core.done == plain.done
    assert hand._writer.failed >= 4
    told = [record.getMessage() for record in caplog.records if "writer.failed" in record.getMessage()]
    assert len(told) == 1
    assert str(job.tmp_path / "ledger") in told[0]


async def test_a_hand_that_breaks_does_not_reach_the_machine(job: SiteRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours in what is only recorded must not end a supervisor."""

    def broken(*_: object) -> None:
        raise ValueError("nobody expects this")

    await job.supervise()
    monkeypatch.setattr(module, "counted", broken)
    job.core.start().progress(1).exit(0).settle()
    assert job.core.finish
