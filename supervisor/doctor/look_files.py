"""The files and folders of ours on this host, with owner and mode; nothing is opened."""

import os
import pwd
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from supervisor.doctor.security import FileSeen
from supervisor.hooks import placed
from supervisor.hooks.settings import DEFAULT_PATH
from supervisor.hooks.trust import complaint
from supervisor.ledger.run_folder import base_folder
from supervisor.settings_resolve import SITE_FILE


def look_files(workdir: Path, env: Mapping[str, str], ledger: str) -> tuple[FileSeen, ...]:
    """Code, settings, run folders, index, ledger."""
    home = env.get("HOME", "/nonexistent")
    config = env.get("SUPERVISE_CONFIG") or f"{env.get('XDG_CONFIG_HOME') or f'{home}/.config'}/supervise/config.toml"
    index = f"{env.get('XDG_STATE_HOME') or f'{home}/.local/state'}/supervise/runs.jsonl"
    named = [
        ("code", str(Path(__file__).parents[1])),
        ("Python", sys.executable),
        ("site's settings", str(SITE_FILE)),
        ("your settings", config),
        ("signatures", "/etc/supervise/packs.d"),
        ("run folders", str(base_folder(workdir, env))),
        ("index of runs", index),
    ]
    found = [_seen(what, path, os.geteuid()) for what, path in named]
    if ledger:  # open to all on purpose: sticky folders, files of their writers
        found.append(_seen("ledger", ledger, None))
    return tuple(found)


def look_root() -> tuple[FileSeen, ...]:
    """What slurmd and systemd start as root, as far as it is installed here."""
    started = {os.path.realpath(path): str(path) for path in (*placed.hooks(), *placed.units())}
    found = [_seen("started by root", path, 0) for path in started.values()]
    if Path(DEFAULT_PATH).exists():
        found.append(_seen("settings of the hooks", DEFAULT_PATH, 0))
    return tuple(found)


def _seen(what: str, path: str, owner: int | None) -> FileSeen:
    """`owner` beside root may write it; None: it is not asked who may."""
    try:
        found = Path(path).stat()
    except OSError:
        return FileSeen(what=what, path=path)
    return FileSeen(
        what=what,
        path=path,
        mode=stat.S_IMODE(found.st_mode),
        owner=_name(found.st_uid),
        distrust="" if owner is None else complaint(os.path.realpath(path), owner=owner),
    )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
