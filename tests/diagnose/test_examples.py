"""Each signature has an example that it knows, and what only looks alike means nothing."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.diagnose.scan.lines import find_lines
from supervisor.diagnose.signatures import built_in, parse

_ROOT = Path(__file__).resolve().parents[2]
_DATA = _ROOT / "tests" / "data" / "signatures"
_PACKS = _ROOT / "supervisor" / "diagnose" / "packs"


def _packs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(_DATA.glob("*.toml")):
        yield path.stem, tomllib.loads(path.read_text(encoding="utf-8"))


def _examples() -> list[tuple[str, str]]:
    return [(name, line) for _, data in _packs() for name, lines in data.get("examples", {}).items() for line in lines]


def _noise() -> list[tuple[str, str]]:
    return [(pack, line) for pack, data in _packs() for line in data.get("noise", [])]


@pytest.mark.parametrize(("signature", "line"), _examples())
def test_a_signature_knows_its_example(signature: str, line: str) -> None:
    """The line is known by this signature; another pack may know it better, but this one has seen it."""
    assert signature in {hit.signature for hit in find_lines([line])}, list(find_lines([line]))


@pytest.mark.parametrize(("pack", "line"), _noise())
def test_noise_means_nothing(pack: str, line: str) -> None:
    """No signature takes the line for a cause; a hint that waits for what it explains is none."""
    assert not [hit.signature for hit in find_lines([line]) if hit.cause and hit.role != "context"], pack


@pytest.mark.parametrize("path", sorted(_PACKS.glob("*.toml")), ids=lambda path: str(path.stem))
def test_every_signature_has_an_example(path: Path) -> None:
    """A signature without an example may never match."""
    known = dict(_packs()).get(path.stem, {}).get("examples", {})
    missing = {one.id for one in parse(path.read_text(encoding="utf-8"), path.name)} - set(known)
    assert not missing


def test_there_are_hundreds() -> None:
    """The families of messages that a cluster sees are many."""
    assert len(built_in()) >= 300
