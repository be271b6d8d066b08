"""Checkpoints in a store that fsspec reaches."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from supervisor.checkpoint.find import find_newest
from supervisor.checkpoint.store import store_of
from tests.checkpoint import makers as make


class _Throttled(Exception):
    """What an object store's library raises; related to nothing that we know."""


class _Moody(MemoryFileSystem):  # type: ignore[misc]  # fsspec publishes no types
    """A store that fails when it is told to."""

    protocol = "moody"
    store: dict[str, Any] = {}  # noqa: RUF012 - fsspec's own way
    pseudo_dirs = [""]  # noqa: RUF012 - the same
    fails_ls = False
    fails_open = ""

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        stripped: str = super()._strip_protocol(path.replace("moody://", "memory://"))
        return stripped

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:  # noqa: FBT001, FBT002 - fsspec's signature
        if self.fails_ls:
            raise _Throttled("SlowDown: please reduce your request rate")
        return super().ls(path, detail=detail, **more)

    def _open(self, path: str, *args: Any, **more: Any) -> Any:
        if self.fails_open and self.fails_open in path:
            raise _Throttled("503")
        return super()._open(path, *args, **more)


@pytest.fixture
def moody(tmp_path: Path) -> Iterator[type[_Moody]]:
    fsspec.register_implementation("moody", _Moody, clobber=True)
    filesystem = _Moody(skip_instance_cache=True)
    filesystem.makedirs("/ck", exist_ok=True)
    for step in (1, 2):
        filesystem.pipe(f"/ck/step-{step}.npz", make.npz(tmp_path / f"step-{step}.npz").read_bytes())
    yield _Moody
    _Moody.store.clear()
    _Moody.fails_ls, _Moody.fails_open = False, ""


def test_the_newest_in_a_store(moody: type[_Moody]) -> None:
    """A store is read like a folder, and the answer is a URL."""
    choice = find_newest("moody://ck", deadline_s=30)
    assert choice.chosen is not None
    assert choice.chosen.step == 2
    assert choice.chosen.path.startswith("moody://")


def test_a_cut_object_is_passed_over(moody: type[_Moody], tmp_path: Path) -> None:
    """The same checks as for files."""
    moody().pipe("/ck/step-3.npz", make.cut(make.npz(tmp_path / "x.npz")).read_bytes())
    choice = find_newest("moody://ck", deadline_s=30)
    assert choice.chosen is not None
    assert choice.chosen.step == 2


def test_a_throttled_listing_is_not_none(moody: type[_Moody]) -> None:
    """A store that refuses to list has not said that there is nothing."""
    moody.fails_ls = True
    choice = find_newest("moody://ck", deadline_s=30)
    assert choice.chosen is None
    assert not choice.is_trustworthy
    assert "SlowDown" in choice.why


def test_a_newest_that_cannot_be_read_spoils_the_trust(moody: type[_Moody]) -> None:
    """An older one is offered, but marked: the newer one may be whole."""
    moody.fails_open = "step-2"
    choice = find_newest("moody://ck", deadline_s=30)
    assert choice.chosen is not None
    assert choice.chosen.step == 1
    assert not choice.is_trustworthy
    assert choice.passed_over[0].verdict == "unreadable"


def test_an_unknown_scheme_says_what_to_do() -> None:
    """A URL that nobody here can read is not an absence; the message names the remedy or the schemes known."""
    choice = find_newest("nosuch://bucket/ck", deadline_s=30)
    assert not choice.is_trustworthy
    assert "nosuch" in choice.why


def test_a_local_path_needs_no_fsspec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain paths and file:// URLs do not even import it."""
    make.npz(tmp_path / "step-1.npz")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert find_newest(f"file://{tmp_path}", deadline_s=30).chosen is not None
    assert store_of(str(tmp_path))[1] == str(tmp_path)
