"""Fixtures of the daemon's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.scripts import Scripts


@pytest.fixture
def scripts(tmp_path: Path) -> Iterator[Scripts]:
    """Real scripts in a folder of their own."""
    made = Scripts(tmp_path)
    yield made
    made.clear()
