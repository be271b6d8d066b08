"""What the archive holds. Pure."""

from dataclasses import asdict, dataclass
from typing import Final

import msgspec

from supervisor.report.fleet.as_csv import as_csv
from supervisor.report.fleet.model import FleetReport
from supervisor.report.html.page import page

_README: Final = """\
Evidence of a report of `supervise`.

report.html          the report to read: one file, nothing else is needed
figures.json         every figure of it
interruptions.csv    one row for each interruption
proof.jsonl          one line of JSON for each interruption: its ids, and the log lines that prove it where the run
                     folder could be read; secrets are replaced by ***
how.json             the command, the versions, the window of time
MANIFEST             SHA-256 of each of these: sha256sum -c MANIFEST

The archive holds no times of its own: the same report packed again gives the same bytes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a report was made, so that somebody else can make it again."""

    commands: tuple[str, ...]
    """As they would be typed."""
    versions: dict[str, str]


def files(report: FleetReport, *, how: How, figures: bytes, proof: bytes) -> dict[str, bytes]:
    """Name to content. `figures` are those of `--json`, `proof` those of `proof.proof`."""
    window = {"source": report.source, "place": report.place, "since": report.since, "until": report.until}
    rows = {"interruptions": report.interruptions, "interruptions_here": len(report.rows)}
    told = msgspec.json.encode({**asdict(how), **window, **rows})
    return {
        "README": _README.encode(),
        "report.html": page(report).encode(),
        "figures.json": msgspec.json.format(figures) + b"\n",
        "interruptions.csv": as_csv(report).encode(errors="replace"),
        "proof.jsonl": proof,
        "how.json": msgspec.json.format(told) + b"\n",
    }
