"""Jobs go on as soon as their record is complete, and come to the same as if all had waited."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import pytest

from supervisor.ledger.site.gather import Gatherer
from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.in_parts import fold_site
from supervisor.ledger.site.lines import SiteOwner
from supervisor.ledger.site.names import file_name
from supervisor.ledger.site.read import read_files, read_site
from supervisor.ledger.site.settled import Settled
from supervisor.ledger.site.walk import Problems, Window
from supervisor.model.ids import JobId
from supervisor.report.fleet.make import report
from supervisor.report.fleet.model import FleetReport
from supervisor.report.fleet.tally import Tally
from supervisor.report.fleet.window import Asked
from tests.ledger.site.made import AT, MONTH, bytes_of, incident, job, lay, use

_DAY_S = 86_400.0
_HERE = f"c1/{MONTH}"


@dataclass
class _Seen:
    """Sums that keep all they were given."""

    jobs: list[JobHistory] = field(default_factory=list)

    def add_all(self, histories: Iterable[JobHistory]) -> "_Seen":
        self.jobs += histories
        return self

    def merge(self, other: "_Seen") -> None:
        self.jobs += other.jobs


def _settled(root: Path) -> tuple[list[str], list[str], list[str]]:
    """Jobs that went on, that wait, that were met again."""
    problems = Problems()
    settled = Settled(Gatherer(b"", problems))
    for _ in read_files(root, Window(), settled, problems):
        pass
    return (
        [history.job.job for history in settled.take()],
        [number for _, number in settled.waiting.known()],
        [number for _, number in settled.again],
    )


def test_a_job_without_anything_open_goes_on_at_once(tmp_path: Path) -> None:
    """Others may still be closed by the job after them, or have lines elsewhere alone."""
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1), incident(of=1), incident(2, of=1, is_closed=True), use(of=1))
    lay(tmp_path, f"{_HERE}/2-a.jsonl", job(2), use(of=2))
    lay(tmp_path, f"{_HERE}/3-a.jsonl", job(3), incident(of=3, is_closed=True), incident(2, of=3))
    lay(tmp_path, f"{_HERE}/4-a.jsonl", incident(of=4, is_closed=True))
    gone, waiting, again = _settled(tmp_path)
    assert (sorted(gone), sorted(waiting), again) == (["1", "2"], ["3", "4"], [])


def test_a_job_that_went_on_too_early_is_known(tmp_path: Path) -> None:
    """Its lines lie in two files; who waits already is not let go by the second."""
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1))
    lay(tmp_path, "c1/1-a.jsonl", job(1))
    lay(tmp_path, f"{_HERE}/2-a.jsonl", job(2), incident(of=2))
    lay(tmp_path, "c1/2-a.jsonl", job(2))
    assert _settled(tmp_path) == (["1"], ["2"], ["1"])


@pytest.mark.parametrize("readers", [1, 2, 3])
def test_what_was_counted_too_early_is_counted_anew(tmp_path: Path, readers: int) -> None:
    """Once, with all that is known of it; and what is wrong with a file is told once."""
    lay(tmp_path, f"{_HERE}/1-a.jsonl", job(1), use(10.0, of=1), b"torn")
    lay(tmp_path, "c1/1-a.jsonl", job(1), use(50.0, of=1, at=AT + 900))
    lay(tmp_path, "c1/1-b.jsonl", job(1), incident(of=1, is_closed=True))
    for number in range(2, 20):
        lay(tmp_path, f"{_HERE}/{number}-{number}.jsonl", job(number, run=str(number)))
    found, problems = fold_site(tmp_path, _Seen, Window(), readers=readers)
    assert sorted(found.jobs, key=_name) == sorted(read_site(tmp_path).jobs, key=_name)
    assert len(problems) == 1


def _name(history: JobHistory) -> tuple[str, str]:
    return history.job.job, history.job.run


def _line(rng: random.Random, number: int, run: str) -> msgspec.Struct:
    """Any line of this job."""
    at = AT + rng.randrange(20) * _DAY_S
    match rng.randrange(3):
        case 0:
            return job(number, run=run, at=at, gpus_per_node=8)
        case 1:
            return use(rng.uniform(0, 1e6), of=number, run=run, at=at, end=rng.choice(["", "completed", "failed"]))
    lost, recovery = round(rng.uniform(0, 4000), 3), rng.choice([None, 3.5])
    is_closed, which = rng.random() < 0.7, rng.randrange(1, 4)
    return incident(which, of=number, run=run, at=at, lost_node_s=lost, recovery_s=recovery, is_closed=is_closed)


def _random_ledger(root: Path, rng: random.Random) -> None:
    """Jobs whose lines lie in one file, in several, in a month's file, and in the files of other jobs."""
    for number in range(1, 25):
        run = f"{rng.randrange(8):012x}"
        own = [job(number, run=run, gpus_per_node=8), *(_line(rng, number, run) for _ in range(rng.randrange(6)))]
        others = [_line(rng, rng.randrange(1, 25), run) for _ in range(rng.choice([0, 0, 1]))]
        name = file_name(JobId(str(number)), run)
        lay(root, f"{rng.choice([_HERE, 'c1', '.'])}/{name}", *own, *others)
        if rng.random() < 0.2:
            lay(root, f"c1/2026-10/{name}", *own[:2])
    sections = (
        bytes_of(SiteOwner(owner="root"), *(_line(rng, number, "m") for _ in range(4)))
        for number in rng.choices(range(1, 60), k=30)
    )
    lay(root, f"c1/{MONTH}.jsonl", *sections)


def _figures(made: FleetReport) -> list[object]:
    """All of them; sums in another order may differ in their last digits."""
    found: list[object] = []

    def take(value: object) -> None:
        if isinstance(value, dict):
            for name in sorted(value):
                take(value[name])
        elif isinstance(value, list | tuple):
            for each in value:
                take(each)
        else:
            found.append(pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value)

    take({**msgspec.to_builtins(made), "problems": sorted(made.problems)})
    return found


@pytest.mark.parametrize("seed", range(12))
def test_figures_are_those_of_jobs_that_all_waited(tmp_path: Path, seed: int) -> None:
    """Whatever lies where, and however many read it."""
    _random_ledger(tmp_path, random.Random(seed))  # noqa: S311  # a ledger that is the same each time
    until = AT + 30 * _DAY_S
    asked = Asked(since=AT + 2 * _DAY_S if seed % 2 else None, until=until)
    known = read_site(tmp_path, since=asked.read_since, until=until)
    plain = report(Tally(asked).add_all(known.jobs), source="ledger", problems=known.problems)
    assert plain.interruptions
    for readers in (1, 2, 3):
        window = Window(since=asked.read_since, until=until)
        tally, problems = fold_site(tmp_path, partial(Tally, asked), window, readers=readers)
        assert _figures(report(tally, source="ledger", problems=problems)) == _figures(plain)
