"""Debian packages: asks dpkg what is missing, and apt for exactly that."""

import os
import shutil
import subprocess
import time

_TRIES = 4
_APT_S = 600


class CannotInstall(Exception):
    """apt could not install what is needed; the message says what to do."""


def missing(packages: list[str]) -> list[str]:
    """Those of the packages that dpkg does not know as installed."""
    asked = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    there = {line.split()[0] for line in asked.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in there]


def install(packages: list[str]) -> None:
    """Install what is missing; raises CannotInstall with the reason and the command to try."""
    wanted = missing(packages)
    if not wanted:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise CannotInstall(f"Debian packages are missing. As root: apt-get install {' '.join(wanted)}")
    words = ""
    for attempt in range(_TRIES):
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *wanted]):
            done = subprocess.run(
                ["apt-get", "-o", "DPkg::Lock::Timeout=300", *command],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_APT_S,
            )
            words = done.stderr.strip()[-400:]
        if not missing(wanted):
            return
        time.sleep(2 * (attempt + 1))
    raise CannotInstall(f"apt-get install {' '.join(wanted)} failed: {words}")
