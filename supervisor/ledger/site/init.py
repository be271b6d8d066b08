"""A ledger made from nothing, or made right: its folder, its key, the folders of clusters and of their first months."""

import grp
import os
from collections.abc import Iterable
from pathlib import Path

from supervisor.errors import UsageError
from supervisor.ledger.site.make import make_folder, make_root
from supervisor.ledger.site.names import NODES, cluster_folder, month_after, month_of
from supervisor.ledger.site.walk import opened_folder


def initialised(root: Path, clusters: Iterable[str], group: str, *, now: float, is_dry: bool) -> list[str]:
    """What was made, or would be. Raises `UsageError` where that cannot be."""
    gid = _group(group)
    months = [month_of(now), month_after(month_of(now))]
    inner = [
        f"{cluster_folder(name)}{month}" for name in clusters for month in ("", *(f"/{month}" for month in months))
    ]
    missing = [str(path) for path in (root, root / NODES, *(root / name for name in inner)) if not path.exists()]
    if is_dry:
        return missing
    try:
        make_root(root, gid)
        with opened_folder(str(root), None) as ledger:
            owner = os.fstat(ledger).st_uid
            for cluster in map(cluster_folder, clusters):
                make_folder(ledger, cluster, owner)
                with opened_folder(cluster, ledger) as folder:
                    for month in months:
                        make_folder(folder, month, owner)
    except OSError as exc:
        raise UsageError(f"{exc.filename or root} cannot be made: {exc.strerror}") from exc
    return missing


def _group(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid if name else -1
    except KeyError as exc:
        raise UsageError(f"--group {name}: there is no such group") from exc
