"""A versioned list of faults with what each may take: `standard@1`. Pure but for reading the package's own files."""

import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from supervisor.drill.kinds import KINDS, known_kind
from supervisor.errors import UsageError
from supervisor.model.base import Fact

DEFAULT: Final = "quick@1"
_HERE: Final = Path(__file__).parent


class Limits(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one fault may take."""

    seen_s: float = 10.0
    """From the fault until an incident is opened."""
    back_s: float = 60.0
    """From the fault until the furthest step is reached again; where nothing is interrupted, until it is replaced."""


class Pace(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the time of a step is measured with and without us."""

    rounds: int = 4
    most_ratio: float = 1.05


class Suite(Fact, frozen=True, kw_only=True):
    """What is drilled, in this order."""

    name: str
    """With its version."""
    faults: tuple[str, ...]
    limits: Limits = Limits()
    own_limits: dict[str, Limits] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    pace: Pace | None = None

    def limits_of(self, fault: str) -> Limits:
        """Its own, else everybody's."""
        return self.own_limits.get(fault, self.limits)


def suite_names() -> list[str]:
    """Those that this version has."""
    return sorted(_name_of(path) for path in _HERE.glob("suite-*.toml"))


def read_suite(name: str) -> Suite:
    """The suite of this name and version. Raises `UsageError` where there is none."""
    path = _HERE / f"suite-{name.replace('@', '-')}.toml"
    if name not in suite_names():
        raise UsageError(f"no suite is called {name}; there are {', '.join(suite_names())}")
    return parse_suite(name, path.read_text(encoding="utf-8"))


def parse_suite(name: str, text: str) -> Suite:
    """What the file says. Raises `UsageError` for what is none."""
    try:
        table = tomllib.loads(text)
        common: dict[str, Any] = table.pop("limits", {})
        own = {fault: common.pop(fault) for fault in KINDS if fault in common}
        limits = msgspec.convert(common, Limits)
        own_limits = {fault: msgspec.convert({**common, **row}, Limits) for fault, row in own.items()}
        pace = msgspec.convert(table.pop("pace"), Pace) if "pace" in table else None
        faults = tuple(known_kind(fault).name for fault in table.pop("faults"))
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, KeyError, TypeError) as exc:
        raise UsageError(f"suite {name} cannot be read: {exc}") from exc
    if table:
        raise UsageError(f"suite {name} says more than is known here: {', '.join(table)}")
    return Suite(name=name, faults=faults, limits=limits, own_limits=own_limits, pace=pace)


def of_faults(faults: tuple[str, ...], limits: Suite) -> Suite:
    """These faults and no suite, each with the limits that another suite gives it."""
    named = tuple(known_kind(fault).name for fault in faults)
    return msgspec.structs.replace(limits, name="", faults=named, pace=None)


def _name_of(path: Path) -> str:
    name, _, version = path.stem.removeprefix("suite-").rpartition("-")
    return f"{name}@{version}"
