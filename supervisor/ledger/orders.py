"""Orders of persons to a running job: small files in `orders/` of the run folder, which the supervisor carries out.

Who may write there may order: the run's owner, and root.
"""

import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from supervisor.ledger.whole_file import replace_file
from supervisor.model.base import encode
from supervisor.model.order import PersonOrder

FOLDER: Final = "orders"
_LARGEST: Final = 65_536
_AT_ONCE: Final = 16
"""Orders that are read in one look: more are no person's doing."""


def write_order(folder: Path, order: PersonOrder) -> None:
    """Lay the order down for the supervisor, as the run's owner. Raises `OSError`."""
    place = folder / FOLDER
    path = place / f"{order.id}.json"
    replace_file(path, encode(order) + b"\n")
    if os.geteuid() == 0:
        owner = folder.stat()
        for made in (place, path):
            os.chown(made, owner.st_uid, owner.st_gid, follow_symlinks=False)


def read_orders(folder: Path) -> list[PersonOrder]:
    """The orders that wait, oldest first. What is no order is left out. Raises `OSError` where nothing can be said."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder / FOLDER) if entry.name.endswith(".json"))
    except FileNotFoundError:
        return []
    found = [order for name in names[:_AT_ONCE] if (order := _read(folder / FOLDER / name)) is not None]
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
