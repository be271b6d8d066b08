"""Measures steps with and without us: rounds of the trainer that alternate in one plain allocation."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from supervisor.drill.own_job import SETTINGS, OwnJobs
from supervisor.drill.record import Paces
from supervisor.drill.watch import until
from supervisor.errors import DrillStopped
from supervisor.model.ids import JobId
from supervisor.slurm.guard import quote
from supervisor.slurm.waiting import LIVING

_STEPS: Final = 220
_WORK: Final = 400_000
"""Of the order of ten milliseconds: long enough to be told from the noise, short enough for many steps."""
_ROUND_S: Final = 60.0
_ASK_EVERY_S: Final = 10.0


async def measure(jobs: OwnJobs, rounds: int, patience_s: float) -> Paces:
    """Each round's steps; what could not be measured is left out and said."""
    folder = jobs.folder / "pace"
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        job = await jobs.submit_plain(script(jobs.train, folder, rounds))
    except DrillStopped as exc:
        return Paces(problem=str(exc))
    waited_s, last = 0.0, [folder / f"{who}-{rounds}.json" for who in ("plain", "ours")]
    while (
        not await until(lambda: all(path.exists() for path in last), _ASK_EVERY_S)
        and waited_s < patience_s + rounds * _ROUND_S
    ):
        waited_s += _ASK_EVERY_S
        if not await _is_living(jobs, job):
            break
    problem = (
        ""
        if all(path.exists() for path in last)
        else f"job {job} did not come to its end; see its output in {jobs.folder}"
    )
    plain, ours = (
        tuple(_steps(folder / f"{who}-{number}.json") for number in range(1, rounds + 1)) for who in ("plain", "ours")
    )
    return Paces(plain=plain, ours=ours, problem=problem)


def script(train: Path, folder: Path, rounds: int) -> str:
    """Who goes first changes from round to round, so that a machine that grows slower favours nobody."""
    python = quote(sys.executable)
    lines = ["#!/bin/sh"]
    for number in range(1, rounds + 1):
        pair = [_line(python, train, folder / f"{who}-{number}.json", who) for who in ("plain", "ours")]
        lines += pair if number % 2 else reversed(pair)
    return "\n".join([*lines, ""])


def _line(python: str, train: Path, times: Path, who: str) -> str:
    trainer = f"{python} {quote(str(train / 'trainer.py'))} {quote(str(train))}"
    step = f"srun {trainer} --steps {_STEPS} --step-s 0 --work {_WORK} --times {quote(str(times))}"
    if who == "plain":
        return step
    settings = " ".join(quote(word) for word in SETTINGS)
    return f"{python} -I -m supervisor.cli.main -q {settings} run -- {step}"


async def _is_living(jobs: OwnJobs, job: JobId) -> bool:
    found = await jobs.facts_of(job)
    return found is None or found.state in LIVING


def _steps(path: Path) -> tuple[float, ...]:
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(path.read_bytes(), type=tuple[float, ...])
    return ()
