"""The batch script's own process tree on this machine: frozen while its tasks end, then ended itself."""

import signal
from collections.abc import Iterable
from contextlib import suppress

import psutil

from supervisor.daemon.until import until

_LAUNCHERS = frozenset(
    {"srun", "mpirun", "mpirun.openmpi", "mpiexec", "mpiexec.openmpi", "mpiexec.hydra", "orterun", "prterun"}
)
"""Launchers stay awake: they must see their tasks end, or Slurm keeps their step's resources."""


class ScriptTree:
    """The script and all its descendants as they are now; without a living script an empty tree."""

    def __init__(self, pid: int) -> None:
        self._root = pid
        self._frozen: list[psutil.Process] = []

    def freeze(self) -> None:
        """Stop everything but launchers, parents first, until nothing new appears."""
        known: set[int] = set()
        while new := [process for process in self._living() if process.pid not in known]:
            for process in new:
                known.add(process.pid)
                if _name(process) not in _LAUNCHERS:
                    self._frozen.append(process)
                    _signal(process, signal.SIGSTOP)

    def thaw_and_terminate(self) -> None:
        """TERM for all, then let the frozen ones go on so that they receive it.

        Launchers are killed: their tasks are gone, and an srun whose node died would wait for it for seven seconds.
        """
        for process in self._living():
            _signal(process, signal.SIGKILL if _name(process) in _LAUNCHERS else signal.SIGTERM)
        for process in self._frozen:
            _signal(process, signal.SIGCONT)

    async def launchers_gone(self, deadline_s: float) -> None:
        """Wait until no launcher lives; gives up quietly at the deadline."""
        await until(lambda: not any(_name(each) in _LAUNCHERS for each in self._living()), deadline_s=deadline_s)

    async def end(self, grace_s: float) -> None:
        """Wait for the grace, then KILL whatever is left."""
        await until(lambda: not self._living(), deadline_s=grace_s)
        for process in self._living():
            _signal(process, signal.SIGKILL)

    def _living(self) -> list[psutil.Process]:
        if not self._root:
            return []
        try:
            root = psutil.Process(self._root)
            tree = [root, *root.children(recursive=True)]
        except psutil.Error:
            tree = []
        return [process for process in _unique([*tree, *self._frozen]) if _is_alive(process)]


def _unique(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    return list({process.pid: process for process in processes}.values())


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return str(process.name())
    return ""


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    # psutil compares the start time first: a pid that was given to another process is left alone.
    with suppress(psutil.Error):
        process.send_signal(number)
