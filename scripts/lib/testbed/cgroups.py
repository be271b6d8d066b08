"""The control groups of the cgroup profile: a subtree per testbed, which its nodes see as the whole tree."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from testbed import kernel
from testbed.errors import TestbedError

_TREE = Path("/sys/fs/cgroup")
CONTROLLERS: Final = ("memory", "devices", "freezer", "cpuacct")
_REMOVE_S = 20.0
_POLL_S = 0.05


def missing(mounts: str) -> Sequence[str]:
    """The controllers that Slurm needs and that no version 1 hierarchy in this mount table (/proc/mounts) has."""
    there: set[str] = set()
    for line in mounts.splitlines():
        _, _, kind, options, *_ = line.split()
        if kind == "cgroup":
            there.update(options.split(","))
    return [name for name in CONTROLLERS if name not in there]


def check() -> None:
    """Raise TestbedError, saying what is missing, where the cgroup profile cannot work."""
    if lacking := missing(Path("/proc/mounts").read_text()):
        raise TestbedError(
            f"--profile cgroup needs version 1 cgroups, and this kernel has none for {', '.join(lacking)}: boot it "
            "with systemd.unified_cgroup_hierarchy=0, or use --profile plain"
        )


def _subtrees(name: str) -> list[Path]:
    found = {(_TREE / controller).resolve() / f"supervise-testbed-{name}" for controller in CONTROLLERS}
    return sorted(found)


def make(name: str) -> None:
    """Make the testbed's subtree in every hierarchy."""
    for subtree in _subtrees(name):
        subtree.mkdir(exist_ok=True)


def show_only_own(name: str) -> None:
    """Let this mount namespace see the testbed's subtree as the whole of each hierarchy.

    Node names repeat from testbed to testbed, and Slurm names its groups after the node.
    """
    for subtree in _subtrees(name):
        kernel.mount(subtree, subtree.parent, flags=kernel.BIND)


def remove(name: str) -> None:
    """Delete the testbed's subtrees, once their last process is dead; fine when there are none."""
    until = time.monotonic() + _REMOVE_S
    for subtree in _subtrees(name):
        while subtree.exists():
            if time.monotonic() > until:
                raise TestbedError(f"cannot delete the cgroup {subtree}: see its cgroup.procs for who is in it")
            _remove_groups(subtree)


def _remove_groups(subtree: Path) -> None:
    for folder, _, _ in os.walk(subtree, topdown=False):
        with suppress(OSError):  # busy until the kernel is done with its last process: tried again
            Path(folder).rmdir()
    if subtree.exists():
        time.sleep(_POLL_S)
