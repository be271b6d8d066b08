"""Running programs for the checks."""

import sys
from pathlib import Path

import pytest
from checks import run

_SH = "/bin/sh"


def _sh(text: str) -> list[str]:
    return [_SH, "-c", text]


@pytest.mark.parametrize(("text", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 137)])
def test_a_command_that_a_signal_ended_has_failed(text: str, code: int) -> None:
    """Popen's -9 would lose against the 0 of another command."""
    assert run.call(_sh(text), deadline_s=30) == code


def test_too_long_is_124_after_a_last_word(capfd: pytest.CaptureFixture[str]) -> None:
    """INT comes first, so that clusters are taken down."""
    assert run.call(_sh("trap 'echo heard; exit 0' INT; while :; do sleep 0.05; done"), deadline_s=0.5) == 124
    assert "heard" in capfd.readouterr().out


def test_two_run_at_once_and_are_told_one_after_the_other(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each waits for the other here; what the second says does not stand amid the first one's words."""
    meet = "touch {mine}; until [ -e {others} ]; do sleep 0.05; done; echo {mine}; echo {mine} >&2"
    first, second = tmp_path / "first", tmp_path / "second"
    code = run.beside(
        _sh(meet.format(mine=first, others=second)), _sh(meet.format(mine=second, others=first)), deadline_s=30
    )
    assert code == 0
    assert capfd.readouterr().out.split() == [str(first), str(second), str(second)]


@pytest.mark.parametrize(("first", "second"), [(0, 4), (4, 0), (4, 1)])
def test_either_of_two_may_fail(first: int, second: int) -> None:
    """And is not hidden by the other."""
    assert run.beside(_sh(f"exit {first}"), _sh(f"exit {second}"), deadline_s=30) == 4


def test_python_may_keep_its_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each of some thousand processes compiles all that it imports."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    asked = [sys.executable, "-c", "import sys; sys.exit(sys.dont_write_bytecode)"]
    assert run.call(asked, deadline_s=30) == 0
