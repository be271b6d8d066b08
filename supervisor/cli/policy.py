"""`supervise policy`: what is done after each cause; and which decisions of the past another policy would change."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.moment import Moment
from supervisor.cli.policy_rows import HEAD, about, head, rows
from supervisor.cli.policy_shadow import compared
from supervisor.cli.taxonomy_words import known_cause
from supervisor.errors import UsageError
from supervisor.ledger.records import VERDICT
from supervisor.model.records import IncidentRecord
from supervisor.report.words import table
from supervisor.settings import Settings
from supervisor.settings_resolve import from_environment, from_files, from_named_file, from_options, resolve

_ALL: Final = "*"


@click.command(
    name="policy",
    help=(
        "What is done after each cause of an interruption, with the settings that count here. --explain tells all "
        "about each, --explain CAUSE (or an incident's folder or verdict.json) about one. --shadow FILE makes each "
        "decision of the runs known here again with other settings, from the same moment, and lists those that would "
        "differ: supervise policy --shadow new.toml --over 90d. Exit code of --shadow: 1 where one differs."
    ),
)
@click.option(
    "--explain", "what", is_flag=False, flag_value=_ALL, metavar="[CAUSE]", help="in words: all, or this cause"
)
@click.option("--shadow", type=click.Path(path_type=Path), metavar="FILE", help="a settings file to compare with")
@click.option("--over", type=Moment(), default="90d", help="how far back --shadow looks: 90d, 12h or a date")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.pass_context
def command(ctx: click.Context, *, what: str | None, shadow: Path | None, over: float, as_json: bool) -> None:
    """Tell it."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    if shadow is not None:
        _tell_shadow(ctx, shadow, over, as_json=as_json)
        return
    settings = _settings(getattr(ctx.obj, "settings", {}))
    found = rows(settings)
    if what not in {None, _ALL}:
        found = [one for one in found if one.cause == _cause_of(str(what))]
    told = head(settings)
    if as_json:
        print(json_answer(conclusion=told[0], policy=[one.as_json() for one in found]))
    elif what is None:
        print("\n".join([*told, "", *table(HEAD, [one.cells() for one in found])]))
    else:
        print("\n\n".join(["\n".join(told)] * (what == _ALL) + [about(one, settings) for one in found]))


def _settings(options: Mapping[str, str]) -> Settings:
    return resolve([*from_files(os.environ), *from_environment(os.environ), *from_options(options)]).settings


def _cause_of(what: str) -> str:
    """The cause that is meant, by its name or by the record of an incident. Raises `UsageError`."""
    path = Path(what)
    path = path / VERDICT if path.is_dir() else path
    if path.suffix != ".json":
        return known_cause(what).name
    try:
        return msgspec.json.decode(path.read_bytes(), type=IncidentRecord).verdict.cause
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc
    except msgspec.MsgspecError as exc:
        raise UsageError(f"{path} is no record of an incident ({exc}); name its verdict.json, or a cause") from exc


def _tell_shadow(ctx: click.Context, path: Path, since: float, *, as_json: bool) -> None:
    found = compared(resolve(from_named_file(path)), since)
    conclusion = found.conclusion(path)
    code = ExitCode.FAILED if found.differing else ExitCode.OK
    if as_json:
        more: dict[str, Any] = {"decisions": found.seen, "differing": [one.as_json() for one in found.differing]}
        print(json_answer(conclusion=conclusion, blockers=found.unread, ends_with=code, **more))
    else:
        print("\n".join([conclusion, *(f"  left out: {why}" for why in found.unread), *found.lines()]))
    ctx.exit(code)
