"""Runs tests on the newest Python, that of Debian's forky, in the root that the testbed has for that release."""

import hashlib
import os
import sys
from pathlib import Path

from product.venv import CHECKOUT
from testbed import releases
from testbed.errors import TestbedError

from checks import run

_RELEASE = "forky"
_CACHE = Path("/var/cache/supervise-newest")
_ROOM = Path(__file__).with_name("newest.sh")
_BUILD_S = 900


def tests(arguments: list[str], *, deadline_s: float) -> int:
    """Run pytest with these arguments; 0 when all pass, and where this machine cannot have the other root."""
    if os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        print(
            "skipped: tests on the newest Python need root on Debian, for a root folder of their own", file=sys.stderr
        )
        return 0
    try:
        root = releases.ready(_RELEASE).root
    except TestbedError as exc:
        print(f"no tests on the newest Python: {exc}", file=sys.stderr)
        return 1
    if root is None:
        print(f"skipped: this machine is {_RELEASE} and all tests run on its Python", file=sys.stderr)
        return 0
    return _build(root) or run.call([*_enter(root), "test", *arguments], deadline_s=deadline_s)


def _enter(root: Path) -> list[str]:
    namespaces = ["unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child"]
    return [*namespaces, "sh", str(_ROOM), str(root), str(_CACHE), str(CHECKOUT)]


def _build(root: Path) -> int:
    """Make the virtual environment where it is not that of this `pyproject.toml`; 0 when it is there."""
    wanted = hashlib.sha256((CHECKOUT / "pyproject.toml").read_bytes() + _ROOM.read_bytes()).hexdigest()
    stamp = _CACHE / "stamp"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return 0
    _CACHE.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    failed = run.call([*_enter(root), "build"], deadline_s=_BUILD_S)
    if not failed:
        stamp.write_text(wanted, encoding="utf-8")
    return failed
