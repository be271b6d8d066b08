"""Jobs that wait for the end of this one, and what they must wait for once another job goes on with the run. Pure.

A job that hands over ends with 1: `afterok` would never be satisfied, `afternotok` and `afterany` would start in the
midst of the run, and the next of a `singleton` chain beside the successor. Each of them means the end of the run, so
each is told to wait for the successor instead. `after` means the begin, which has been: it stays.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

from supervisor.errors import PayloadRefused
from supervisor.model.base import Fact
from supervisor.model.ids import JobId

_OF_THE_END: Final = frozenset({"afterok", "afternotok", "afterany", "aftercorr"})
_SINGLETON: Final = "singleton"
_COLUMNS: Final = 4
_ATOM: Final = re.compile(r"([a-z]+)((?::[^:()]+)*)(?:\(([a-z ]*)\))?")
"""`afterok:17(unfulfilled)`, `aftercorr:17_*(unfulfilled)`, `after:17+5(unfulfilled)`, `singleton(unfulfilled)`."""


class Waiting(Fact, frozen=True, kw_only=True):
    """A job in the queue that waits for another one."""

    job_id: JobId
    """Of an array the array's own: its tasks wait together."""
    uid: int
    dependency: str
    """As squeue shows it."""
    name: str = ""


class Own(Fact, frozen=True, kw_only=True):
    """The job whose end is waited for."""

    job_id: JobId
    """`17`, or `17_3` for a task of an array."""
    raw_job_id: JobId
    uid: int
    name: str

    @property
    def is_task(self) -> bool:
        """Others wait for the whole array, which no successor of one task stands for."""
        return "_" in self.job_id


class Dependents(Fact, frozen=True, kw_only=True):
    """Who waits for the end of one job."""

    movable: dict[JobId, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """What each waits for, as `scontrol update` takes it."""
    others: tuple[str, ...] = ()
    """Those that cannot be told to wait for another job: `40`, or `40 (another user's)`."""


def parse_waiting(text: str) -> tuple[Waiting, ...]:
    """The rows `id|uid|dependency|name` of squeue that wait for something. Raises `PayloadRefused`."""
    found: dict[JobId, Waiting] = {}
    for line in text.splitlines():
        columns = line.split("|", _COLUMNS - 1)
        if len(columns) != _COLUMNS or not columns[1].isdigit():
            raise PayloadRefused(f"squeue answers what is no row of the queue: {line[:120]!r}")
        job, uid, dependency, name = columns
        if dependency not in {"", "(null)"}:
            found[JobId(job)] = Waiting(job_id=JobId(job), uid=int(uid), dependency=dependency, name=name)
    return tuple(found.values())


def dependents(waiting: Iterable[Waiting], own: Own, *, run: Collection[JobId] = ()) -> Dependents:
    """Who of them waits for the end of our job. `run`: jobs of this very run, which do not count."""
    movable: dict[JobId, str] = {}
    others: list[str] = []
    for one in waiting:
        if one.job_id in run or not _waits_for(one, own):
            continue
        if one.uid != own.uid:
            others.append(f"{one.job_id} (another user's)")
        elif own.is_task or ("?" in one.dependency and _SINGLETON in one.dependency):
            others.append(one.job_id)
        else:
            movable[one.job_id] = _plain(one.dependency)
    return Dependents(movable=movable, others=tuple(others))


def moved(dependency: str, job: JobId, successor: JobId) -> str:
    """The dependency with the successor in place of the job. One by name alone waits for the successor as well."""
    atoms = [_with(kind, jobs, job, successor) for kind, jobs, _ in _atoms(dependency)]
    if any(kind == _SINGLETON for kind, *_ in _atoms(dependency)):
        atoms.append(f"afterany:{successor}")
    return ("?" if "?" in dependency else ",").join(dict.fromkeys(atoms))


def _waits_for(one: Waiting, own: Own) -> bool:
    """Not one that waits in vain for something else: nobody can change that by moving it."""
    atoms = _atoms(one.dependency)
    if "?" not in one.dependency and any(state == "failed" for *_, state in atoms):
        return False
    return any(
        (kind in _OF_THE_END and any(_is_meant(job, own) for job in jobs))
        or (kind == _SINGLETON and (one.uid, one.name) == (own.uid, own.name))
        for kind, jobs, _ in atoms
    )


def _is_meant(job: str, own: Own) -> bool:
    array, _, _ = own.job_id.partition("_")
    base, _, task = job.partition("_")
    is_all = not task or not task.isdigit()
    return job in {own.job_id, own.raw_job_id} or (own.is_task and base == array and is_all)


def _with(kind: str, jobs: tuple[str, ...], job: JobId, successor: JobId) -> str:
    told = [successor if kind in _OF_THE_END and each == job else each for each in jobs]
    return ":".join([kind, *told])


def _plain(dependency: str) -> str:
    """As squeue shows it, without what only squeue adds."""
    return ("?" if "?" in dependency else ",").join(":".join([kind, *jobs]) for kind, jobs, _ in _atoms(dependency))


def _atoms(dependency: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Kind, jobs and state of each part. A whole array stands as `17_*` and is named `17`."""
    matches = [_ATOM.fullmatch(part) for part in re.split(r"[,?]", dependency)]
    return [
        (match[1], tuple(job.removesuffix("_*") for job in match[2].split(":")[1:]), match[3] or "")
        for match in matches
        if match
    ]
