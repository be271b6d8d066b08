"""What tests that were killed leave, and what is not theirs."""

import os
from pathlib import Path

import pytest
from checks import crashed
from testbed import cluster

_DEAD = 4_194_305
"""Beyond the largest pid that Linux gives."""


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Names of testbeds that were taken away; all folders are below tmp_path."""
    names: list[str] = []
    for place in ("STATE", "DISKS"):
        (tmp_path / place).mkdir()
        monkeypatch.setattr(crashed, place, tmp_path / place)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(cluster, "down", names.append)
    return names


def _all_are_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crashed, "_is_roots", Path.exists)


def test_testbeds_of_the_dead_go(gone: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of living tests stay, and those that somebody named as he liked."""
    _all_are_roots(monkeypatch)
    dead, alive = _DEAD, os.getpid()
    kept = [f"e2e-{alive}", f"t{alive}-0", "demo", "default", "t1", "sub7", f"my-{dead}"]
    theirs = [f"e2e-{dead}", f"e2e-{dead}-forky", f"hooks-{dead}-plain", f"sub{dead}", f"t{dead}-0", f"t{dead}-0-b"]
    for name in [*kept, *theirs]:
        (tmp_path / "STATE" / name).mkdir()
    crashed.clear()
    assert gone == theirs


def test_disks_of_the_dead_go(gone: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what carries their pid."""
    _all_are_roots(monkeypatch)
    disks = tmp_path / "DISKS"
    names = [f"{crashed.DISK}{_DEAD}-x", f"{crashed.DISK}{os.getpid()}-x", f"{crashed.DISK}own"]
    for name in names:
        (disks / name).mkdir()
    crashed.clear()
    assert sorted(path.name for path in disks.iterdir()) == sorted(names[1:])


def test_what_is_not_roots_stays(gone: list[str], tmp_path: Path) -> None:
    """Anybody can make such a name in /var/tmp, a link among it."""
    foreign = tmp_path / "DISKS" / f"{crashed.DISK}{_DEAD}-x"
    foreign.symlink_to(tmp_path)
    if foreign.lstat().st_uid == 0:
        os.lchown(foreign, 1000, 1000)
    crashed.clear()
    assert foreign.is_symlink()


def test_an_ordinary_user_takes_nothing_away(gone: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """He has brought nothing up."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "STATE" / f"e2e-{_DEAD}").mkdir()
    crashed.clear()
    assert gone == []
