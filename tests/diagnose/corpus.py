"""The project's own incidents: written as files of one bundle each, a third kept aside while the engine is tuned."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "data" / "incidents"


@dataclass(frozen=True, slots=True)
class Incident:
    """One bundle and what a careful expert says of it."""

    name: str
    cls: str
    cause: str
    accepted: tuple[str, ...]
    nodes: tuple[str, ...]
    is_excluded: bool
    is_retryable: bool
    files: dict[str, str]

    def write(self, folder: Path) -> Path:
        """Lay the bundle out in this folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # Parts are written with their newlines as they stand: \r belongs to progress bars.
            path.write_bytes(text.lstrip("\n").encode())
        return folder


def incidents(half: str) -> list[Incident]:
    """`tuned` or `aside`."""
    return [_incident(path) for path in sorted((_FOLDER / half).glob("*.toml"))]


def _incident(path: Path) -> Incident:
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    return Incident(
        name=path.stem,
        cls=told["class"],
        cause=told["cause"],
        accepted=(told["class"], *told.get("also_accept", [])),
        nodes=tuple(told.get("nodes", [])),
        is_excluded=bool(told.get("exclude")),
        is_retryable=bool(told.get("retryable")),
        files=told["files"],
    )
