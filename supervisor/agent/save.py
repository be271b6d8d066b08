"""Asks ranks to save by a signal, where their user has said that they answer to one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from supervisor.agent.processes import Process
from supervisor.model.ids import AttemptNo


def asked(processes: Sequence[Process], *, attempt: AttemptNo, ranks: Collection[int]) -> list[Process]:
    """Who is signalled: ranks by the pids of their beats; where none is among the processes, the first of each task.

    Not all of a task's processes: a helper of a framework that does not know the signal would die of it.
    """
    mine = [process for process in processes if process.attempt == attempt]
    beating = [process for process in mine if process.pid in ranks]
    tasks = {process.pid for process in mine if process.is_task}
    return beating or [process for process in mine if process.pid in tasks and process.parent not in tasks]


@dataclass(slots=True)
class Asked:
    """Who was signalled already: the question is repeated, and a second signal may mean something else."""

    _told: set[tuple[int, int]] = field(default_factory=set)

    def anew(self, processes: Sequence[Process]) -> list[Process]:
        """Those that have not been signalled yet; from now on they have."""
        new = [process for process in processes if (process.pid, process.started) not in self._told]
        self._told.update((process.pid, process.started) for process in new)
        return new
