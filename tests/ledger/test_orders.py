"""Orders in the run folder: written whole, read by the supervisor only if they are its owner's."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from supervisor.ledger.orders import FOLDER, read_orders, remove_order, withdraw_order, write_order
from supervisor.model.ids import NodeName
from supervisor.model.order import PersonOrder


@pytest.fixture
def others_run() -> Iterator[Path]:
    """The run folder of somebody else, where that somebody gets to it."""
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        run = Path(place) / "run"
        run.mkdir(mode=0o700)
        os.chown(run, 12345, 12345)
        yield run


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
    (tmp_path / FOLDER / "1-d.json").write_bytes(b" " * 2_000_000)
    assert [order.id for order in read_orders(tmp_path)] == ["1-a"]


def test_an_order_about_all_nodes_of_a_large_cluster_is_read(tmp_path: Path) -> None:
    """As many as can be ordered at once, with long names; more than can be read is refused when it is given."""
    names = tuple(NodeName(f"accelerated-rack{number // 64:03d}-node{number:05d}.cluster") for number in range(4096))
    large = msgspec.structs.replace(_order(), what="exclude", nodes=names)
    write_order(tmp_path, large)
    assert read_orders(tmp_path) == [large]
    with pytest.raises(OSError, match="at most"):
        write_order(tmp_path, msgspec.structs.replace(large, why="x" * 2_000_000))


def test_what_is_no_order_hides_none(tmp_path: Path) -> None:
    """Files of another version, say, which nobody takes away."""
    write_order(tmp_path, _order("9-z"))
    for number in range(40):
        (tmp_path / FOLDER / f"1-{number:02d}.json").write_bytes(b"{}")
    assert [order.id for order in read_orders(tmp_path)] == ["9-z"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write everywhere")
def test_root_writes_nowhere_that_the_owner_could_not(others_run: Path) -> None:
    """`orders` is a link of the owner's to a folder of root's; root is itself again after that."""
    secret = others_run.parent / "secret"
    secret.mkdir(mode=0o755)
    before = os.geteuid(), os.getegid(), os.getgroups()
    (others_run / FOLDER).symlink_to(secret)
    with pytest.raises(PermissionError):
        write_order(others_run, _order())
    assert list(secret.iterdir()) == []
    assert (os.geteuid(), os.getegid(), os.getgroups()) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_a_strangers_order_is_not_heard(tmp_path: Path) -> None:
    """Where the folder was opened by mistake, the owner of the file is what counts."""
    write_order(tmp_path, _order())
    os.chown(tmp_path / FOLDER / "1-a.json", 12345, 12345)
    assert read_orders(tmp_path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give orders to runs of others")
def test_an_order_of_root_is_the_owners(others_run: Path) -> None:
    """Who could not take it away again otherwise."""
    write_order(others_run, _order("2-b"))
    made = others_run / FOLDER, others_run / FOLDER / "2-b.json"
    assert [(one.stat().st_uid, one.stat().st_gid) for one in made] == [(12345, 12345)] * 2
    withdraw_order(others_run, "2-b")
    assert not made[1].exists()
