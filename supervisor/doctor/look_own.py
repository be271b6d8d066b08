"""This installation, its settings and what they name: brokers, checkpoints, the ledger, hooks on this host."""

import os
import stat
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from supervisor.bus.broker_kinds import find_kinds
from supervisor.doctor.mounts import mount_of
from supervisor.doctor.place import LedgerSeen, Own
from supervisor.errors import BrokerFailed, UsageError
from supervisor.hooks import placed
from supervisor.hooks.bounded import gather
from supervisor.ledger.site.names import cluster_folder, month_of
from supervisor.ledger.site.users import read_key
from supervisor.model.base import encode
from supervisor.settings import Settings
from supervisor.settings_resolve import Resolved, from_environment, from_files, from_options, resolve
from supervisor.version import VERSION

_LEDGER_S: Final = 5.0


def look_own(options: Mapping[str, str], cluster: str, env: Mapping[str, str] = os.environ) -> Own:
    """Settings that cannot be used are a fact, too. `checkpoint_look` is left to whoever may wait for it."""
    complaint, resolved = "", Resolved(Settings(), {})
    try:
        resolved = resolve([*from_files(env), *from_environment(env), *from_options(options)])
    except UsageError as exc:
        complaint = str(exc)
    settings = resolved.settings
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    return Own(
        version=VERSION,
        prefix=sys.prefix,
        prefix_filesystem=mount_of(mounts, str(Path(sys.prefix).resolve())).filesystem,
        settings_complaint=complaint,
        origins=resolved.origin,
        brokers=_brokers(),
        transport=settings.transport,
        spares=settings.spares,
        checkpoint=settings.checkpoint,
        ledger=_ledger(settings, cluster),
        hooks=tuple(map(str, placed.hooks())),
    )


def _brokers() -> tuple[str, ...]:
    try:
        return find_kinds()
    except BrokerFailed:
        return ()


def _ledger(settings: Settings, cluster: str) -> LedgerSeen | None:
    """Within its deadline, though the filesystem hang."""
    root, is_by_key = settings.ledger, settings.ledger_users == "pseudonym"
    if not root:
        return None
    call = partial(_looked, Path(root), cluster, is_by_key=is_by_key)
    answer = gather({"ledger": lambda: encode(call())}, deadline_s=_LEDGER_S)["ledger"]
    if answer.value is None:
        return LedgerSeen(path=root, complaint=answer.complaint)
    return msgspec.json.decode(answer.value, type=LedgerSeen)


def _looked(root: Path, cluster: str, *, is_by_key: bool) -> LedgerSeen:
    month = root / cluster_folder(cluster) / month_of(time.time()) if cluster else root
    for folder in (root, month):
        if not folder.is_dir():
            return LedgerSeen(path=str(root), complaint=f"there is no folder {folder}")
    mode = month.stat().st_mode
    if cluster and not os.access(month, os.W_OK | os.X_OK):
        return LedgerSeen(path=str(root), complaint=f"{month} may not be written by you")
    if cluster and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return LedgerSeen(path=str(root), complaint=f"{month} is not sticky: anybody could remove your files")
    return LedgerSeen(path=str(root), is_nameless=is_by_key and not read_key(root))
