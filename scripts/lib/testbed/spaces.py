"""Starting programs in the namespaces of the login node and of the compute nodes."""

import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import kernel
from testbed.errors import TestbedError

_PROC_FLAGS = kernel.NO_SUID | kernel.NO_DEV | kernel.NO_EXEC
_SHM_FLAGS = kernel.NO_SUID | kernel.NO_DEV
_FOREVER = ("sleep", "infinity")
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DAEMON_ENVIRONMENT = {"PATH": ROOT_PATH, "LC_ALL": "C.UTF-8", "HOME": "/root"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpace:
    """What a compute node's own view of the machine needs."""

    name: str
    address: str
    prefix_length: int
    shared: tuple[str, ...]  # folders that stay visible although they lie under the private /tmp


def enter(pid: int, *kinds: str) -> None:
    """Join the namespaces of process `pid` of these kinds (the names in /proc/PID/ns)."""
    # All are opened before one is entered: afterwards /proc may show other processes.
    doors = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
    for door in doors:
        kernel.join(door)
        os.close(door)


def become(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    """Replace this process, with the signal dispositions every program expects; raises OSError."""
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(argv[0], list(argv), dict(environment))  # noqa: S606 - no shell is wanted


def make_place(source: Path, target: Path) -> None:
    """Make the folder or file that `source` can be mounted on."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()


def start(prepare: Callable[[], None], argv: Sequence[str], log: Path) -> int:
    """Pid of a new background process that ran `prepare` and became `argv`; its output goes to `log`."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(lambda: _prepared(prepare, argv), writer, log)
    os.close(writer)
    _raise_complaint(_all_from(reader), argv)
    return pid


def _prepared(prepare: Callable[[], None], argv: Sequence[str]) -> None:
    prepare()
    become(argv, _DAEMON_ENVIRONMENT)


def hold(prepare: Callable[[], None], log: Path) -> int:
    """Pid of a process that only keeps the namespaces alive which `prepare` entered or made."""
    return start(prepare, _FOREVER, log)


def start_node(prepare: Callable[[], None], space: NodeSpace, argv: Sequence[str], log: Path) -> int:
    """Pid of a node's first process, below which `argv` runs: SIGKILL to it ends every process of the node.

    `prepare` enters the network and the mounts that the node starts from.
    """
    reader, writer = os.pipe()
    outer = os.fork()
    if outer == 0:
        _child(lambda: _outer(prepare, space, argv, writer), writer, log)
    os.close(writer)
    words = _all_from(reader)
    os.waitpid(outer, 0)
    _raise_complaint(words, argv)
    return int(words)


def _outer(prepare: Callable[[], None], space: NodeSpace, argv: Sequence[str], writer: int) -> None:
    prepare()
    kernel.unshare(kernel.NEW_MOUNT | kernel.NEW_UTS | kernel.NEW_IPC | kernel.NEW_PID)
    first = os.fork()
    if first:
        os.write(writer, str(first).encode())
        os._exit(0)
    _furnish(space)
    if os.fork() == 0:
        become(argv, _DAEMON_ENVIRONMENT)
    # With SIGCHLD ignored the kernel reaps every orphan of the node, so that the first process can be a mere sleep.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    become(_FOREVER, _DAEMON_ENVIRONMENT)


def _furnish(space: NodeSpace) -> None:
    socket.sethostname(space.name)
    kernel.bring_up("lo", "127.0.0.1", 8)
    kernel.bring_up("eth0", space.address, space.prefix_length)
    kernel.mount("none", "/", flags=kernel.SLAVE | kernel.RECURSIVE)
    kept = {path: os.open(path, os.O_PATH) for path in space.shared if path.startswith("/tmp/")}  # noqa: S108 - is meant
    kernel.mount("tmpfs", "/tmp", "tmpfs", _SHM_FLAGS, "mode=1777")  # noqa: S108 - the node's own
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", _SHM_FLAGS, "mode=1777")  # noqa: S108 - the node's own
    for path, descriptor in kept.items():
        source = Path(f"/proc/self/fd/{descriptor}")
        make_place(source, Path(path))
        kernel.mount(source, path, flags=kernel.BIND)
        os.close(descriptor)
    kernel.mount("proc", "/proc", "proc", _PROC_FLAGS)


def _child(work: Callable[[], None], writer: int, log: Path) -> None:
    """Run `work`, which ends by becoming another program; what goes wrong is told through `writer`."""
    try:
        os.setsid()
        os.umask(0o022)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open("/dev/null", os.O_RDONLY)
        for descriptor, source in enumerate((nothing, output, output)):
            os.dup2(source, descriptor)
        os.chdir("/")
        work()
    except OSError as exc:
        os.write(writer, f"!{exc}".encode())
    finally:
        os._exit(1)


def _all_from(reader: int) -> str:
    with os.fdopen(reader) as stream:
        return stream.read()


def _raise_complaint(words: str, argv: Sequence[str]) -> None:
    if "!" in words:
        raise TestbedError(f"cannot start {argv[0]}: {words.partition('!')[2]}")
