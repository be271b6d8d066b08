"""`supervise hook`, as far as it is not the hooks themselves."""

import syslog

import pytest

from supervisor.cli import hook


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_hook_that_does_not_work_is_heard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_dry: bool
) -> None:
    """Of a hook that ends with 0 slurmd logs nothing: without the system's log nobody would ever know."""
    told: list[tuple[int, str]] = []
    monkeypatch.setattr(syslog, "syslog", lambda level, text: told.append((level, text)))
    hook.tell("health does not run: x", is_dry=is_dry)
    assert capsys.readouterr().err == "supervise: health does not run: x\n"
    assert told == ([] if is_dry else [(syslog.LOG_ERR, "health does not run: x")])
