"""Orders of persons to a running job: small files in `orders/` of the run folder, which the supervisor carries out.

Who may write there may order: the run's owner, and root.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from supervisor.ledger.whole_file import replace_file
from supervisor.model.base import encode
from supervisor.model.order import PersonOrder

FOLDER: Final = "orders"
_LARGEST: Final = 1_048_576
"""Thousands of nodes with long names."""
_AT_ONCE: Final = 16
"""Orders that are read in one look: more are no person's doing."""
_LOOKED_AT: Final = 256
"""Files, so that what is no order keeps none from being found."""


def write_order(folder: Path, order: PersonOrder) -> None:
    """Lay the order down for the supervisor, as the run's owner. Raises `OSError`."""
    data = encode(order) + b"\n"
    if len(data) > _LARGEST:
        raise OSError(errno.EFBIG, f"the order has {len(data)} bytes, at most {_LARGEST} are read")
    with _as_owner(folder):
        replace_file(folder / FOLDER / f"{order.id}.json", data)


def withdraw_order(folder: Path, number: str) -> None:
    """Take back what was laid down and nobody has read, as the run's owner. Raises `OSError`."""
    with _as_owner(folder):
        remove_order(folder, number)


@contextmanager
def _as_owner(folder: Path) -> Iterator[None]:
    """Root writes with the owner's rights alone: `orders` could be the owner's link to a place that only root may use.

    It is also what a file server that does not heed root demands. Only for a process of one thread.
    """
    owner = folder.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        yield
        return
    group, groups = os.getegid(), os.getgroups()
    try:
        os.setgroups([])
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def read_orders(folder: Path) -> list[PersonOrder]:
    """The orders that wait, oldest first. What is no order is left out. Raises `OSError` where nothing can be said."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder / FOLDER) if entry.name.endswith(".json"))
    except FileNotFoundError:
        return []
    read = (_read(folder / FOLDER / name) for name in names[:_LOOKED_AT])
    found = islice((order for order in read if order is not None), _AT_ONCE)
    return sorted(found, key=lambda order: (order.at, order.id))


def remove_order(folder: Path, number: str) -> None:
    """The order is carried out. Raises `OSError`."""
    (folder / FOLDER / f"{number}.json").unlink(missing_ok=True)


def _read(path: Path) -> PersonOrder | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid not in {0, os.geteuid()} or seen.st_size > _LARGEST:
            return None
        order = msgspec.json.decode(os.read(descriptor, _LARGEST), type=PersonOrder)
    except (OSError, msgspec.MsgspecError):
        return None
    finally:
        os.close(descriptor)
    return order if f"{order.id}.json" == path.name else None
