"""Slurm's accounting on the login node: slurmdbd, and a MariaDB of the testbed's own that nobody else can reach."""

import os
import pwd
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from testbed import conf, processes, slurm, spaces, users
from testbed.errors import TestbedError
from testbed.layout import Layout
from testbed.spec import Spec

ACCOUNT = "research"
_OWNER = "slurm"
_INSTALL_S = 120.0
_READY_S = 60.0
_POLL_S = 0.05
# A few megabytes do for some thousand jobs; nothing of it is worth waiting for a disk.
_SMALL = (
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-lock-wait-timeout=900",  # slurmdbd complains below that
    "--aria-pagecache-buffer-size=1M",
    "--key-buffer-size=1M",
    "--max-connections=30",
    "--performance-schema=OFF",
    "--skip-networking",
)


def start(spec: Spec, layout: Layout, login_holder: int) -> None:
    """Start database and slurmdbd on the login node and register cluster, account and users; returns when that holds.

    Raises TestbedError with the last words of what does not start.
    """
    _start_database(layout, login_holder)
    _start_slurmdbd(spec, layout, login_holder)
    _register(spec, layout)


def _register(spec: Spec, layout: Layout) -> None:
    for words in _registrations(spec):
        done = slurm.ask(layout, ["sacctmgr", "--immediate", "--quiet", *words])
        if done.returncode:
            raise TestbedError(f"sacctmgr {' '.join(words)} failed: {(done.stderr or done.stdout).strip()}")


def _registrations(spec: Spec) -> Sequence[Sequence[str]]:
    names = ",".join(users.ensure())
    return (
        ("add", "cluster", spec.name),
        ("add", "account", ACCOUNT, f"Cluster={spec.name}"),
        ("add", "user", names, f"Account={ACCOUNT}", f"Cluster={spec.name}"),
    )


def _socket_of(layout: Layout) -> Path:
    return layout.database / "socket"


def _start_database(layout: Layout, login_holder: int) -> None:
    owner = pwd.getpwnam(_OWNER)
    files = layout.database / "files"
    for folder in (layout.database, files):
        folder.mkdir(mode=0o700)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    place = ("--no-defaults", f"--datadir={files}", f"--user={_OWNER}")
    _lay_out([*place, "--auth-root-authentication-method=socket", "--skip-test-db", "--skip-name-resolve", *_SMALL])
    _begin(layout, login_holder, "mariadbd", ["mariadbd", *place, f"--socket={_socket_of(layout)}", *_SMALL])
    _wait(layout, "mariadbd", lambda: _answers(socket.AF_UNIX, str(_socket_of(layout))))


def _lay_out(options: Sequence[str]) -> None:
    argv = ["mariadb-install-db", *options]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_INSTALL_S
    )
    if done.returncode:
        raise TestbedError(f"mariadb-install-db failed: {(done.stderr or done.stdout).strip()[-400:]}")


def _start_slurmdbd(spec: Spec, layout: Layout, login_holder: int) -> None:
    file = layout.etc / "slurmdbd.conf"
    file.touch(mode=0o600)  # slurmdbd refuses one that others can read
    file.write_text(conf.slurmdbd_conf(spec, layout))
    # slurmdbd has no setting for the socket; the client library takes it from here.
    surroundings = [f"SLURM_CONF={layout.slurm_conf}", f"MYSQL_UNIX_PORT={_socket_of(layout)}"]
    _begin(layout, login_holder, "slurmdbd", ["env", *surroundings, "slurmdbd", "-D"])
    _wait(layout, "slurmdbd", lambda: _answers(socket.AF_INET, (spec.login_address, spec.accounting_port)))


def _begin(layout: Layout, login_holder: int, name: str, argv: Sequence[str]) -> None:
    enter = partial(spaces.enter, login_holder, "mnt", "uts")
    processes.remember(layout, name, spaces.start(enter, argv, layout.logs / f"{name}.out"))


def _answers(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    with socket.socket(family) as sock, suppress(OSError):
        sock.settimeout(5)
        sock.connect(address)
        return True
    return False


def _wait(layout: Layout, name: str, is_ready: Callable[[], bool]) -> None:
    until = time.monotonic() + _READY_S
    while not is_ready():
        if processes.recall(layout, name) is None or time.monotonic() > until:
            raise TestbedError(f"{name} does not answer; its last words:\n{slurm.last_words(layout, name)}")
        time.sleep(_POLL_S)
