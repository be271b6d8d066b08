"""This host as /proc, /sys and the C library tell. Reads a few small files; starts nothing."""

import os
import platform
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from supervisor.doctor.place import Machine

_PTRACE: Final = Path("/proc/sys/kernel/yama/ptrace_scope")
_SHM: Final = "/dev/shm"  # noqa: S108  # its size is asked, nothing is written
_CGROUPS: Final = Path("/sys/fs/cgroup")


def look_machine() -> Machine:
    """The host that this runs on."""
    library, version = platform.libc_ver()
    return Machine(
        host=socket.gethostname().partition(".")[0],
        python=(sys.version_info[0], sys.version_info[1], sys.version_info[2]),
        glibc=version if library == "glibc" else "",
        arch=platform.machine(),
        ptrace_scope=_ptrace_scope(),
        shm_bytes=_shm_bytes(),
        cgroup=_cgroup(),
        is_root=os.geteuid() == 0,
    )


def _ptrace_scope() -> int | None:
    with suppress(OSError, ValueError):
        return int(_PTRACE.read_text(encoding="ascii"))
    return None


def _shm_bytes() -> int | None:
    with suppress(OSError):
        if os.access(_SHM, os.W_OK):
            found = os.statvfs(_SHM)
            return found.f_blocks * found.f_frsize
    return None


def _cgroup() -> str:
    if (_CGROUPS / "cgroup.controllers").exists():
        return "v2"
    if (_CGROUPS / "unified" / "cgroup.controllers").exists():
        return "hybrid"
    return "v1" if (_CGROUPS / "memory").exists() else ""
