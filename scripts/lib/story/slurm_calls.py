"""What slurmctld has been asked, as it counts itself."""

import re
from typing import Final

from testbed.api import Testbed

_BY_USER: Final = re.compile(r"^\s*(\S+)\s*\(\s*\d+\s*\)\s*count:(\d+)", re.MULTILINE)
_OF_SLURM: Final = frozenset({"root", "slurm"})


class NotCounted(Exception):
    """sdiag told nothing of users."""


def of_users(bed: Testbed) -> int:
    """All calls of ordinary users since slurmctld began to count."""
    told = bed.run(["sdiag"], user="root").stdout
    _, _, by_user = told.partition("statistics by user")
    counts = [(name, int(count)) for name, count in _BY_USER.findall(by_user)]
    if not counts:
        raise NotCounted(told)
    return sum(count for name, count in counts if name not in _OF_SLURM)
