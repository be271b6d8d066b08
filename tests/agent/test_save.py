"""Who gets the signal that asks ranks to save."""

from supervisor.agent.processes import Process
from supervisor.agent.save import Asked, asked
from supervisor.model.ids import AttemptNo


def _process(pid: int, parent: int = 1, *, attempt: int = 2, is_task: bool = True) -> Process:
    return Process(pid=pid, started=100 + pid, attempt=AttemptNo(attempt), is_task=is_task, parent=parent)


_SCRIPT, _TASK, _RANK, _LOADER = _process(10, is_task=False), _process(20), _process(21, 20), _process(22, 21)
_ALL = (_SCRIPT, _TASK, _RANK, _LOADER, _process(30, attempt=1))


def test_ranks_that_beat_are_signalled_and_nobody_else() -> None:
    """A data loader that does not know the signal would die of it, and so would a launcher."""
    assert asked(_ALL, attempt=AttemptNo(2), ranks={21}) == [_RANK]
    assert asked(_ALL, attempt=AttemptNo(2), ranks={10}) == [_SCRIPT]


def test_without_beats_the_first_process_of_each_task_is() -> None:
    """What srun started; nothing of the batch script, nothing of an older attempt."""
    assert asked(_ALL, attempt=AttemptNo(2), ranks=()) == [_TASK]
    assert asked(_ALL, attempt=AttemptNo(2), ranks={4711}) == [_TASK]


def test_nobody_is_signalled_twice() -> None:
    """The question is repeated, since agents may be away; a process with the same number is another one."""
    told = Asked()
    assert told.anew([_RANK]) == [_RANK]
    assert told.anew([_RANK, _LOADER]) == [_LOADER]
    other = Process(pid=21, started=999, attempt=AttemptNo(2), is_task=True)
    assert told.anew([other]) == [other]
