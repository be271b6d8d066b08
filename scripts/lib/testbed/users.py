"""The ordinary users of every testbed: jobs belong to them, for a job of root's hides every fault of permission."""

import os
import pwd
import subprocess
from collections.abc import Mapping

from testbed.errors import TestbedError
from testbed.layout import Layout

_WANTED = {"alice": 20001, "bob": 20002}


def ensure() -> Mapping[str, int]:
    """The users' ids by name; makes on the host those that are missing."""
    return {name: _ensured(name, uid) for name, uid in _WANTED.items()}


def _ensured(name: str, uid: int) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        home = Layout("default").home(name)
    done = subprocess.run(
        ["useradd", "-u", str(uid), "-U", "-M", "-d", str(home), "-s", "/bin/bash", name],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode:
        raise TestbedError(f"cannot make the user {name} (uid {uid}): {done.stderr.strip()}")
    return uid


def make_homes(layout: Layout, users: Mapping[str, int]) -> None:
    """Make each user's shared home folder."""
    layout.homes.mkdir(parents=True)
    for name, uid in users.items():
        layout.home(name).mkdir()
        os.chown(layout.home(name), uid, uid)
