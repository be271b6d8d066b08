"""The few facts that Slurm hands a hook in its environment; nothing else of the environment is looked at."""

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NUMBER: Final = re.compile(r"[0-9]{1,10}")
_NODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_GPUS: Final = re.compile(r"[0-9]{1,3}(?:-[0-9]{1,3})?(?:,[0-9]{1,3}(?:-[0-9]{1,3})?){0,63}")
_MOST_GPUS: Final = 64
_UNREADABLE: Final = re.compile(r"[^A-Za-z0-9 _.,:;=+@%/()\[\]<>'-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job on this node. `job_id` 0: none is told, or not in the form it must have."""

    node: str
    job_id: int = 0
    uid: int | None = None
    gpus: tuple[int, ...] | None = None
    """Numbers in /dev/nvidia<N>; None: Slurm does not say."""


def job_of(environment: Mapping[str, str]) -> Job:
    """The facts that have the form they must have."""
    return Job(
        node=_node(environment),
        job_id=_number(environment.get("SLURM_JOB_ID", "")) or 0,
        uid=_number(environment.get("SLURM_JOB_UID", "")),
        gpus=_gpus(environment.get("SLURM_JOB_GPUS", "")),
    )


def _node(environment: Mapping[str, str]) -> str:
    told = environment.get("SLURMD_NODENAME", "")
    short = socket.gethostname().partition(".")[0]
    return next((name for name in (told, short) if _NODE.fullmatch(name)), "unknown")


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def _gpus(text: str) -> tuple[int, ...] | None:
    if not _GPUS.fullmatch(text):
        return None
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found[:_MOST_GPUS])


def clean(text: str, most: int = 64) -> str:
    """Any text of a stranger in characters that are safe in a terminal, a table and a command, and not too long."""
    return _UNREADABLE.sub("?", text)[:most]
