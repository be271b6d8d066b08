"""Orders in the run folder: written whole, read by the supervisor only if they are its owner's."""

import os
from pathlib import Path

import pytest

from supervisor.ledger.orders import FOLDER, read_orders, remove_order, write_order
from supervisor.model.order import PersonOrder


def _order(number: str = "1-a", at: float = 1.0) -> PersonOrder:
    return PersonOrder(id=number, at=at, by="alice", what="halt", is_now=True)


def test_an_order_comes_through(tmp_path: Path) -> None:
    """Oldest first, until it is put away."""
    later, first = _order("2-b", 2.0), _order()
    write_order(tmp_path, later)
    write_order(tmp_path, first)
    assert read_orders(tmp_path) == [first, later]
    remove_order(tmp_path, "1-a")
    remove_order(tmp_path, "1-a")
    assert read_orders(tmp_path) == [later]


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    """Most runs never have one."""
    assert read_orders(tmp_path) == []


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"id":"other","at":1,"by":"x","what":"halt"}', b'{"id":"1-a","at":1,"what":"boil"}']
)
def test_what_is_no_order_is_left_out(tmp_path: Path, content: bytes) -> None:
    """A torn file, another id than its name, a word that nobody knows."""
    write_order(tmp_path, _order("2-b"))
    (tmp_path / FOLDER / "1-a.json").write_bytes(content)
    assert [order.id for order in read_orders(tmp_path)] == ["2-b"]


def test_links_and_odd_files_are_not_followed(tmp_path: Path) -> None:
    """A FIFO would hang the supervisor, a link could be anybody's file."""
    write_order(tmp_path, _order())
    (tmp_path / FOLDER / "1-b.json").symlink_to(tmp_path / FOLDER / "1-a.json")
    os.mkfifo(tmp_path / FOLDER / "1-c.json")
    (tmp_path / FOLDER / "1-d.json").write_bytes(b" " * 100_000)
    assert [order.id for order in read_orders(tmp_path)] == ["1-a"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_a_strangers_order_is_not_heard(tmp_path: Path) -> None:
    """Where the folder was opened by mistake, the owner of the file is what counts; root's is handed to the owner."""
    write_order(tmp_path, _order())
    stranger = tmp_path / FOLDER / "1-a.json"
    os.chown(stranger, 12345, 12345)
    assert read_orders(tmp_path) == []
    os.chown(tmp_path, 12345, 12345)
    write_order(tmp_path, _order("2-b"))
    assert (tmp_path / FOLDER / "2-b.json").stat().st_uid == 12345
