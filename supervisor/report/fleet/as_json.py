"""The report for a script. Pure."""

from typing import Any

import msgspec

from supervisor.report.fleet.model import FleetReport


def as_json(report: FleetReport) -> dict[str, Any]:
    """Every value by its name; conclusion and blockers are the answer's own."""
    built: dict[str, Any] = msgspec.to_builtins(report)
    for name in ("conclusion", "blockers"):
        del built[name]
    return built
