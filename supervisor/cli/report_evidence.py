"""`supervise report --evidence FILE.tar.gz`: the report, how it was made, and the log lines behind it."""

import asyncio
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from supervisor.cli.report_answer import report_json
from supervisor.cli.report_source import Wanted
from supervisor.errors import SlurmFailed
from supervisor.ledger.find_run import list_runs
from supervisor.redact.text import redacted
from supervisor.report.archive.files import How, files
from supervisor.report.archive.pack import pack
from supervisor.report.archive.proof import by_key, proof
from supervisor.report.archive.records import careful_records
from supervisor.report.archive.write import write_new
from supervisor.report.fleet.model import FleetReport
from supervisor.report.words import count
from supervisor.slurm.commands import clean_environment
from supervisor.slurm.process import CallCount, run
from supervisor.version import VERSION

_SLURM_S: Final = 5.0
_WITHHELD: Final = "users are not named in this report, and lines of their logs might name them"


def save(path: Path, report: FleetReport, wanted: Wanted) -> None:
    """Write the archive; raises `UsageError` where it cannot be written or would be too large."""
    withheld = "" if wanted.users == "name" else _WITHHELD
    records = {} if withheld else by_key(record for folder in _own_folders() for record in careful_records(folder))
    figures = report_json(report, wanted)
    proven = proof(report, records, redacted=redacted, withheld=withheld)
    how = How(commands=(_command(report, wanted),), versions=_versions())
    write_new(path, pack(files(report, how=how, figures=figures.encode(), proof=proven)))
    print(f"supervise: evidence of {count(len(report.rows), 'interruption')} is in {path}", file=sys.stderr)


def _own_folders() -> Iterator[Path]:
    """Run folders that are known here, those of an array's tasks beside it, too."""
    for folder in list_runs(workdir=Path.cwd(), env=os.environ):
        yield folder
        with suppress(OSError):
            yield from sorted(
                each for each in folder.parent.iterdir() if each.name.removeprefix(f"{folder.name}-").isdecimal()
            )


def _command(report: FleetReport, wanted: Wanted) -> str:
    """What makes the same report again: with its times as they were, not as `7d` counted back from now."""
    words = ["supervise", "report", "--from", report.source, "--users", wanted.users]
    words += ["--ledger", str(wanted.ledger)] if wanted.ledger else []
    words += ["--since", _time(report.since)] if report.since is not None else []
    words += ["--until", _time(report.until)]
    words += [word for cluster in wanted.clusters or () for word in ("--cluster", cluster)]
    return redacted(shlex.join(words))


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _versions() -> dict[str, str]:
    slurm = {"slurm": asyncio.run(_slurm_version())} if shutil.which("sinfo") else {}
    return {"supervise": VERSION, "python": platform.python_version(), "system": platform.platform(), **slurm}


async def _slurm_version() -> str:
    """Asks no daemon."""
    try:
        answer = await run(
            ["sinfo", "--version"], deadline_s=_SLURM_S, env=clean_environment(os.environ), count=CallCount()
        )
        return answer.checked().stdout.strip()
    except SlurmFailed as exc:
        return f"not known: {exc}"
