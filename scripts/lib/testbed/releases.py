"""The Debian releases a testbed can run: the host's own, or another one in a root of its own."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final

from testbed.conf import Version
from testbed.errors import TestbedError
from testbed.layout import CACHE

# The Debian package of each program we call.
_NEEDED: Final = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "srun": "slurm-client",
    "munged": "munge",
    "ip": "iproute2",
    "useradd": "passwd",
}
# MariaDB's server without its service: a package with one would start it.
_NEEDED_FOR_ACCOUNTING: Final = {
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "my_print_defaults": "mariadb-client-core",
}
_IN_ROOT = "slurmctld,slurmd,slurm-client,munge,python3,python3-venv,iproute2,procps"
_MIRROR = "http://deb.debian.org/debian"
# debootstrap has no script for releases younger than itself; the one for sid fits every new one.
_SCRIPT = "/usr/share/debootstrap/scripts/sid"
_DEBOOTSTRAP_S = 1800
_TRIES = 3
_VERSION = re.compile(r"(\d+)\.(\d+)\.\d+")


@dataclass(frozen=True, slots=True)
class Release:
    """Where a release lives (None: it is the host's own) and which Slurm it has."""

    root: Path | None
    version: Version


def ready(release: str, *, accounting: bool = False) -> Release:
    """The release, installed; the first use of one takes a minute. Raises TestbedError when that fails."""
    _install(_NEEDED | _NEEDED_FOR_ACCOUNTING if accounting else _NEEDED)
    if release in ("native", _host_release()):
        return Release(None, _slurm_version([]))
    root = _root(release)
    return Release(root, _slurm_version(["chroot", str(root)]))


def _host_release() -> str:
    lines = Path("/etc/os-release").read_text().splitlines()
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("VERSION_CODENAME=")), "")


def _install(needed: dict[str, str]) -> None:
    packages = [package for program, package in needed.items() if shutil.which(program) is None]
    if not packages:
        return
    from product.packages import CannotInstall, install  # only a fresh machine needs it

    try:
        install(packages)
    except CannotInstall as exc:
        raise TestbedError(str(exc)) from exc


def _root(release: str) -> Path:
    """The cached root of `release`, made once; another process that makes it at this moment is waited for."""
    root = CACHE / release
    CACHE.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(CACHE, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        if not root.exists():
            _install({"debootstrap": "debootstrap"})
            _bootstrap(release, CACHE / f"{release}.partial")
            (CACHE / f"{release}.partial").rename(root)
    finally:
        os.close(descriptor)
    return root


def _bootstrap(release: str, place: Path) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={_IN_ROOT}", release, str(place), _MIRROR, _SCRIPT]
    words = ""
    for _ in range(_TRIES):
        if place.exists():
            shutil.rmtree(place)
        done = _bootstrap_once(command)
        if done.returncode == 0:
            shutil.rmtree(place / "var/cache/apt/archives")
            return
        words = done.stdout[-400:]
    raise TestbedError(f"{' '.join(command)} failed {_TRIES} times; its last words: {words.strip()}")


def _bootstrap_once(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_DEBOOTSTRAP_S,
    )


def _slurm_version(prefix: Sequence[str]) -> Version:
    done = subprocess.run([*prefix, "slurmctld", "-V"], capture_output=True, text=True, check=False, timeout=60)
    found = _VERSION.search(done.stdout)
    if found is None:
        raise TestbedError(f"slurmctld -V answers {(done.stdout + done.stderr).strip()!r}")
    return int(found[1]), int(found[2])
