"""Faults: what is done to the job or its world, and which class its verdict must have."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from chaos.arena import Arena

_RANK = ("train.py",)
_UNPLUGGED_S = 20.0
_FROZEN_S = 3.0
_CTLD_S = 12.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault."""

    name: str
    classes: frozenset[str]
    """Classes that its verdict may have; empty: it must interrupt nothing."""
    inject: Callable[[Arena], bool]
    """Do it; False: it was not possible at this moment."""


@dataclass(frozen=True, slots=True)
class Done:
    """One fault that was injected."""

    at: float
    kind: Kind


def _dies(arena: Arena) -> bool:
    """Power is gone: nobody is told of it."""
    node = arena.victim()
    if node is None:
        return False
    arena.suspects.add(node)
    arena.bed.unplug(node)
    arena.bed.kill_node(node)
    return True


def _unplugged(arena: Arena) -> bool:
    """The cable is pulled, and comes back."""
    node = arena.victim()
    if node is None:
        return False
    arena.suspects.add(node)
    arena.bed.unplug(node)
    arena.after(_UNPLUGGED_S, lambda: arena.bed.plug(node))
    return True


def _torn(arena: Arena) -> bool:
    """The newest checkpoint is cut in half, and then a rank dies: the one before must be chosen."""
    found = sorted((arena.folder / "checkpoints").glob("step-*.npz"))
    if len(found) < 2:  # noqa: PLR2004  # one to go back to
        return False
    with suppress(OSError):
        os.truncate(found[-1], found[-1].stat().st_size // 2)
    return arena.signal(signal.SIGKILL, *_RANK)


def _killed(*words: str, number: signal.Signals = signal.SIGKILL) -> Callable[[Arena], bool]:
    return lambda arena: arena.signal(number, *words)


def _frozen(seconds: float, *words: str) -> Callable[[Arena], bool]:
    return lambda arena: arena.freeze(seconds, *words)


_NOTHING: frozenset[str] = frozenset()
KINDS = (
    Kind("node dies", frozenset({"hardware"}), _dies),
    Kind("node is unplugged", frozenset({"hardware", "network"}), _unplugged),
    Kind("rank is killed", frozenset({"unknown"}), _killed(*_RANK)),
    Kind("rank crashes", frozenset({"software"}), _killed(*_RANK, number=signal.SIGSEGV)),
    Kind("checkpoint is torn", frozenset({"unknown"}), _torn),
    Kind("rank is frozen", _NOTHING, _frozen(_FROZEN_S, *_RANK)),
    Kind("supervisor is killed", _NOTHING, _killed("supervisor.daemon")),
    Kind("broker is killed", _NOTHING, _killed("mosquitto")),
    Kind("agent is killed", _NOTHING, _killed("agent-")),
    Kind("slurmctld is frozen", _NOTHING, _frozen(_CTLD_S, "slurmctld")),
)


def inject(arena: Arena, kind: Kind) -> Done | None:
    """Do it now; None: it was not possible."""
    at = time.time()
    return Done(at, kind) if kind.inject(arena) else None
