"""Takes away what tests left behind that were killed: testbeds and small disks named by the pid of a dead process."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from testbed import cluster, processes
from testbed.layout import STATE

DISKS = Path("/var/tmp")  # noqa: S108 - shared by login and nodes, as /tmp is not
DISK = "supervise-e2e-"
# Three digits at least: a testbed of somebody's own may well be called t1.
_BED = re.compile(r"(?:e2e-|kept-|hooks-|doctor-|shim-|sub|t)(\d{3,})(?:-.+)?")
_DISK = re.compile(rf"{DISK}(\d+)-.+")


def clear() -> None:
    """Do it, and say on stderr what has gone; nothing where this is not root."""
    if os.geteuid() != 0:
        return
    for state in _of_the_dead(STATE, _BED):
        print(f"taking away the testbed {state.name} of tests that were killed", file=sys.stderr)
        cluster.down(state.name)
    for disk in _of_the_dead(DISKS, _DISK):
        print(f"taking away the disk {disk} of tests that were killed", file=sys.stderr)
        if disk.is_mount():
            subprocess.run(["umount", "-l", disk], check=True)
        disk.rmdir()


def _of_the_dead(folder: Path, named: re.Pattern[str]) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        found = named.fullmatch(path.name)
        # Anybody may write in one of the folders: what is not root's is not of tests.
        if found and _is_roots(path) and not processes.process(int(found[1])).is_alive:
            yield path


def _is_roots(path: Path) -> bool:
    return path.lstat().st_uid == 0
