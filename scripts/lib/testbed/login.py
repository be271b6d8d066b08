"""The login node: the host's network and processes, but the testbed's own names, users and release."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import cgroups, kernel, spaces
from testbed.layout import REPOSITORY, Layout
from testbed.spec import LOGIN, Spec

_ACCOUNT_FILES = ("hosts", "passwd", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Which root the testbed lives in and which host folders are seen in it at the same path."""

    root: Path | None  # None: the host's own
    shared: tuple[str, ...]
    own_cgroups: bool


def view_of(spec: Spec, layout: Layout, root: Path | None) -> View:
    """The view of a testbed whose release lives in `root`."""
    binds: list[str] = []
    for path in (str(REPOSITORY), *spec.binds, str(layout.state)):
        if path not in binds:
            binds.append(path)
    return View(root=root, shared=tuple(binds), own_cgroups=spec.profile == "cgroup")


def furnish(view: View, layout: Layout) -> None:
    """Give this process the login node's namespaces and mounts; everything made goes away with its last process."""
    kernel.unshare(kernel.NEW_MOUNT | kernel.NEW_UTS)
    socket.sethostname(LOGIN)
    kernel.mount("none", "/", flags=kernel.SLAVE | kernel.RECURSIVE)
    if view.root is not None:
        _change_root(view.root, view.shared, layout)
    if view.own_cgroups:
        cgroups.show_only_own(layout.name)
    for name in _ACCOUNT_FILES:
        kernel.mount(layout.etc / name, f"/etc/{name}", flags=kernel.BIND)


def _change_root(root: Path, shared: Sequence[str], layout: Layout) -> None:
    place = layout.root_mount
    kernel.mount(root, place, flags=kernel.BIND)
    for path in ("/proc", "/sys", "/dev"):
        kernel.mount(path, f"{place}{path}", flags=kernel.BIND | kernel.RECURSIVE)
    for path in ("/tmp", "/run/munge", *shared):  # noqa: S108 - the login node shares the host's
        target = Path(f"{place}{path}")
        spaces.make_place(Path(path), target)
        kernel.mount(path, target, flags=kernel.BIND)
    resolver = Path(f"{place}/etc/resolv.conf")
    if resolver.is_file() and Path("/etc/resolv.conf").exists():
        kernel.mount("/etc/resolv.conf", resolver, flags=kernel.BIND)
    kernel.make_root(place)
    os.umask(0o022)
