"""The rows of sacct to facts. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from supervisor.errors import PayloadRefused
from supervisor.model.accounts import AccountedJob, Accounts
from supervisor.model.ids import JobId
from supervisor.slurm.hostlist import expand

# No job name and no command line: a report has no use for them. The Comment is the last one: it may hold anything.
FIELDS: Final = (
    "JobID",
    "JobIDRaw",
    "Cluster",
    "User",
    "Account",
    "Partition",
    "State",
    "ExitCode",
    "DerivedExitCode",
    "NodeList",
    "AllocTRES",
    "TimelimitRaw",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "FailedNode",
    "Comment",
)
"""What is asked for, as far as this Slurm has it."""
_SINCE_LATER: Final = frozenset({"FailedNode"})
"""All others are there from 22.05 on; who asks for a field that is not there gets nothing at all."""
_NO_NODES: Final = ("", "None assigned", "(null)")
_RAW_ID: Final = re.compile(r"\d{1,12}", re.ASCII)
_GPUS: Final = re.compile(r"gres/gpu(:[^=,]+)?=(\d{1,9})", re.ASCII)
_MINUTE_S: Final = 60.0
_SHOWN: Final = 80


def fields_of(offered: str) -> tuple[str, ...]:
    """What to ask for, where this is the answer of `sacct --helpformat`."""
    names = frozenset(offered.split())
    return tuple(field for field in FIELDS if field not in _SINCE_LATER or field in names)


def parse_accounting(text: str, separator: str, fields: Sequence[str] = FIELDS) -> Accounts:
    """Every row of a job that has started, with these fields; steps and jobs that still wait are left out.

    `separator` is one that nobody could foresee: a user's Comment may hold newlines, and a whole row of its own making.
    An answer that does not end with a newline was cut: its last row is left out, and `problems` says so.
    """
    rows = list(_rows(text, separator, len(fields)))
    problems = []
    if text and not text.endswith("\n"):
        rows = rows[:-1]
        problems.append("sacct's answer ends in the middle of a row: its last row is left out")
    jobs = []
    for row in rows:
        try:
            job = _job(row, fields)
        except (PayloadRefused, ValueError) as exc:
            problems.append(f"a row of sacct cannot be read ({exc}): {'|'.join(row)[:_SHOWN]!r}")
            continue
        if job is not None:
            jobs.append(job)
    return Accounts(jobs=tuple(jobs), problems=tuple(problems))


def _rows(text: str, separator: str, columns: int) -> Iterator[Sequence[str]]:
    """A line that holds no separator goes on with the Comment of the row before."""
    row: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        if separator in line:
            if row:
                yield row
            row = line.split(separator, columns - 1)
        elif row:
            row[-1] += f"\n{line}"
    if row:
        yield row


def _job(row: Sequence[str], fields: Sequence[str]) -> AccountedJob | None:
    if len(row) != len(fields):
        raise PayloadRefused(f"{len(row)} columns instead of {len(fields)}")
    told = dict(zip(fields, row, strict=True))
    started_at = _time(told["Start"])
    if not _RAW_ID.fullmatch(told["JobIDRaw"]) or started_at is None or told["NodeList"] in _NO_NODES:
        return None  # a step, or a job that has no nodes yet
    nodes = expand(told["NodeList"])
    failed = frozenset(expand(told.get("FailedNode", "")))
    code, signal = _exit(told["ExitCode"])
    return AccountedJob(
        job=JobId(told["JobID"]),
        raw_id=JobId(told["JobIDRaw"]),
        cluster=told["Cluster"],
        user=told["User"],
        account=told["Account"],
        partition=told["Partition"],
        state=told["State"].partition(" ")[0],  # `CANCELLED by 1000`
        exit_code=code,
        exit_signal=signal,
        derived_exit_code=_exit(told["DerivedExitCode"])[0],
        nodes=nodes,
        failed=tuple(node for node in nodes if node in failed),
        gpus=_gpus(told["AllocTRES"]),
        time_limit_s=_limit_s(told["TimelimitRaw"]),
        submitted_at=_time(told["Submit"]),
        started_at=started_at,
        ended_at=_time(told["End"]),
        elapsed_s=float(int(told["ElapsedRaw"] or 0)),
        comment=told["Comment"],
    )


def _time(text: str) -> float | None:
    """Seconds since the epoch; `Unknown` and `None` are no times."""
    return float(text) if text.isascii() and text.isdigit() and int(text) else None


def _exit(text: str) -> tuple[int, int]:
    code, _, signal = text.partition(":")
    return int(code or 0), int(signal or 0)


def _gpus(tres: str) -> int:
    """`gres/gpu=16`; where Slurm counts only by type, the sum over the types."""
    found = _GPUS.findall(tres)
    plain = [int(count) for kind, count in found if not kind]
    return plain[0] if plain else sum(int(count) for _, count in found)


def _limit_s(minutes: str) -> float | None:
    """None for `UNLIMITED` and `Partition_Limit`."""
    return int(minutes) * _MINUTE_S if minutes.isascii() and minutes.isdigit() else None
