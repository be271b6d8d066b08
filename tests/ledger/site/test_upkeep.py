"""What the ledger's owner does: ahead, together, away."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from supervisor.errors import UsageError
from supervisor.ledger.site.history import SiteHistory
from supervisor.ledger.site.init import initialised
from supervisor.ledger.site.names import NODES, PSEUDONYM_KEY, draft_name
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.upkeep import Upkeep, keep_up, parse_keep
from tests.ledger.site.made import (
    ALICE,
    AT,
    BOB,
    MONTH,
    RUN,
    as_root,
    as_user,
    job,
    lay,
    open_to_all,
)

_DAY_S = 86_400.0
_NOW = AT + 100 * _DAY_S
"""2026-12-30: September is long over."""
_HERE = f"c1/{MONTH}"


def _up(root: Path, *, now: float = _NOW, keep: str = "400d", is_dry: bool = False) -> Upkeep:
    return keep_up(root, keep_s=parse_keep(keep), now=now, is_dry=is_dry)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A ledger with one cluster, as it was in September."""
    made = tmp_path / "ledger"
    initialised(made, ["c1"], "", now=AT, is_dry=False)
    return made


def _old(path: Path, at: float = AT + 1000) -> Path:
    os.utime(path, (at, at))
    return path


def _names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.name.startswith("."))


def _seen(history: SiteHistory) -> Sequence[object]:
    return [(each.job, each.incidents, each.use, each.owner, each.is_trusted) for each in history.jobs]


# --- folders --------------------------------------------------------------------------------------------------------


def test_the_folder_for_nodes_is_there_before_somebody_else_makes_one(root: Path) -> None:
    """What lies in one of a user's would be believed by nobody. By `init`, and by `upkeep` where that was before."""
    for _ in ("init", "upkeep"):
        assert (root / NODES).stat().st_mode & 0o7777 == 0o755
        (root / NODES).rmdir()
        assert NODES in _up(root, is_dry=True).made
        assert not (root / NODES).exists()
        assert NODES in _up(root).made
    assert NODES not in _up(root).made


@as_root
def test_a_folder_for_nodes_that_a_user_has_made_is_told(root: Path) -> None:
    """By both; the rest is done."""
    os.chown(root / NODES, BOB, -1)
    done = _up(root)
    assert done.problems.all() == (".nodes: belongs to another user than the ledger does: left as it is",)
    assert "c1/2026-12" in done.made
    with pytest.raises(UsageError, match=r"\.nodes cannot be made: belongs to another user"):
        initialised(root, ["c1"], "", now=AT, is_dry=False)


def test_months_are_made_ahead(root: Path) -> None:
    """So that the first job of a month finds a folder that no user owns."""
    assert sorted(_up(root).made) == ["c1/2026-12", "c1/2027-01"]
    assert (root / "c1/2027-01").stat().st_mode & 0o7777 == 0o1777
    assert not _up(root).made


@as_root
def test_a_month_that_a_user_has_made_is_told(root: Path) -> None:
    """It is left as it is: jobs pass it by, and a reader reads it."""
    lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1), owner=ALICE)
    os.chown(root / _HERE, BOB, -1)
    _old(root / f"{_HERE}/1-{RUN}.jsonl")
    done = _up(root)
    assert (root / f"{_HERE}/1-{RUN}.jsonl").exists()
    assert done.problems.all() == (f"{_HERE}: belongs to another user than the ledger does: left as it is",)


# --- what is too old --------------------------------------------------------------------------------------------------


def test_months_go_when_they_are_too_old(root: Path) -> None:
    """As file, as folder, and loose files by their last change; counted from the month's end."""
    lay(root, "c1/2025-01.jsonl", job(1))
    lay(root, f"c1/2025-02/2-{RUN}.jsonl", job(2))
    _old(lay(root, f"c1/3-{RUN}.jsonl", job(3)), _NOW - 401 * _DAY_S)
    _old(lay(root, f"4-{RUN}.jsonl", job(4)), _NOW - 401 * _DAY_S)
    kept = lay(root, "c1/2026-01.jsonl", job(5))
    assert sorted(_up(root).removed) == [
        f"4-{RUN}.jsonl",
        "c1/2025-01.jsonl",
        "c1/2025-02",
        f"c1/3-{RUN}.jsonl",
    ]
    assert kept.exists()
    assert not (root / "c1/2025-02").exists()
    assert "c1/2026-01.jsonl" in _up(root, keep="60d").removed


def _nest(folder: Path) -> None:
    """A thousand and a half folders, each in the one before."""
    below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(1500):
        os.mkdir("x", dir_fd=below)
        inner = os.open("x", os.O_RDONLY | os.O_DIRECTORY, dir_fd=below)
        os.close(below)
        below = inner
    os.close(below)


def test_folders_nested_without_end_cost_only_themselves(root: Path) -> None:
    """Whoever may write below a cluster may nest a thousand of them: all else that is too old goes all the same."""
    (root / "c1/2025-01").mkdir()
    _nest(root / "c1/2025-01")
    file = lay(root, f"c1/2025-01/1-{RUN}.jsonl", job(1))
    lay(root, "c1/2025-02.jsonl", job(1))
    done = _up(root)
    assert "c1/2025-02.jsonl" in done.removed
    assert not file.exists()
    subprocess.run(["rm", "-rf", root / "c1/2025-01"], check=True, timeout=60)  # pytest's own removal would break


@as_root
def test_an_old_month_that_a_user_has_made_is_told_and_left(root: Path) -> None:
    """Nobody made it for the ledger, and removing what lies in it is not owed to him."""
    path = lay(root, f"c1/2025-02/1-{RUN}.jsonl", job(1), owner=BOB)
    os.chown(path.parent, BOB, -1)
    done = _up(root)
    assert path.exists()
    assert done.problems.all() == ("c1/2025-02: belongs to another user than the ledger does: left as it is",)


@pytest.mark.parametrize("name", ["0000-01", "9999-12", "3000-01", "1969-12", "\u0662\u0660\u0662\u0665-01"])
def test_a_month_that_is_none_stops_nothing(root: Path, name: str) -> None:
    """Anybody may make a folder, whatever it is called."""
    (root / "c1" / name).mkdir()
    lay(root, "c1/2025-02.jsonl", job(1))
    assert "c1/2025-02.jsonl" in _up(root).removed
    assert (root / "c1" / name).is_dir()


@as_root
def test_what_a_killed_upkeep_has_begun_goes_after_a_day(root: Path) -> None:
    """In the ledger and in its clusters; what another user calls so is his."""
    drafts = [root / draft_name(PSEUDONYM_KEY), root / "c1" / draft_name("2026-09.jsonl")]
    for path in drafts:
        path.write_bytes(b"half")
    lay(root, f"c1/{draft_name('2026-08.jsonl')}", owner=BOB)
    (root / ".snapshot").write_bytes(b"")
    _up(root, now=time.time() + 0.9 * _DAY_S)
    assert all(path.exists() for path in drafts)
    _up(root, now=time.time() + 1.1 * _DAY_S)
    assert not any(path.exists() for path in drafts)
    assert len(list(root.rglob(".*.draft-*"))) == 1
    assert (root / ".snapshot").exists()


def test_a_dry_run_does_nothing(root: Path) -> None:
    """And says the same as the run that follows."""
    _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1)))
    lay(root, f"c1/2025-02/2-{RUN}.jsonl", job(2))
    before = _names(root)
    dry = _up(root, is_dry=True)
    assert _names(root) == before
    done = _up(root)
    assert (sorted(dry.made), dry.compacted, dry.removed) == (sorted(done.made), done.compacted, done.removed)


@as_root
def test_what_runs_as_root_follows_nothing(root: Path, tmp_path: Path) -> None:
    """Links in place of clusters, of months and inside of old months lead nowhere."""
    precious = tmp_path / "precious"
    precious.mkdir()
    lay(precious, "2025-02/1-a.jsonl", job(1))
    (root / "c2").symlink_to(precious)
    (root / "c1/2025-02").symlink_to(precious / "2025-02")
    (root / "c1/2025-03").mkdir()
    (root / "c1/2025-03/inner").symlink_to(precious)
    (root / "c1/2026-08").symlink_to(precious / "2025-02")
    done = _up(root)
    assert (precious / "2025-02/1-a.jsonl").exists()
    assert "c1/2025-03" in done.removed
    assert any("c2" in text for text in done.problems.all())


@as_root
def test_a_clusters_folder_of_a_user_is_left_alone(root: Path) -> None:
    """Whatever lies in there is his."""
    path = lay(root, f"c9/2025-02/1-{RUN}.jsonl", job(1), owner=BOB)
    os.chown(root / "c9", BOB, -1)
    assert _up(root).clusters == 1
    assert path.exists()


@as_root
def test_what_root_makes_belongs_to_the_ledgers_owner(root: Path) -> None:
    """A service user's ledger, kept up by root."""
    for path in (root, *root.rglob("*")):
        os.chown(path, ALICE, -1)
    _old(lay(root, f"{_HERE}/1-{RUN}.jsonl", job(1, user=str(BOB)), owner=BOB))
    _up(root)
    assert {path.stat().st_uid for path in root.rglob("*")} == {ALICE}
    (found,) = read_site(root).jobs
    assert (found.owner, found.is_trusted) == (str(BOB), True)


@as_root
def test_only_its_owner_keeps_it_up(root: Path) -> None:
    """Others are told who it is."""
    open_to_all(root)
    with as_user(BOB), pytest.raises(UsageError, match="belongs to root"):
        _up(root)


@pytest.mark.parametrize("text", ["", "400", "0d", "-1d", "1y", "d", "9999999d"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    """Nothing is removed by a guess."""
    with pytest.raises(UsageError, match="number of days"):
        parse_keep(text)


def test_a_ledger_that_is_not_there_is_said(tmp_path: Path) -> None:
    """With the setting to look at."""
    with pytest.raises(UsageError, match="SUPERVISE_LEDGER"):
        _up(tmp_path / "none")
