"""Which tasks an array has."""

import pytest

from supervisor.ledger.array import count_tasks, has_task


@pytest.mark.parametrize(
    ("array", "count", "members", "others"),
    [
        ("0-3", 4, (0, 3), (4,)),
        ("7", 1, (7,), (0, 6, 8)),
        ("1,5-9:2%3", 4, (1, 5, 7, 9), (2, 6, 8, 11)),
        ("0-4000000", 4_000_001, (4_000_000,), (4_000_001,)),
    ],
)
def test_an_index_list_is_read_as_sbatch_reads_it(
    array: str, count: int, members: tuple[int, ...], others: tuple[int, ...]
) -> None:
    """Ranges, steps, lists and the limit of tasks at a time."""
    assert count_tasks(array) == count
    assert all(has_task(array, task) for task in members)
    assert not any(has_task(array, task) for task in others)


def test_an_index_list_that_cannot_be_read_forbids_nothing() -> None:
    """Whoever asks for a task of it is not refused."""
    assert (count_tasks("a-b"), has_task("a-b", 3)) == (0, True)
