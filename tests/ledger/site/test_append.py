"""One job's file: where it is made, what it is never written over, what is lost when nothing works."""

import os
from pathlib import Path

import pytest

from supervisor.ledger.site.append import SiteFile
from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.names import PSEUDONYM_KEY
from supervisor.ledger.site.read import read_site
from supervisor.ledger.site.users import pseudonym
from supervisor.ledger.site.walk import user_name
from supervisor.model.ids import JobId
from supervisor.model.site import SiteJob
from tests.ledger.site.made import BOB, MONTH, RUN, as_root, as_user, bytes_of, incident, job, lay, open_to_all, use

_NAME = f"81234-{RUN}.jsonl"
_WRITERS = 200


def _file(root: Path, of: SiteJob | None = None, users: str = "none") -> SiteFile:
    return SiteFile(root, of or job(), users=users)


def _only(root: Path) -> JobHistory:
    history = read_site(root)
    assert not history.problems
    (found,) = history.jobs
    return found


def _files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.jsonl"))


# --- what is written --------------------------------------------------------------------------------------------------


def test_a_file_begins_with_its_job_and_grows(tmp_path: Path) -> None:
    """Every line at the end, none changed, readable for everybody whatever the umask says."""
    before = os.umask(0o077)
    try:
        file = _file(tmp_path)
        file.begin()
        file.add(use(1.0))
        file.add(incident())
        file.add(use(2.0))
    finally:
        os.umask(before)
    path = tmp_path / _NAME
    assert path.read_bytes() == bytes_of(job(), use(1.0), incident(), use(2.0))
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_later_supervisor_goes_on_in_the_same_file(tmp_path: Path) -> None:
    """After a takeover the job's own line is not written again."""
    first = _file(tmp_path)
    first.begin()
    _file(tmp_path).add(incident())
    assert (tmp_path / _NAME).read_bytes() == bytes_of(job(), incident())


def test_a_file_that_was_taken_away_is_made_anew(tmp_path: Path) -> None:
    """Upkeep has moved it while the job was suspended: the new one begins with the job as well."""
    file = _file(tmp_path)
    file.begin()
    (tmp_path / _NAME).unlink()
    file.add(incident())
    assert (tmp_path / _NAME).read_bytes() == bytes_of(job(), incident())


def test_a_torn_line_does_not_swallow_the_next_one(tmp_path: Path) -> None:
    """What a full disk or a kill left stays as it is."""
    lay(tmp_path, _NAME, job(), b'{"kind":"inci')
    _file(tmp_path).add(use())
    assert (tmp_path / _NAME).read_bytes() == bytes_of(job()) + b'{"kind":"inci\n' + bytes_of(use())


_ME = user_name(os.geteuid())
_KEY = b"k" * 32


@pytest.mark.parametrize(
    ("users", "key", "expected"),
    [
        ("name", b"", _ME),
        ("none", _KEY, ""),
        ("pseudonym", b"", ""),
        ("pseudonym", _KEY[1:], ""),
        ("pseudonym", _KEY, pseudonym(_ME, _KEY)),
    ],
)
def test_users_are_named_as_the_site_wants(tmp_path: Path, users: str, key: bytes, expected: str) -> None:
    """Without a whole key a pseudonym becomes nothing, never a name."""
    if key:
        lay(tmp_path, PSEUDONYM_KEY, key)
    _file(tmp_path, users=users).begin()
    assert _only(tmp_path).job.user == expected


@as_root
def test_a_key_that_may_not_be_read_is_no_key(tmp_path: Path) -> None:
    """The user is in none of the site's groups."""
    open_to_all(tmp_path)
    lay(tmp_path, PSEUDONYM_KEY, _KEY).chmod(0o640)
    tmp_path.chmod(0o1777)
    with as_user(BOB):
        _file(tmp_path, users="pseudonym").begin()
    assert _only(tmp_path).job.user == ""


@as_root
def test_a_node_that_does_not_know_its_user_names_nobody(tmp_path: Path) -> None:
    """A number in the name's place would look like a forgery where the name is known."""
    open_to_all(tmp_path)
    tmp_path.chmod(0o1777)
    with as_user(BOB):
        _file(tmp_path, users="name").begin()
    assert _only(tmp_path).job.user == ""
    assert _only(tmp_path).is_trusted


@as_root
def test_a_key_that_others_have_laid_is_no_key(tmp_path: Path) -> None:
    """Whoever could choose it would know all users."""
    lay(tmp_path, PSEUDONYM_KEY, b"k" * 32, owner=BOB)
    _file(tmp_path, users="pseudonym").begin()
    assert _only(tmp_path).job.user == ""


# --- where it is written ----------------------------------------------------------------------------------------------


def test_the_best_folder_that_is_there(tmp_path: Path) -> None:
    """The month's, the cluster's, the ledger itself; a reader finds all three as one job."""
    file = _file(tmp_path)
    file.begin()
    (tmp_path / "c1").mkdir()
    file.add(incident())
    (tmp_path / "c1" / MONTH).mkdir()
    file.add(incident(2))
    assert set(_files(tmp_path)) == {_NAME, f"c1/{_NAME}", f"c1/{MONTH}/{_NAME}"}
    assert _only(tmp_path).incidents == (incident(), incident(2))


@as_root
@pytest.mark.parametrize(("foreign", "expected"), [("c1", _NAME), (f"c1/{MONTH}", f"c1/{_NAME}")])
def test_a_folder_of_another_user_is_not_used(tmp_path: Path, foreign: str, expected: str) -> None:
    """He could remove our file, whatever its mode."""
    (tmp_path / "c1" / MONTH).mkdir(parents=True)
    os.chown(tmp_path / foreign, BOB, -1)
    _file(tmp_path).begin()
    assert _files(tmp_path) == [expected]


def test_a_folder_behind_a_link_is_not_used(tmp_path: Path) -> None:
    """A link may lead anywhere."""
    (tmp_path / "elsewhere").mkdir()
    root = tmp_path / "ledger"
    root.mkdir()
    (root / "c1").symlink_to(tmp_path / "elsewhere")
    _file(root).begin()
    assert _files(root) == [_NAME]


@as_root
def test_nothing_foreign_is_written_to(tmp_path: Path) -> None:
    """A file of another user, a link, a pipe, a second name of a file of ours, a folder: another name is taken."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine\n")
    root = tmp_path / "ledger"
    base = _NAME.removesuffix(".jsonl")
    lay(root, _NAME, b"theirs\n", owner=BOB)
    (root / f"{base}.1.jsonl").symlink_to(victim)
    os.mkfifo(root / f"{base}.2.jsonl")
    os.link(victim, root / f"{base}.3.jsonl")
    (root / f"{base}.4.jsonl").mkdir()
    file = _file(root)
    file.begin()
    file.add(use())
    assert victim.read_bytes() == b"mine\n"
    assert (root / _NAME).read_bytes() == b"theirs\n"
    assert (root / f"{base}.5.jsonl").read_bytes() == bytes_of(job(), use())


@as_root
def test_who_takes_all_our_names_stops_the_ledger_only(tmp_path: Path) -> None:
    """The next folder up is tried, and then it is an error like any other."""
    (tmp_path / "c1").mkdir()
    base = _NAME.removesuffix(".jsonl")
    for name in (_NAME, *(f"{base}.{number}.jsonl" for number in range(1, 10))):
        lay(tmp_path, f"c1/{name}", b"x", owner=BOB)
    _file(tmp_path).begin()
    assert (tmp_path / _NAME).exists()
    for name in (_NAME, *(f"{base}.{number}.jsonl" for number in range(1, 10))):
        lay(tmp_path, name, b"x", owner=BOB)
    with pytest.raises(FileExistsError, match="takes no line"):
        _file(tmp_path).begin()


@pytest.mark.parametrize(
    ("cluster", "folder"),
    [
        ("../../etc", "_.._etc"),
        ("a/b", "a_b"),
        ("", "_"),
        (".hidden", "hidden"),
        ("2026-09", "_2026-09"),
        ("ü\n", "__"),
    ],
)
def test_hostile_names_of_clusters_stay_in_the_ledger(tmp_path: Path, cluster: str, folder: str) -> None:
    """A folder's name is never a path, and what is in the file is what Slurm said."""
    root = tmp_path / "ledger"
    (root / folder.lstrip("/")).mkdir(parents=True)
    file = _file(root, job(cluster=cluster))
    file.begin()
    assert [path.parent.name for path in root.rglob("*.jsonl")] == [folder]


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", "17_3", "x" * 300, "\x00\n"])
def test_hostile_job_ids_stay_in_the_ledger(tmp_path: Path, name: str) -> None:
    """One plain file, whatever the environment says."""
    root = tmp_path / "ledger"
    root.mkdir()
    _file(root, job(job=JobId(name))).begin()
    (path,) = tmp_path.rglob("*.jsonl")
    assert path.parent == root
    assert not path.name.startswith(".")
