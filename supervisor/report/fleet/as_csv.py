"""One row for each interruption, as RFC 4180 has it. Pure."""

import csv
import io
from datetime import UTC, datetime
from typing import Final

from supervisor.report.fleet.model import FleetReport, Interruption

HEAD: Final = (
    "time_utc", "cluster", "job", "run", "user", "partition", "nodes", "gpus_per_node", "class", "cause",
    "confidence", "blamed_nodes", "blamed_gpus", "action", "isolation", "detect_s", "isolate_s", "recovery_s",
    "steps_lost", "lost_node_h", "lost_gpu_h", "lost_kwh",
)  # fmt: skip
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def as_csv(report: FleetReport) -> str:
    """With a head line; every line ends with CR LF."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEAD)
    writer.writerows([_cell(value) for value in _values(row)] for row in report.rows)
    return out.getvalue()


def _values(row: Interruption) -> tuple[object, ...]:
    has_gpus = row.gpus_per_node > 0
    return (
        f"{datetime.fromtimestamp(row.at, UTC):%Y-%m-%dT%H:%M:%SZ}", row.cluster, row.job, row.run, row.user,
        row.partition, row.node_count, row.gpus_per_node if has_gpus else None, row.cls, row.cause, row.confidence,
        " ".join(row.nodes), " ".join(row.gpus), row.action, row.isolation, row.detect_s, row.isolate_s,
        row.recovery_s, row.steps_lost, round(row.cost.node_h, 4),
        round(row.cost.gpu_h, 4) if has_gpus else None,
        None if row.cost.kwh is None else round(row.cost.kwh, 4),
    )  # fmt: skip


def _cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula is made one that it shows."""
    if not isinstance(value, str):
        return value
    flat = "".join(char if char.isprintable() else " " for char in value)
    return f"'{flat}" if flat.startswith(_FORMULA) else flat
