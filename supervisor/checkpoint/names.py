"""What the name of a file or folder says about the checkpoint it holds."""

import re
from typing import Final

# The first that matches counts: `epoch=3-step=1200.ckpt` is step 1200.
_STEP: Final = (
    re.compile(r"(?:^|[^a-z])(?:global[-_]?)?step[-_=.]?(\d{1,15})(?!\d)"),
    re.compile(r"(?:^|[^a-z])iter(?:ation)?[-_=.]?(\d{1,15})(?!\d)"),
    re.compile(r"(?:^|[^a-z])(?:checkpoint|ckpt)[-_=.]?(\d{1,15})(?!\d)"),
    re.compile(r"^(\d{1,15})(?:\.[a-z]\w{0,15})?$"),
)
_UNFINISHED: Final = re.compile(
    r"(?:^(?:tmp|temp)[-_.]|[-_.](?:tmp|temp|partial|part|incomplete|writing|lock)(?:[-_.]|$)|~$|^\.)"
)
_ASIDE: Final = re.compile(r"\.(?:json|ya?ml|txt|log|md|csv|png|md5|sha\d+|lock|done|out|err)$")
"""Files that stand beside checkpoints and are none."""


def step_of(name: str) -> int | None:
    """The step that a name tells, None for a name that tells none."""
    lower = name.lower()
    for pattern in _STEP:
        if match := pattern.search(lower):
            return int(match[1])
    return None


def is_unfinished(name: str) -> bool:
    """The name says that somebody was writing: `.tmp`, `tmp-checkpoint-240`, a hidden file."""
    return bool(_UNFINISHED.search(name.lower()))


def is_aside(name: str) -> bool:
    """A file that describes a checkpoint but holds none: `step-100.json`, `step-100.pt.sha256`."""
    return bool(_ASIDE.search(name.lower()))
