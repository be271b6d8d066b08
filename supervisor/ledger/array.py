"""The tasks of an array by its index list, `0-15:4,20%2`. Pure."""

import re
from typing import Final

_PART: Final = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def tasks_of(array: str) -> tuple[range, ...]:
    """The task numbers, as sbatch reads `--array`; empty where it cannot be read."""
    parts = [_PART.fullmatch(part) for part in array.partition("%")[0].split(",")]
    if any(part is None for part in parts):
        return ()
    return tuple(range(int(one[1]), int(one[2] or one[1]) + 1, int(one[3] or 1) or 1) for one in parts if one)


def count_tasks(array: str) -> int:
    """How many tasks the array has; 0: not known."""
    return sum(len(part) for part in tasks_of(array))


def has_task(array: str, task: int) -> bool:
    """Whether the array has this task; an index list that cannot be read has every one."""
    parts = tasks_of(array)
    return not parts or any(task in part for part in parts)
