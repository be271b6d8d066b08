"""Linux calls that Python 3.11 lacks: namespaces, mounts and the addresses of an interface."""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

NEW_MOUNT = 0x00020000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000

NO_SUID = 0x2
NO_DEV = 0x4
NO_EXEC = 0x8
BIND = 0x1000
RECURSIVE = 0x4000
SLAVE = 0x80000

_DETACH = 0x2
_SET_ADDRESS, _SET_NETMASK, _GET_FLAGS, _SET_FLAGS = 0x8916, 0x891C, 0x8913, 0x8914
_UP = 0x1
_REQUEST = "16s24s"  # struct ifreq: the interface's name, then a union

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Give this process new namespaces (NEW_PID takes effect for its next child)."""
    _checked(_libc.unshare(flags), f"unshare({flags:#x})")


def join(descriptor: int) -> None:
    """Enter the namespace that `descriptor` (an open /proc/PID/ns/… file) stands for."""
    _checked(_libc.setns(descriptor, 0), "setns")


def mount(source: str | Path, target: str | Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount; raises OSError naming the target."""
    arguments = (os.fsencode(source), os.fsencode(target), kind.encode(), flags, options.encode())
    _checked(_libc.mount(*arguments[:3], ctypes.c_ulong(flags), arguments[4]), f"mount {source} on {target}")


def make_root(folder: str | Path) -> None:
    """Make `folder`, a mount point, the root of this mount namespace and let go of the old root."""
    os.chdir(folder)
    _checked(_libc.pivot_root(b".", b"."), f"pivot_root {folder}")
    _checked(_libc.umount2(b".", _DETACH), "umount of the old root")
    os.chdir("/")


def bring_up(interface: str, address: str, prefix_length: int) -> None:
    """Give an interface of this network namespace its IPv4 address and switch it on."""
    netmask = socket.inet_ntoa(struct.pack("!I", 0xFFFFFFFF << (32 - prefix_length) & 0xFFFFFFFF))
    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SET_ADDRESS, struct.pack(_REQUEST, name, _inet(address)))
        fcntl.ioctl(sock, _SET_NETMASK, struct.pack(_REQUEST, name, _inet(netmask)))
        answer = fcntl.ioctl(sock, _GET_FLAGS, struct.pack(_REQUEST, name, b""))
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(sock, _SET_FLAGS, struct.pack("16sH22x", name, flags | _UP))


def _inet(address: str) -> bytes:
    return struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(address))
