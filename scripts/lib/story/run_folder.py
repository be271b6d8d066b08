"""Reading a run folder from outside, with the standard library alone."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class RunFolder:
    """The files of one run; a file that is not there (yet) or half written is empty."""

    path: Path

    @property
    def status(self) -> Json:
        """`status.json`."""
        return _object(self.path / "status.json")

    def events(self, kind: str = "") -> list[Json]:
        """`events.jsonl`, oldest first; with `kind` only events of that type."""
        return [event for event in _lines(self.path / "events.jsonl") if kind in {"", event.get("type")}]

    def jobs(self) -> list[str]:
        """Ids of the jobs that were submitted for the run, oldest first."""
        return [line["job_id"] for line in _lines(self.path / "submissions.jsonl") if line.get("job_id")]

    def incidents(self) -> list[Json]:
        """Every record of an incident, oldest first; those of long ago stand in one file."""
        own = (_object(path) for path in sorted(self.path.glob("incidents/*/verdict.json")))
        found = {
            incident["incident"]: incident for incident in (*_lines(self.path / "incidents.jsonl"), *own) if incident
        }
        return [found[number] for number in sorted(found)]

    @property
    def attempts(self) -> int:
        """Number of the newest attempt; 0: none."""
        return max((int(event["attempt"]) for event in self.events("attempt_started")), default=0)

    def log(self) -> str:
        """`supervisor.log`."""
        return text_of(self.path / "supervisor.log")


def _object(path: Path) -> Json:
    with suppress(OSError, ValueError):
        found: Json = json.loads(path.read_bytes())
        return found
    return {}


def _lines(path: Path) -> list[Json]:
    found = []
    with suppress(OSError):
        for line in path.read_bytes().splitlines():
            with suppress(ValueError):
                found.append(json.loads(line))
    return found


def text_of(path: Path) -> str:
    """The text of a file; empty where it cannot be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


def tail(text: str, lines: int = 40) -> str:
    """Its last lines."""
    return "\n".join(text.splitlines()[-lines:])
