"""The host's munged serves every testbed: started when none runs, and if it was ours, stopped with the last one."""

import contextlib
import json
import os
import pwd
import signal
import socket
import subprocess
import time
from pathlib import Path

from testbed.errors import TestbedError
from testbed.layout import STATE
from testbed.processes import Process, process, send, wait_until_gone

_SOCKET = "/run/munge/munge.socket.2"
_PID_FILE = Path("/run/munge/munged.pid")
_KEY = Path("/etc/munge/munge.key")
_NOTE = STATE / ".munged.json"
_KEY_BYTES = 128
_READY_S = 30.0
_STOP_S = 10.0
_USER = "munge"


def ensure() -> None:
    """Return when munged answers; raises TestbedError with its own words when it cannot be started."""
    if _answers():
        return
    _prepare_folders()
    done = subprocess.run(
        ["munged", "--force"],
        user=_USER,
        group=_USER,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=_READY_S,
        start_new_session=True,
    )
    until = time.monotonic() + _READY_S
    while not _answers():
        if done.returncode or time.monotonic() > until:
            raise TestbedError(
                f"munged does not start: {done.stderr.strip()[-400:] or 'see /var/log/munge/munged.log'}"
            )
        time.sleep(0.02)
    ours = process(int(_PID_FILE.read_text()))
    _NOTE.write_text(json.dumps({"pid": ours.pid, "start": ours.start}))


def release() -> None:
    """Stop munged when we started it (called when no testbed is left)."""
    try:
        noted = json.loads(_NOTE.read_text())
    except FileNotFoundError:
        return
    ours = Process(noted["pid"], noted["start"])
    if ours.is_alive:
        send(ours.pid, signal.SIGTERM)
        wait_until_gone([ours], _STOP_S)
    _NOTE.unlink()


def _answers() -> bool:
    with socket.socket(socket.AF_UNIX) as sock, contextlib.suppress(OSError):
        sock.settimeout(5)
        sock.connect(_SOCKET)
        return True
    return False


def _prepare_folders() -> None:
    owner = pwd.getpwnam(_USER)
    for folder, mode in (("/run/munge", 0o755), ("/var/log/munge", 0o700), ("/var/lib/munge", 0o711)):
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder).chmod(mode)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    if not _KEY.exists():
        _KEY.touch(mode=0o600)
        _KEY.write_bytes(os.urandom(_KEY_BYTES))
        os.chown(_KEY, owner.pw_uid, owner.pw_gid)
