"""Where the report takes its jobs from."""

import io
import sys

import pytest

from supervisor.cli.report_source import history_from_sacct
from supervisor.model.accounts import Accounts


class _Stderr(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize("is_terminal", [True, False])
def test_who_waits_for_accounting_is_told_for_what(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> None:
    """A database that hangs takes five minutes; a script is told nothing."""

    async def none(*_: object, **__: object) -> Accounts:
        return Accounts(jobs=())

    monkeypatch.setattr("supervisor.slurm.accounting.read_accounts", none)
    stderr = _Stderr(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", stderr)
    assert not history_from_sacct(0.0, 7 * 86_400.0, None).jobs
    told = "supervise: asking Slurm's accounting for 7 days of all users' jobs, at most 300 s\n"
    assert stderr.getvalue() == (told if is_terminal else "")
