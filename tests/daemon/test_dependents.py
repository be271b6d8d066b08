"""Jobs that wait for this one: found, and moved to the successor, as far as Slurm lets us."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from supervisor.daemon.hands import dependents as hand
from supervisor.daemon.world import World
from supervisor.errors import SlurmFailed, SlurmTimeout
from supervisor.model.ids import JobId
from supervisor.settings import Settings
from supervisor.slurm.dependents import Waiting

_UID = os.getuid()


def _waits(job: str, dependency: str, *, uid: int = _UID) -> Waiting:
    return Waiting(job_id=JobId(job), uid=uid, dependency=dependency)


class _Slurm:
    """A queue, and what it was told."""

    def __init__(self, *waiting: Waiting, refuses: tuple[str, ...] = (), fails: Exception | None = None) -> None:
        self.queue = waiting
        self.refuses = refuses
        self.fails = fails
        self.told: list[tuple[str, str]] = []

    async def waiting(self, **_: object) -> tuple[Waiting, ...]:
        if self.fails:
            raise self.fails
        return self.queue

    async def depend(self, jobs: Sequence[JobId], dependency: str, **_: object) -> None:
        self.told.append((",".join(jobs), dependency))
        if dependency in self.refuses:
            raise SlurmFailed("Access/permission denied")


def _world(folder: Path, slurm: _Slurm) -> World:
    around = SimpleNamespace(job_id="7", raw_job_id="7")
    return cast("World", SimpleNamespace(folder=folder, slurm=slurm, settings=Settings(), around=around))


async def test_those_that_wait_are_told_together_to_wait_for_the_successor(tmp_path: Path) -> None:
    """One call for each kind of wish; the successor itself may wait for us and stays as it is."""
    slurm = _Slurm(
        _waits("2", "afterok:7"), _waits("3", "afterok:7"), _waits("4", "afterany:7"), _waits("8", "afterany:7")
    )
    assert await hand.follow(_world(tmp_path, slurm), JobId("8")) == (("4", "2", "3"), ())
    assert slurm.told == [("4", "afterany:8"), ("2,3", "afterok:8")]


async def test_one_that_slurm_does_not_move_is_told(tmp_path: Path) -> None:
    """The others are moved all the same."""
    slurm = _Slurm(_waits("2", "afterok:7"), _waits("4", "afterany:7"), refuses=("afterany:8",))
    assert await hand.follow(_world(tmp_path, slurm), JobId("8")) == (("2",), ("4",))


@pytest.mark.parametrize(
    ("slurm", "holds"),
    [
        (_Slurm(), ""),
        (_Slurm(_waits("2", "afterok:7")), ""),
        (_Slurm(_waits("2", "afterok:7", uid=_UID + 1)), "job 2 (another user's) waits"),
        (_Slurm(_waits("2", "afterok:7"), refuses=("afterok:7",)), "permission denied"),
        (_Slurm(fails=SlurmTimeout("no answer")), ""),
    ],
    ids=["nobody", "our own", "another user's", "Slurm refuses", "no answer"],
)
async def test_who_cannot_be_moved_is_known_before_anything_is_sent(tmp_path: Path, slurm: _Slurm, holds: str) -> None:
    """Slurm is asked by telling one of them what it waits for already."""
    assert holds in await hand.who_holds(_world(tmp_path, slurm))
    assert bool(holds) is bool(await hand.who_holds(_world(tmp_path, slurm)))
    assert all(dependency == "afterok:7" for _, dependency in slurm.told)


async def test_a_queue_that_gives_no_answer_costs_no_successor(tmp_path: Path) -> None:
    """It is submitted already: nothing is said of those that nobody knows."""
    slurm = _Slurm(fails=SlurmTimeout("no answer"))
    assert await hand.follow(_world(tmp_path, slurm), JobId("8")) == ((), ())
