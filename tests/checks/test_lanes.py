"""Which tests run beside which."""

from pathlib import Path

import pytest
from checks import lanes, run


def test_every_test_is_in_exactly_one_lane(monkeypatch: pytest.MonkeyPatch, checkout: Path) -> None:
    """What the other lanes name the last one leaves out, so that a new file is in one, wherever it lies."""
    told: list[list[str]] = []

    def beside(*lanes: list[str], deadline_s: float) -> int:
        told.extend(lanes)
        return int(deadline_s)

    monkeypatch.setattr(run, "beside", beside)
    assert lanes.tests(Path("python"), deadline_s=7) == 7
    *others, last = told
    named = [word for lane in others for word in lane if word.startswith("tests/")]
    assert len(set(named)) == len(named) > len(others)
    assert [word.removeprefix("--ignore=") for word in last if word.startswith("--ignore=")] == named
    assert not [word for word in last if word.startswith("tests/")]
    assert all((checkout / path).is_file() for path in named)
