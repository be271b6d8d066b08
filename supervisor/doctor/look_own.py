"""This installation, its settings and what they name: brokers, checkpoints, the ledger, hooks on this host."""

import os
import stat
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from supervisor.bus.broker_kinds import find_kinds
from supervisor.doctor.mounts import mount_of
from supervisor.doctor.place import LedgerSeen, Own
from supervisor.errors import BrokerFailed, UsageError
from supervisor.hooks.bounded import gather
from supervisor.ledger.site.names import cluster_folder, month_of
from supervisor.model.base import encode
from supervisor.settings import Settings
from supervisor.settings_resolve import Resolved, from_environment, from_files, from_options, resolve
from supervisor.version import VERSION

HOOKS: Final = ("/etc/slurm/prolog.d/50-supervise", "/etc/slurm/epilog.d/50-supervise", "/etc/slurm/healthcheck")
"""Where docs/hooks.md puts them."""
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
        ledger=_ledger(settings.ledger, cluster),
        hooks=tuple(name for name in HOOKS if _is_ours(Path(name))),
    )


def _brokers() -> tuple[str, ...]:
    try:
        return find_kinds()
    except BrokerFailed:
        return ()


def _ledger(root: str, cluster: str) -> LedgerSeen | None:
    """Within its deadline, though the filesystem hang."""
    if not root:
        return None
    answer = gather({"ledger": lambda: encode(_looked(Path(root), cluster))}, deadline_s=_LEDGER_S)["ledger"]
    if answer.value is None:
        return LedgerSeen(path=root, complaint=answer.complaint)
    return msgspec.json.decode(answer.value, type=LedgerSeen)


def _looked(root: Path, cluster: str) -> LedgerSeen:
    month = root / cluster_folder(cluster) / month_of(time.time()) if cluster else root
    for folder in (root, month):
        if not folder.is_dir():
            return LedgerSeen(path=str(root), complaint=f"there is no folder {folder}")
    mode = month.stat().st_mode
    if cluster and not os.access(month, os.W_OK | os.X_OK):
        return LedgerSeen(path=str(root), complaint=f"{month} may not be written by you")
    if cluster and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return LedgerSeen(path=str(root), complaint=f"{month} is not sticky: anybody could remove your files")
    return LedgerSeen(path=str(root))


def _is_ours(path: Path) -> bool:
    try:
        return b"supervise" in path.read_bytes()[:4096]
    except OSError:
        return False
