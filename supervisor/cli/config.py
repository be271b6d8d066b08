"""`supervise config`: each setting with its value and where it came from; a schema; a check of a file."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.off_switch import switched_off
from supervisor.cli.setting_words import DEFAULTS, described, schema
from supervisor.cli.shown_value import as_text, shown
from supervisor.errors import UsageError
from supervisor.report.words import count
from supervisor.settings_resolve import (
    Given,
    Resolved,
    allowed,
    from_directives,
    from_environment,
    from_files,
    from_named_file,
    from_options,
    resolve,
)
from supervisor.slurm.directives import parse_directives

_WIDEST: Final = 40
"""Characters of a value that the column of origins makes room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One setting as it counts now."""

    name: str
    value: Any
    origin: str
    overridden: tuple[str, ...] = ()
    """Places that set it as well and lost, the weakest first, without their values: those may be secret."""


@click.command(
    name="config",
    help=(
        "The settings that count here, each with the place that set it: supervise config --explain spares. "
        "Exit code 1: a source, or the file of --check, holds what cannot be used."
    ),
)
@click.option("--explain", is_flag=True, help="also what each does, what may be written and how to set it")
@click.option("--script", "script", metavar="FILE", help="take the #SUPERVISE lines of this script into account")
@click.option("--check", "checked", metavar="FILE", help="only say whether a settings file can be used")
@click.option("--schema", "is_schema", is_flag=True, help="the JSON schema of a settings file")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("name", required=False)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    explain: bool,
    script: str | None,
    checked: str | None,
    is_schema: bool,
    as_json: bool,
    name: str | None,
) -> None:
    """Tell it."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    if is_schema:
        print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())
        return
    chosen = _known(name) if name else ""
    options: Mapping[str, str] = getattr(ctx.obj, "settings", {})
    try:
        if checked is not None:
            _tell_check(Path(checked), as_json=as_json)
            return
        given = _given(script, options)
        told = _told(given, resolve(given))
    except UsageError as exc:
        _tell_error(exc, as_json=as_json)
        ctx.exit(ExitCode.FAILED)
    shown_ones = [one for one in told if chosen in {"", one.name}]
    place = switched_off(os.environ, options)
    if as_json:
        print(
            json_answer(conclusion=_conclusion(told, place), off=place, settings=[_as_json(one) for one in shown_ones])
        )
    elif explain or chosen:
        print("\n\n".join([*([] if chosen else [_conclusion(told, place)]), *map(_explained, shown_ones)]))
    else:
        width = max(len(as_text(one.value)[:_WIDEST]) for one in shown_ones)
        print("\n".join([_conclusion(told, place), *(_line(one, width) for one in shown_ones)]))


def _known(name: str) -> str:
    """The setting of this name, as an option or a variable would write it. Raises `UsageError`."""
    plain = name.removeprefix("--").replace("-", "_").removeprefix("SUPERVISE_").lower()
    if plain in DEFAULTS:
        return plain
    close = get_close_matches(plain, DEFAULTS, n=1)
    meant = f"; did you mean {close[0]}?" if close else "; supervise config shows all"
    raise UsageError(f"there is no setting {name!r}{meant}")


def _given(script: str | None, options: Mapping[str, str]) -> list[Given]:
    """All sources, weakest first, as a submission from here would read them."""
    lines: list[Given] = []
    if script is not None:
        try:
            text = Path(script).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as exc:
            raise UsageError(f"{script} cannot be read: {exc.strerror}") from exc
        lines = from_directives(parse_directives(text).supervise)
    return [*from_files(os.environ), *from_environment(os.environ), *lines, *from_options(options)]


def _told(given: list[Given], resolved: Resolved) -> list[Told]:
    return [
        Told(
            name=name,
            value=shown(name, getattr(resolved.settings, name)),
            origin=resolved.origin.get(name, "default"),
            overridden=tuple(item.source for item in given if item.name == name)[:-1],
        )
        for name in DEFAULTS
    ]


def _conclusion(told: list[Told], place: str) -> str:
    changed = sum(one.origin != "default" for one in told)
    head = f"SWITCHED OFF by {place}: nothing is supervised. " if place else ""
    return f"{head}{count(len(told), 'setting')}, {changed} set somewhere, the others at their default."


def _line(one: Told, width: int) -> str:
    return f"  {one.name:<29} {as_text(one.value):<{width}}  {one.origin}"


def _explained(one: Told) -> str:
    option = f"--{one.name.replace('_', '-')}"
    ways = f"{option}, #SUPERVISE {option}, SUPERVISE_{one.name.upper()}, or {one.name} = … in a file"
    rows = [
        ("from", one.origin),
        *(("over", place) for place in reversed(one.overridden)),
        *(("what" if not number else "", line) for number, line in enumerate(_paragraphs(one.name))),
        ("allowed", allowed(one.name)),
        ("default", as_text(DEFAULTS[one.name])),
        ("set by", ways),
    ]
    return "\n".join([f"{one.name} = {as_text(one.value)}", *(f"  {head:<8} {text}".rstrip() for head, text in rows)])


def _paragraphs(name: str) -> list[str]:
    """Its sentences, wrapped as they stand in the source."""
    return [line for line in described()[name].splitlines() if line]


def _as_json(one: Told) -> dict[str, Any]:
    return {
        "name": one.name,
        "value": one.value,
        "origin": one.origin,
        "overridden": list(one.overridden),
        "default": DEFAULTS[one.name],
        "what": described()[one.name],
        "allowed": allowed(one.name),
    }


def _tell_check(path: Path, *, as_json: bool) -> None:
    """Raises `UsageError` with every complaint."""
    given = from_named_file(path)
    resolve(given)
    told = f"{path}: {count(len(given), 'setting')}, can be used."
    print(json_answer(conclusion=told) if as_json else told)


def _tell_error(exc: UsageError, *, as_json: bool) -> None:
    if as_json:
        complaints = str(exc).split("\n  ")
        print(json_answer(conclusion="The settings cannot be used.", blockers=complaints, ends_with=ExitCode.FAILED))
    else:
        print(f"supervise: {exc}", file=sys.stderr)
