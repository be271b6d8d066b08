"""Where each setting comes from: defaults, files, environment, `#SUPERVISE` lines, command line; later ones win.

Everything is validated together, so that a user sees all complaints at once, each with the setting and its source.
"""

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from supervisor.core import policy_table
from supervisor.diagnose.taxonomy import causes
from supervisor.errors import UsageError
from supervisor.model.verdict import Class
from supervisor.settings import Settings
from supervisor.slurm.directives import Argument

SITE_FILE: Final = Path("/etc/supervise/config.toml")
COMMAND_LINE: Final = "command line"
_FIELDS: Final = {field.name: field.type for field in msgspec.structs.fields(Settings)}
_AT_LEAST: Final[Mapping[str, float]] = {name: 0.0 for name, kind in _FIELDS.items() if kind in (int, float)}
# A deadline of nothing would give up before it begins.
_ABOVE_ZERO: Final = frozenset(name for name in _FIELDS if name.endswith("_deadline_s")) - {"ranks_deadline_s"}
_SHARES: Final = frozenset({"max_lost_share"})
_WORDS: Final[Mapping[str, str]] = {
    "max_lost_share": "a share from 0 to 1, such as 0.1",
    "notify": "URLs such as mailto:me@site or https://host/path, with blanks between them",
    "policy": "NAME.FIELD=VALUE for classes and causes, with blanks between them, such as network.budget=4",
}
"""What may be written, where the setting's type does not say it."""
_KINDS: Final[Mapping[type, str]] = {str: "a text in quotes", bool: "true or false"}
_URLS: Final = frozenset({"notify"})
_TABLES: Final = frozenset({"policy"})
"""Settings of many values, written in one line; in a file also as tables."""
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_HELP: Final = "(see supervise --help)"


@dataclass(frozen=True, slots=True)
class Given:
    """One value from one place; text is converted, values of a file must have the right type."""

    name: str
    value: Any
    source: str
    typed: str
    """As the person wrote it, with the place: `--spares x`, `SUPERVISE_SPARES=x`, `a.toml line 3: spares = "x"`."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings, and for each that is not a default the place it came from."""

    settings: Settings
    origin: dict[str, str]


def resolve(given: Iterable[Given]) -> Resolved:
    """The settings after all sources, weakest first. Raises `UsageError` with every complaint."""
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    complaints: list[str] = []
    for item in given:
        try:
            value = _converted(item)
            if item.name in _TABLES and item.name in values:
                # Each source changes what it names: one row of a user must not undo the site's others.
                values[item.name] = policy_table.merged(values[item.name], value)
                origin[item.name] += f", {item.source}"
            else:
                values[item.name], origin[item.name] = value, item.source
        except _Complaint as exc:
            complaints.append(f"{item.typed}: {exc}")
    if complaints:
        raise UsageError(_told(complaints))
    settings = Settings(**values)
    return Resolved(settings, {name: place for name, place in origin.items() if name in values})


def from_files(env: Mapping[str, str]) -> list[Given]:
    """The values of the site's file and the user's."""
    return [*from_site_file(), *from_user_file(env)]


def from_site_file() -> list[Given]:
    """What the admins have set."""
    return list(_from_file(SITE_FILE))


def user_file(env: Mapping[str, str]) -> Path:
    """Where the user's file is, or would be (`SUPERVISE_CONFIG` names another than ~/.config/supervise)."""
    home = env.get("XDG_CONFIG_HOME") or f"{env.get('HOME', '/nonexistent')}/.config"
    return Path(env.get("SUPERVISE_CONFIG") or f"{home}/supervise/config.toml")


def from_user_file(env: Mapping[str, str]) -> list[Given]:
    """What the user has set for all runs."""
    named = env.get("SUPERVISE_CONFIG")
    return list(_from_file(user_file(env), named=f"SUPERVISE_CONFIG={named}" if named else ""))


def from_named_file(path: Path) -> list[Given]:
    """The values of any file. Raises `UsageError` where it cannot be read."""
    return list(_from_file(path, named=str(path)))


def from_environment(env: Mapping[str, str]) -> list[Given]:
    """`SUPERVISE_MAX_RESTARTS=5` and the like; an empty variable counts as not set."""
    named = ((name, f"SUPERVISE_{name.upper()}") for name in _FIELDS)
    return [
        Given(name, env[variable], variable, f"{variable}={shlex.quote(env[variable])}")
        for name, variable in named
        if env.get(variable)
    ]


def from_directives(arguments: Sequence[Argument]) -> list[Given]:
    """`#SUPERVISE --spares 1` lines, written as on the command line."""
    return list(_paired(arguments))


def from_options(options: Mapping[str, str]) -> list[Given]:
    """What was given on the command line."""
    return [
        Given(name, value, COMMAND_LINE, f"{_option(name)} {shlex.quote(value)}") for name, value in options.items()
    ]


def _told(complaints: Sequence[str]) -> str:
    """One on the line, several each on its own."""
    if len(complaints) == 1:
        return f"{complaints[0]} {_HELP}"
    return "\n  ".join([f"{len(complaints)} settings cannot be used {_HELP}:", *complaints])


class _Complaint(ValueError):
    """One value that cannot be taken; never leaves this module."""


def _converted(item: Given) -> Any:
    if item.name not in _FIELDS:
        raise _Complaint(_unknown(item))
    if item.name in _TABLES:
        return _policy(item.value)
    try:
        value = msgspec.convert(item.value, _FIELDS[item.name], strict=False)
    except msgspec.ValidationError as exc:
        raise _Complaint(allowed(item.name)) from exc
    least = _AT_LEAST.get(item.name)
    is_in_range = least is None or least <= value < float("inf")
    if not is_in_range or (item.name in _ABOVE_ZERO and value == 0) or (item.name in _SHARES and value > 1):
        raise _Complaint(allowed(item.name))
    if item.name in _URLS and not all(map(_URL.fullmatch, value.split())):
        raise _Complaint(allowed(item.name))
    return value


def _policy(value: Any) -> str:
    """The changes as one line, whichever way they were written."""
    if isinstance(value, dict) and not all(isinstance(row, dict) for row in value.values()):
        raise _Complaint("a table for each class or cause: [policy.network], then budget = 4")
    text = policy_table.as_text(value) if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise _Complaint(allowed("policy"))
    try:
        named = list(policy_table.named(text))
    except ValueError as exc:
        raise _Complaint(str(exc)) from exc
    known = [*map(str, Class), *causes()]
    for name in named:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            meant = f"; did you mean {close[0]}?" if close else "; supervise policy shows all"
            raise _Complaint(f"{name} is no class and no cause{meant}")
    return " ".join(text.split())


def allowed(name: str) -> str:
    """What a person may write as the value of this setting."""
    kind = _FIELDS[name]
    if get_origin(kind) is Literal:
        return f"one of: {', '.join(get_args(kind))}"
    if name in _WORDS:
        return _WORDS[name]
    if kind in _KINDS:
        return _KINDS[kind]
    least = "more than 0" if name in _ABOVE_ZERO else "0 or more"
    return f"a whole number, {least}" if kind is int else f"a number of seconds, {least}"


def limits(name: str) -> dict[str, Any]:
    """The range of a number in the words of JSON Schema, and what may be a table; empty for everything else."""
    if name in _TABLES:
        return {"type": ["string", "object"]}
    if name in _ABOVE_ZERO:
        return {"exclusiveMinimum": 0.0}
    least = {"minimum": _AT_LEAST[name]} if name in _AT_LEAST else {}
    return {**least, "maximum": 1.0} if name in _SHARES else least


def _unknown(item: Given) -> str:
    close = get_close_matches(item.name, _FIELDS, n=1)
    is_option = _option(item.name) in item.typed
    meant = [_option(name) if is_option else name for name in close]
    return "there is no such setting" + (f"; did you mean {meant[0]}?" if meant else "")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _from_file(path: Path, *, named: str = "") -> Iterator[Given]:
    """Raises `UsageError` for a file that is no TOML, or is `named` by somebody but cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        read = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as exc:
        if named:
            raise UsageError(f"{named} cannot be read: {exc.strerror}") from exc
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as exc:
        raise UsageError(f"{path} cannot be read: {exc}") from exc
    for name, value in read.items():
        place = f"{path}{_line_of(name, text)}"
        yield Given(name.replace("-", "_"), value, place, f"{place}: {name} = {_as_toml(value)}")


def _line_of(name: str, text: str) -> str:
    """Where the file sets it; empty where it is written in some unusual way."""
    match = re.search(rf"""^[ \t]*(["']?){re.escape(name)}\1[ \t]*=""", text, re.MULTILINE)
    return f" line {text.count(chr(10), 0, match.start()) + 1}" if match else ""


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _paired(arguments: Sequence[Argument]) -> Iterator[Given]:
    """Options with their values; each takes one, after `=` or as the next word of the same line."""
    rest = list(arguments)
    while rest:
        first = rest.pop(0)
        source = f"#SUPERVISE in line {first.line}"
        name, equals, value = first.text.removeprefix("--").partition("=")
        if not first.text.startswith("--"):
            raise UsageError(
                f"{source}: {first.text!r} is no option; write --{first.text}, or quote a value with spaces"
            )
        if not equals:
            if not rest or rest[0].line != first.line:
                raise UsageError(f"{source}: {first.text} has no value")
            value = rest.pop(0).text
        yield Given(name.replace("-", "_"), value, source, f"{source}: --{name} {shlex.quote(value)}")
