"""Lines and files of a ledger, as tests need them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.model.base import encode
from supervisor.model.ids import IncidentNo, JobId, NodeName
from supervisor.model.site import SiteIncident, SiteJob, SiteUse
from supervisor.model.verdict import Class

AT = 1_790_000_000.0
"""2026-09-21, in UTC."""
MONTH = "2026-09"
RUN = "4f0c2a9b7d11"
ALICE, BOB = 60_001, 60_002
"""Users without a name: their number is it."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes files of other users")


def job(number: int = 81234, **changes: Any) -> SiteJob:  # fields of SiteJob
    known = SiteJob(at=AT, cluster="c1", job=JobId(str(number)), run=RUN, nodes=(NodeName("n1"), NodeName("n2")))
    return msgspec.structs.replace(known, **changes)


def incident(number: int = 1, *, of: int = 81234, **changes: Any) -> SiteIncident:  # fields of SiteIncident
    known = SiteIncident(
        at=AT + 100,
        evidence_at=AT + 99,
        job=JobId(str(of)),
        run=RUN,
        incident=IncidentNo(number),
        cls=Class.HARDWARE,
        cause="gpu_fell_off_bus",
        confidence=0.9,
        nodes=(NodeName("n1"),),
        action="relaunch_on_spare",
    )
    return msgspec.structs.replace(known, **changes)


def use(held: float = 100.0, *, of: int = 81234, **changes: Any) -> SiteUse:  # fields of SiteUse
    known = SiteUse(at=AT + 200, job=JobId(str(of)), run=RUN, held_node_s=held, computing_node_s=held / 2)
    return msgspec.structs.replace(known, **changes)


def bytes_of(*lines: msgspec.Struct) -> bytes:
    return b"".join(encode(line) + b"\n" for line in lines)


def lay(root: Path, name: str, *lines: msgspec.Struct | bytes, owner: int | None = None) -> Path:
    """A file of the ledger, with its folders; `owner`: its user's number."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line if isinstance(line, bytes) else bytes_of(line) for line in lines))
    if owner is not None:
        os.chown(path, owner, -1)
    return path


def open_to_all(folder: Path) -> None:
    """Whoever is not root may enter a folder of pytest's."""
    for each in (folder, *list(folder.parents)[:4]):
        each.chmod(each.stat().st_mode | 0o055)


@contextmanager
def as_user(uid: int) -> Iterator[None]:
    """What is done here is done by this user, who is in no group but his own."""
    group, groups = os.getegid(), os.getgroups()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
