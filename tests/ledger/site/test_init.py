"""A ledger is made: open to all, and nobody's but its owner's."""

import os
from pathlib import Path

import pytest

from supervisor.errors import UsageError
from supervisor.ledger.site.init import initialised
from supervisor.ledger.site.names import PSEUDONYM_KEY, draft_name
from supervisor.ledger.site.users import read_key
from tests.ledger.site.made import ALICE, AT, BOB, as_root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A ledger with one cluster, as it was in September."""
    made = tmp_path / "ledger"
    initialised(made, ["c1"], "", now=AT, is_dry=False)
    return made


def _names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.name.startswith("."))


def test_a_new_ledger_is_open_to_all_and_nobody_removes_what_is_anothers(root: Path) -> None:
    """Sticky folders for this month and the next; the key for a group alone."""
    assert _names(root) == ["c1", "c1/2026-09", "c1/2026-10"]
    for name in ("", "c1", "c1/2026-09"):
        assert (root / name).stat().st_mode & 0o7777 == 0o1777
    key = root / PSEUDONYM_KEY
    assert (key.stat().st_mode & 0o777, key.stat().st_size) == (0o640, 32)


def test_a_ledger_that_is_there_is_made_right_and_keeps_its_key(root: Path) -> None:
    """Asked for again, with one more cluster."""
    key = (root / PSEUDONYM_KEY).read_bytes()
    (root / "c1").chmod(0o777)
    assert initialised(root, ["c1", "c2"], "", now=AT, is_dry=False) == [
        str(root / name) for name in ("c2", "c2/2026-09", "c2/2026-10")
    ]
    assert (root / "c1").stat().st_mode & 0o7777 == 0o1777
    assert (root / PSEUDONYM_KEY).read_bytes() == key


def test_a_folder_with_other_things_is_not_opened_to_everybody(tmp_path: Path) -> None:
    """`supervise ledger init /home` as root would be a disaster."""
    (tmp_path / "alice").mkdir()
    tmp_path.chmod(0o755)
    with pytest.raises(UsageError, match="not empty and no ledger"):
        initialised(tmp_path, [], "", now=AT, is_dry=False)
    assert tmp_path.stat().st_mode & 0o7777 == 0o755


@as_root
def test_a_clusters_folder_that_a_user_has_made_is_not_taken_over(root: Path) -> None:
    """What lies in it already is his doing."""
    (root / "c2").mkdir()
    os.chown(root / "c2", BOB, -1)
    with pytest.raises(UsageError, match="c2 cannot be made: belongs to another user"):
        initialised(root, ["c2"], "", now=AT, is_dry=False)


@as_root
@pytest.mark.parametrize("kind", ["empty", "half", "strangers"])
def test_what_is_no_key_is_replaced_by_one(root: Path, kind: str) -> None:
    """One that was not written to its end, or that a user has laid: no reader takes it, and no job has used it."""
    key = root / PSEUDONYM_KEY
    key.write_bytes({"empty": b"", "half": b"k" * 16, "strangers": b"k" * 32}[kind])
    if kind == "strangers":
        os.chown(key, BOB, -1)
    assert not read_key(root)
    initialised(root, ["c1"], "", now=AT, is_dry=False)
    assert len(read_key(root)) == 32
    assert (key.stat().st_uid, key.stat().st_mode & 0o777) == (0, 0o640)
    assert not list(root.glob(".*.draft-*"))


@as_root
def test_the_key_of_a_service_users_ledger_is_his(tmp_path: Path) -> None:
    """Root makes it in a folder that is there: a reader takes none that is not the ledger's owner's."""
    root = tmp_path / "ledger"
    root.mkdir()
    os.chown(root, ALICE, -1)
    initialised(root, ["c1"], "", now=AT, is_dry=False)
    assert len(read_key(root)) == 32
    assert {path.stat().st_uid for path in (root, *root.rglob("*"))} == {ALICE}


def test_a_group_that_is_not_there_is_said(tmp_path: Path) -> None:
    """Before anything is made."""
    with pytest.raises(UsageError, match="no such group"):
        initialised(tmp_path / "new", [], "no-such-group", now=AT, is_dry=False)
    assert not (tmp_path / "new").exists()


def test_a_dry_run_makes_nothing(tmp_path: Path) -> None:
    """And names what it would make."""
    new = tmp_path / "new"
    assert initialised(new, ["c1"], "", now=AT, is_dry=True) == [
        str(new / name) for name in ("", ".nodes", "c1", "c1/2026-09", "c1/2026-10")
    ]
    assert not new.exists()


def test_what_was_broken_off_while_it_was_made_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or a kill leaves no key that is none, and nothing that the next try takes for somebody's data."""
    root = tmp_path / "ledger"

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(UsageError, match="No space left"):
            initialised(root, ["c1"], "", now=AT, is_dry=False)
    assert list(root.iterdir()) == []
    (root / draft_name(PSEUDONYM_KEY)).write_bytes(b"half")
    initialised(root, ["c1"], "", now=AT, is_dry=False)
    assert len(read_key(root)) == 32


def test_a_key_that_works_is_kept(root: Path) -> None:
    """A longer one counts by its first 32 bytes: another one would give everybody another pseudonym."""
    (root / PSEUDONYM_KEY).write_bytes(b"k" * 64)
    initialised(root, ["c1"], "", now=AT, is_dry=False)
    assert read_key(root) == b"k" * 32
    assert (root / PSEUDONYM_KEY).read_bytes() == b"k" * 64
