"""What jobs print every day beside what matters: the verdict stays."""

import tomllib
from pathlib import Path
from typing import Final

import pytest

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from tests.diagnose.corpus import incidents

_FILE: Final = Path(__file__).resolve().parents[1] / "data" / "diagnose" / "everyday.toml"
_NOISE: Final[dict[str, dict[str, str]]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
_OF_PROGRAMS: Final = (".log", ".out", ".err")
_STRIDE: Final = 9
"""Every ninth incident is enough: all of them take minutes."""
_FEW: Final = 0.03
"""Of the incidents that live from one odd word of one rank, or from the last line alone."""


@pytest.mark.parametrize(("place", "kind"), [(place, kind) for place in _NOISE for kind in _NOISE[place]])
def test_everyday_lines_change_no_class(place: str, kind: str, tmp_path: Path) -> None:
    """Neither in front of a log nor below it, whatever the incident is."""
    seen = changed = 0
    for number, incident in enumerate(incidents("tuned")):
        if number % _STRIDE:
            continue
        bundle = incident.write(tmp_path / incident.name)
        before = diagnose(read_bundle(bundle)).cls
        _add(tmp_path / incident.name, _NOISE[place][kind].lstrip("\n"), place)
        seen += 1
        changed += diagnose(read_bundle(bundle)).cls is not before
    assert changed <= _FEW * seen, f"{changed} of {seen}"


def _add(folder: Path, noise: str, place: str) -> None:
    for path in folder.rglob("*"):
        is_programs = path.suffix in _OF_PROGRAMS and path.parent.name != "kernel" and path.stem != "slurm"
        if is_programs and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace").rstrip("\n") + "\n"
            path.write_text(noise + text if place == "before" else text + noise, encoding="utf-8")
