"""A site's packs in the supervisor: used where they are right, left out with one line where they are not."""

import time
from pathlib import Path

import pytest
import structlog

from supervisor.daemon import signatures
from supervisor.daemon.signatures import known_signatures
from supervisor.diagnose.bundle import Bundle, Log
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.scan.one_log import reading_catalogue

_PACK = """
[[signature]]
id = "our_licence"
role = "root"
literals = ["flexlm said no"]
pattern = 'flexlm said no'
cause = "license_unavailable"
weight = 0.9
source = "our own"
"""


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that SUPERVISE_PACKS names."""
    monkeypatch.setenv("SUPERVISE_PACKS", str(tmp_path))
    return tmp_path


async def test_a_sites_pack_is_used(packs: Path) -> None:
    """As `supervise diagnose` uses it."""
    (packs / "site.toml").write_text(_PACK)
    bundle = Bundle(logs=(Log(name="job.log", lines=("flexlm said no",)),))
    assert diagnose(bundle, await known_signatures(5.0)).cause == "license_unavailable"
    assert diagnose(bundle).cause == "unattributed"


@pytest.mark.parametrize("text", ["no toml [", _PACK.replace("license_unavailable", "bad_mood"), "[[signature]]\n"])
async def test_a_broken_pack_harms_no_job(packs: Path, text: str) -> None:
    """One line in the log that names it, and the product's own signatures."""
    (packs / "site.toml").write_text(text)
    with structlog.testing.capture_logs() as lines:
        assert await known_signatures(5.0) is reading_catalogue()
    (line,) = lines
    assert line["event"] == "packs.left_out"
    assert str(packs) in line["reason"]


async def test_a_folder_that_is_not_there_harms_no_job(packs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name may be meant for the login node only."""
    monkeypatch.setenv("SUPERVISE_PACKS", str(packs / "elsewhere"))
    assert await known_signatures(5.0) is reading_catalogue()


async def test_a_folder_that_gives_no_answer_harms_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead mount costs the deadline and no more."""
    monkeypatch.setattr(signatures, "site_catalogue", lambda: time.sleep(2.0))
    began = time.monotonic()
    assert await known_signatures(0.1) is reading_catalogue()
    assert time.monotonic() - began < 1.5
