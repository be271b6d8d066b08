"""`supervise report`: the interruptions of all known runs, and how fast they were noticed and overcome."""

import datetime as dt
import re
import time
from typing import Any, Final

import click

from supervisor.cli.answer import REDACT_HELP, json_answer, without_secrets
from supervisor.cli.known_runs import known_runs
from supervisor.report.many_runs import report_conclusion, report_json, report_of, report_text

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_AGO: Final = re.compile(r"(\d+)([smhdw])")


class _Since(click.ParamType[float]):
    """`7d`, `12h` or a date; becomes seconds since the epoch."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if ago := _AGO.fullmatch(value):
            return time.time() - int(ago[1]) * _UNITS[ago[2]]
        try:
            return dt.datetime.fromisoformat(value).astimezone().timestamp()
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; write 7d, 12h, 90m or a date such as 2026-01-31", param, ctx)


@click.command(
    name="report",
    help="The interruptions of all runs that are known here: classes and causes, detection, isolation, recovery.",
)
@click.option("--since", type=_Since(), metavar="7d|12h|90m|DATE", help="leave out what is older")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.option("--redact", is_flag=True, help=REDACT_HELP)
@click.pass_context
def command(ctx: click.Context, *, since: float | None, as_json: bool, redact: bool) -> None:
    """Tell it."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    now = time.time()
    report = report_of(known_runs(), since=since)
    text, blockers = report_conclusion(report, now)
    if as_json:
        answer = json_answer(conclusion=text, blockers=blockers, **report_json(report))
    else:
        answer = "\n".join([text, *report_text(report, now=now)])
    print(without_secrets(answer, as_json=as_json) if redact else answer)
