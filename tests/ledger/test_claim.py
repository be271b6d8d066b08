"""Which job works on a run."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from supervisor.ledger.claim import Claim, claim
from supervisor.ledger.run_folder import job_ids
from supervisor.model.ids import JobId

_CLAIM = Claim(job_id=JobId("17_3"), at=1.0, restarts=2, host="n1")


def _refuse(code: int) -> None:
    raise OSError(code, os.strerror(code))


def test_the_first_claim_counts_and_can_be_read(tmp_path: Path) -> None:
    """A second one of the same job says that it is not the first, and changes nothing."""
    assert claim(tmp_path, _CLAIM)
    assert not claim(tmp_path, Claim(job_id=JobId("17_3"), at=2.0))
    assert msgspec.json.decode((tmp_path / "jobs/17_3.json").read_bytes(), type=Claim) == _CLAIM
    assert job_ids(tmp_path) == ["17_3"]


@pytest.mark.parametrize("refused", [0, errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP])
def test_of_many_at_once_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    """Also on a filesystem without hard links, however it says so; no draft stays."""
    if refused:
        monkeypatch.setattr(os, "link", lambda *_: _refuse(refused))
    (tmp_path / "jobs").mkdir()
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda _: claim(tmp_path, _CLAIM), range(32)))
    assert won.count(True) == 1
    assert [path.name for path in (tmp_path / "jobs").iterdir()] == ["17_3.json"]


def test_a_lost_answer_of_nfs_is_no_lost_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link was made, its answer got lost, and the repeated call says that it exists: it is ours."""
    real = os.link

    def link(*args: str) -> None:
        real(*args)
        raise FileExistsError

    monkeypatch.setattr(os, "link", link)
    assert claim(tmp_path, _CLAIM)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.ESTALE, errno.EIO])
def test_a_claim_that_is_there_needs_no_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A supervisor that begins anew finds its own, on a disk that is full or read-only by now; a new one is refused."""
    assert claim(tmp_path, _CLAIM)
    monkeypatch.setattr(Path, "write_bytes", lambda *_: _refuse(code))
    assert not claim(tmp_path, _CLAIM)
    with pytest.raises(OSError, match=os.strerror(code)):
        claim(tmp_path, Claim(job_id=JobId("18"), at=1.0))
    assert job_ids(tmp_path) == ["17_3"]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """Nothing is left behind."""
    (tmp_path / "jobs").touch()
    with pytest.raises(OSError, match="jobs"):
        claim(tmp_path, _CLAIM)
    assert (tmp_path / "jobs").is_file()
