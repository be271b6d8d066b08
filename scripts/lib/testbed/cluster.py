"""Bringing a testbed up and down, and the faults one can do to it."""

import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from functools import partial
from pathlib import Path
from stat import S_IFCHR

from testbed import accounting, cgroups, conf, kernel, login, munge, network, processes, releases, slurm, spaces, users
from testbed.errors import NotUp, TestbedError
from testbed.layout import STATE, Layout
from testbed.spec import PREFIX_LENGTH, Spec, complaints

_CONTROLLER_S = 60.0
_IDLE_S = 120.0
_NULL_MAJOR, _NULL_MINOR = 1, 3  # answers every open(), which is all that a pretended GPU needs
_GPU_MAJOR = 195
_POLL_S = 0.02


def load(name: str) -> tuple[Spec, Layout]:
    """The spec and layout of a testbed that is up; raises NotUp."""
    layout = Layout(name)
    try:
        return Spec.from_json(layout.spec.read_text()), layout
    except FileNotFoundError:
        raise NotUp(name) from None


def _hear_signals() -> None:
    """Undo what a start in the background (`&` in a script, nohup) ignores: slurmd would hand it on to every job."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def up(wish: Spec) -> Spec:
    """Bring a testbed up and return when all its nodes are idle; what is left of an earlier one goes first."""
    if wrong := complaints(wish):
        raise TestbedError("; ".join(wrong))
    if lost := [path for path in wish.binds if not Path(path).exists()]:
        raise TestbedError(f"--bind {lost[0]}: there is no such file or folder")
    if wish.profile == "cgroup":
        cgroups.check()
    _hear_signals()
    release = releases.ready(wish.release, accounting=wish.accounting)
    spec = _claimed(wish)
    layout = Layout(spec.name)
    _write_files(spec, layout, release)
    _start(spec, layout, release)
    slurm.wait_idle(spec, layout, spec.node_names, _IDLE_S)
    return spec


@contextmanager
def _everybody_waits() -> Iterator[None]:
    STATE.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(STATE, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _claimed(wish: Spec) -> Spec:
    """The wish with an index of its own, noted on disk before anything else of the testbed exists."""
    with _everybody_waits():
        _remove(wish.name)
        fields = {field: getattr(wish, field) for field in Spec.__dataclass_fields__}
        spec = Spec(**{**fields, "index": network.free_index({other.index for other in _all_specs()})})
        layout = Layout(spec.name)
        layout.state.mkdir()
        layout.spec.write_text(spec.to_json())
        munge.ensure()
        users.make_homes(layout, users.ensure())
        network.add_bridge(spec)
        if spec.profile == "cgroup":
            cgroups.make(spec.name)
    return spec


def _all_specs() -> list[Spec]:
    found = []
    for file in STATE.glob("*/testbed.json"):
        with suppress(FileNotFoundError):
            found.append(Spec.from_json(file.read_text()))
    return found


def _write_files(spec: Spec, layout: Layout, release: releases.Release) -> None:
    for folder in (layout.etc, layout.logs, layout.devices, layout.pids, layout.spool, layout.root_mount):
        folder.mkdir()
    for daemon in ("slurmctld", *spec.node_names):
        (layout.spool / daemon).mkdir()
    root = release.root or Path("/")
    known = users.ensure()
    texts: Mapping[str, str] = {
        "slurm.conf": conf.slurm_conf(spec, layout),
        "gres.conf": conf.gres_conf(spec, layout),
        "cgroup.conf": conf.cgroup_conf(spec, release.version),
        "hosts": conf.hosts(spec, Path("/etc/hosts").read_text()),
        "passwd": conf.passwd(known, layout, (root / "etc/passwd").read_text()),
        "group": conf.group(known, (root / "etc/group").read_text()),
    }
    for name, text in texts.items():
        (layout.etc / name).write_text(text)
    for number in range(spec.gpus):
        device = layout.devices / f"nvidia{number}"
        os.mknod(device, 0o666 | S_IFCHR, _device_number(spec, number))
        device.chmod(0o666)


def _device_number(spec: Spec, gpu: int) -> int:
    # Where devices are really denied, /dev/null must not be among them: every rank needs it.
    if spec.profile == "cgroup":
        return os.makedev(_GPU_MAJOR, gpu)
    return os.makedev(_NULL_MAJOR, _NULL_MINOR)


def _start(spec: Spec, layout: Layout, release: releases.Release) -> None:
    view = login.view_of(spec, layout, release.root)
    holder = spaces.hold(partial(login.furnish, view, layout), layout.logs / "login.out")
    processes.remember(layout, "login", holder)
    if spec.accounting:
        accounting.start(spec, layout, holder)
    controller = spaces.start(
        partial(spaces.enter, holder, "mnt", "uts"),
        ["slurmctld", "-D", "-f", str(layout.slurm_conf)],
        layout.logs / "slurmctld.out",
    )
    processes.remember(layout, "slurmctld", controller)
    holders = {node: _hold_network(layout, holder, node) for node in spec.node_names}
    network.add_cables(spec, holders)
    _wait_for_controller(spec, layout)
    for node in spec.node_names:
        _start_node(spec, layout, node)


def _hold_network(layout: Layout, login_holder: int, node: str) -> int:
    pid = spaces.hold(partial(_new_network, login_holder), layout.logs / f"{node}.out")
    processes.remember(layout, f"{node}.network", pid)
    return pid


def _new_network(login_holder: int) -> None:
    spaces.enter(login_holder, "mnt", "uts")
    kernel.unshare(kernel.NEW_NET)


def _wait_for_controller(spec: Spec, layout: Layout) -> None:
    until = time.monotonic() + _CONTROLLER_S
    while True:
        with suppress(OSError), socket.create_connection((spec.login_address, spec.controller_port), timeout=5):
            return
        if processes.recall(layout, "slurmctld") is None or time.monotonic() > until:
            raise TestbedError(f"slurmctld does not answer; its last words:\n{slurm.last_words(layout, 'slurmctld')}")
        time.sleep(_POLL_S)


def _start_node(spec: Spec, layout: Layout, node: str) -> None:
    space = spaces.NodeSpace(
        name=node,
        address=spec.address(node),
        prefix_length=PREFIX_LENGTH,
        shared=login.view_of(spec, layout, None).shared,
    )
    pid = spaces.start_node(
        partial(spaces.enter, needed(layout, f"{node}.network").pid, "net", "mnt"),
        space,
        ["slurmd", "-D", "-N", node, "-f", str(layout.slurm_conf)],
        layout.logs / f"{node}.out",
    )
    processes.remember(layout, node, pid)


def needed(layout: Layout, what: str) -> processes.Process:
    """The living process noted under `what`; raises TestbedError saying how to go on."""
    found = processes.recall(layout, what)
    if found is None:
        raise TestbedError(
            f"{what} of testbed {layout.name!r} is not running; start it again with `scripts/testbed revive NODE`"
            f" (a node) or `scripts/testbed up --name {layout.name}` (the whole testbed)"
        )
    return found


def down(name: str) -> None:
    """Take a testbed away, whole: processes, namespaces, interfaces, state. Fine when there is none."""
    with _everybody_waits():
        _remove(name)
        if not _all_specs():
            munge.release()


def _remove(name: str) -> None:
    layout = Layout(name)
    processes.kill_all_of(layout)
    cgroups.remove(name)
    with suppress(NotUp):
        network.remove(load(name)[0].index)
    if layout.state.exists():
        shutil.rmtree(layout.state)


def kill_node(name: str, node: str) -> None:
    """SIGKILL every process of a node at once; its network stays, as if only the processes had died."""
    spec, layout = load(name)
    spec.number(node)
    found = processes.recall(layout, node)
    if found is not None:
        found.kill()


def set_cable(name: str, node: str, *, plugged: bool) -> None:
    """Plug or unplug the network cable of a node, whose processes live on."""
    spec, _ = load(name)
    network.set_cable(spec, node, plugged=plugged)


def revive(name: str, node: str) -> None:
    """Boot a node again (killing what still runs on it), cable plugged, and wait until it serves Slurm."""
    spec, layout = load(name)
    kill_node(name, node)
    network.set_cable(spec, node, plugged=True)
    started_at = time.time()
    _start_node(spec, layout, node)
    slurm.wait_back(layout, node, started_at, _IDLE_S)
