"""Lustre without `-o flock` answers ENOSYS: what lies on shared filesystems is claimed by link() and rename()."""

import re
from pathlib import Path
from typing import Final

import supervisor

_PACKAGE: Final = Path(supervisor.__file__).parent
_LOCK: Final = re.compile(r"\b(?:flock|lockf)\(")
_MAY: Final = {
    _PACKAGE / "doctor" / "try_folder.py",  # tells the user whether others could
    _PACKAGE / "hooks" / "spool.py",  # on the node's own disk
}


def test_nobody_locks() -> None:
    assert {path for path in _PACKAGE.rglob("*.py") if _LOCK.search(path.read_text(encoding="utf-8"))} == _MAY
