"""Two users of one ledger, of whom one is dishonest: what he can do to the other's record, and what not."""

import os
import pwd
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from supervisor.ledger.site.append import SiteFile
from supervisor.ledger.site.history import JobHistory, SiteHistory
from supervisor.ledger.site.init import initialised
from supervisor.ledger.site.lines import SiteOwner
from supervisor.ledger.site.names import PSEUDONYM_KEY, file_name, month_of
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.upkeep import keep_up
from supervisor.ledger.site.users import named
from supervisor.ledger.site.walk import user_name
from supervisor.model.ids import NodeName
from tests.ledger.site.made import ALICE, BOB, RUN, as_root, as_user, bytes_of, incident, job, open_to_all, use

_DAY_S = 86_400.0
_NOW = time.time()
_AT = round(_NOW - 3600.0)
_HERS = job(1, at=_AT)
_WORD = incident(of=1, at=_AT + 10, lost_node_s=5.0)
_USED = use(200.0, of=1, at=_AT + 100)
_HIS = job(2, at=_AT, nodes=(NodeName("n7"),))
_USERS = pytest.mark.parametrize("users", ["name", "pseudonym", "none"])
_NAMES = {ALICE: "alice", BOB: "bob"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A ledger of root's, open to all; this machine knows both by name, and both can read its key."""
    real = pwd.getpwuid
    monkeypatch.setattr(
        pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name=_NAMES[uid]) if uid in _NAMES else real(uid)
    )
    user_name.cache_clear()
    open_to_all(tmp_path)
    made = tmp_path / "ledger"
    initialised(made, ["c1"], "", now=_NOW, is_dry=False)
    (made / PSEUDONYM_KEY).chmod(0o644)
    yield made
    user_name.cache_clear()


def _month(root: Path) -> Path:
    return root / "c1" / month_of(_AT)


def _alice_works(root: Path, users: str) -> None:
    with as_user(ALICE):
        file = SiteFile(root, _HERS, users=users)
        file.begin()
        file.add(_WORD)
        file.add(_USED)


def _bob_writes(root: Path, name: str, *lines: msgspec.Struct) -> Path:
    with as_user(BOB):
        path = _month(root) / name
        path.write_bytes(bytes_of(*lines))
    return path


def _before_and_after(root: Path) -> Iterator[SiteHistory]:
    """What a report reads, and what it reads when the month is one file."""
    yield read_site(root)
    done = keep_up(root, keep_s=400 * _DAY_S, now=_NOW + 100 * _DAY_S)
    assert list(done.compacted) == [f"c1/{month_of(_AT)}.jsonl"]
    yield read_site(root)


def _of(history: SiteHistory, number: str) -> JobHistory:
    (found,) = [each for each in history.jobs if each.job.job == number]
    return found


def _is_hers(found: JobHistory) -> bool:
    kept = (found.job.nodes, found.incidents, found.use, found.is_trusted)
    return kept == (_HERS.nodes, (_WORD,), _USED, True)


@as_root
@_USERS
def test_one_file_of_his_changes_nothing_of_hers(root: Path, users: str) -> None:
    """Whatever stands in it: her job's own line, words on it, whose lines they are. Nor in the month's file."""
    _alice_works(root, users)
    hidden = named("alice", users, root)
    forged = (
        SiteOwner(owner=hidden or "alice"),
        msgspec.structs.replace(_HERS, at=_AT - 99, user=hidden, nodes=(NodeName("n9"),)),
        msgspec.structs.replace(_WORD, cause="forged", is_closed=True, nodes=(NodeName("n9"),)),
        incident(2, of=1, at=_AT + 20),
        use(1e12, of=1, at=_AT + 9999),
    )
    _bob_writes(root, file_name(_HIS.job, RUN), *forged, _HIS, *forged)
    for history in _before_and_after(root):
        assert _is_hers(_of(history, "1"))
        assert _of(history, "2").job.nodes == ("n7",)
        assert _of(history, "1").owner != _of(history, "2").owner


@as_root
@_USERS
def test_he_cannot_touch_her_file(root: Path, users: str) -> None:
    """The folders are sticky and hers is hers: not written, not removed, not put out of the way, not replaced."""
    _alice_works(root, users)
    hers, swap = _month(root) / file_name(_HERS.job, RUN), _month(root) / "swap"
    harms = (hers.unlink, lambda: hers.rename(swap), lambda: hers.write_bytes(b""), lambda: swap.rename(hers))
    with as_user(BOB):
        swap.write_bytes(bytes_of(_HERS))
        for harm in harms:
            with pytest.raises(PermissionError):
                harm()
        swap.unlink()
    assert _is_hers(_of(read_site(root), "1"))


@as_root
@_USERS
def test_her_name_on_his_file_does_not_make_it_hers(root: Path, users: str) -> None:
    """He lays a file in her job's name before she can; hers has another name, and his owner tells who he is."""
    hidden = named("alice", users, root)
    _bob_writes(root, file_name(_HERS.job, RUN), msgspec.structs.replace(_HERS, user=hidden or "alice"), incident(of=1))
    _alice_works(root, users)
    assert sorted(path.name for path in _month(root).iterdir()) == [f"1-{RUN}.1.jsonl", f"1-{RUN}.jsonl"]
    for history in _before_and_after(root):
        assert _is_hers(_of(history, "1"))
        assert any("(bob): job 1, also written by" in text for text in history.problems)


@as_root
@_USERS
def test_a_file_for_each_job_puts_those_in_doubt_and_takes_none(root: Path, users: str) -> None:
    """Nothing tells who is right where he says in his own name that the job is his: neither is believed, he shows."""
    _alice_works(root, users)
    bobs = named("bob", users, root)
    _bob_writes(root, f"1-{RUN}.1.jsonl", msgspec.structs.replace(_HERS, user=bobs), incident(of=1, cause="forged"))
    for history in _before_and_after(root):
        assert not _of(history, "1").is_trusted
        assert any("may be as wrong" in text for text in history.problems)


@as_root
def test_links_and_pipes_of_his_stop_neither_her_job_nor_upkeep(root: Path) -> None:
    """In all the places where her file could be."""
    names = [file_name(_HERS.job, RUN), *(f"1-{RUN}.{number}.jsonl" for number in range(1, 5))]
    with as_user(BOB):
        for number, name in enumerate(names):
            path = _month(root) / name
            os.mkfifo(path) if number % 2 else path.symlink_to(root / PSEUDONYM_KEY)
    key = (root / PSEUDONYM_KEY).read_bytes()
    _alice_works(root, "name")
    assert (_month(root) / f"1-{RUN}.5.jsonl").stat().st_uid == ALICE
    assert _is_hers(_of(read_site(root), "1"))
    keep_up(root, keep_s=400 * _DAY_S, now=_NOW + 100 * _DAY_S)
    assert _is_hers(_of(read_site(root), "1"))
    assert (root / PSEUDONYM_KEY).read_bytes() == key
