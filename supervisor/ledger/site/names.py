"""How folders and files of the site's ledger are called."""

import hashlib
import os
import re
from datetime import UTC, datetime
from typing import Final

from supervisor.model.ids import JobId, RunId

PSEUDONYM_KEY: Final = ".pseudonyms"
"""The key file, in the ledger's folder."""
NODES: Final = ".nodes"
"""What root knows of nodes, in the ledger's folder."""
ENDING: Final = ".jsonl"
_MONTH: Final = re.compile(r"(?:19[7-9]|2\d\d)\d-(?:0[1-9]|1[0-2])", re.ASCII)
"""From the epoch on, and while a year has four digits: others are no times."""
_SECOND_NAME: Final = re.compile(r"(?:\.[1-9])?\.jsonl", re.ASCII)
_DRAFT: Final = re.compile(r"\.[\w.-]+\.draft-[0-9a-f]{16}", re.ASCII)
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST: Final = 64
_RUN_DIGITS: Final = 12


def run_key(run: RunId) -> str:
    """What stands for the run: its id begins with the job's name, which nobody else need know."""
    return hashlib.sha256(run.encode(errors="surrogateescape")).hexdigest()[:_RUN_DIGITS]


def cluster_folder(cluster: str) -> str:
    """The folder of a cluster: never a path, never hidden, never a month, never nothing."""
    name = _FOREIGN.sub("_", cluster)[:_LONGEST].lstrip(".")
    return f"_{name}" if not name or is_month(name) else name


def file_name(job: JobId, run: str) -> str:
    """The file of one job."""
    return f"{_FOREIGN.sub('_', job)[:_LONGEST].lstrip('.') or '_'}-{run}{ENDING}"


def is_file_of(name: str, job: JobId, run: str) -> bool:
    """Whether this is the file of that job, or the one that it took where somebody else's has its name."""
    if name == f"{job}-{run}{ENDING}":
        return True
    own = file_name(job, run).removesuffix(ENDING)
    return name.startswith(own) and _SECOND_NAME.fullmatch(name, len(own)) is not None


def month_of(at: float) -> str:
    """`2026-11`, in UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m}"


def month_after(month: str) -> str:
    """The next one."""
    year, number = int(month[:4]), int(month[5:])
    return f"{year + 1}-01" if number == 12 else f"{year}-{number + 1:02d}"  # noqa: PLR2004  # December


def months_before(month: str, count: int) -> str:
    """The month that was `count` months earlier."""
    total = int(month[:4]) * 12 + int(month[5:]) - 1 - count
    return f"{total // 12:04d}-{total % 12 + 1:02d}"


def draft_name(name: str) -> str:
    """How a file is called while it is written: hidden, and nobody can have laid something there before."""
    return f".{name.lstrip('.')}.draft-{os.urandom(8).hex()}"


def is_draft(name: str) -> bool:
    """It is called so."""
    return _DRAFT.fullmatch(name) is not None


def is_month(name: str) -> bool:
    """It is called like a folder of a month."""
    return _MONTH.fullmatch(name) is not None
