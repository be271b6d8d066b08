"""`supervise ledger`: as an admin types it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.main import cli
from supervisor.errors import UsageError
from supervisor.ledger.site.names import month_after, months_before
from tests.ledger.site.made import bytes_of, job

_Type = Callable[..., Result]


@pytest.fixture
def type_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Type:
    """Runs `supervise WORDS` with no settings but those of the test."""
    monkeypatch.setattr("supervisor.settings_resolve.SITE_FILE", tmp_path / "none.toml")
    for name in list(os.environ):
        if name.startswith("SUPERVISE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, list(words))

    return run


def _said(result: Result) -> str:
    assert result.exception is None, result.exception
    return result.stdout


def test_a_ledger_is_made_and_told(type_in: _Type, tmp_path: Path) -> None:
    """What was made, and the line that makes jobs use it."""
    root = tmp_path / "ledger"
    said = _said(type_in("ledger", "init", str(root), "--cluster", "c1"))
    assert said.startswith(f"made: {root}, {root}/.nodes, {root}/c1, ")
    assert f'ledger = "{root}"' in said
    assert (root / "c1").is_dir()
    assert _said(type_in("ledger", "init", str(root), "--cluster", "c1")).startswith(f"{root} is as it should be")


@pytest.mark.parametrize("words", [("--dry-run", "ledger", "init"), ("ledger", "init", "--dry-run")])
def test_a_dry_run_makes_nothing(type_in: _Type, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Wherever the option stands."""
    root = tmp_path / "ledger"
    assert _said(type_in(*words, str(root), "--cluster", "c1")).startswith(f"would be made: {root}, ")
    assert not root.exists()


def test_without_a_cluster_it_is_said_what_that_means(type_in: _Type, tmp_path: Path) -> None:
    """Files side by side are slow to list after a year."""
    assert "Without --cluster NAME" in _said(type_in("ledger", "init", str(tmp_path / "ledger")))
    result = type_in("ledger", "upkeep", str(tmp_path / "ledger"))
    said = result.stdout
    assert result.exit_code == ExitCode.FAILED
    assert f"no folder for any cluster: supervise ledger init {tmp_path / 'ledger'} --cluster NAME" in said


def test_upkeep_says_what_it_did(type_in: _Type, tmp_path: Path) -> None:
    """In numbers first, then one by one; the same with `--json`."""
    root = tmp_path / "ledger"
    _said(type_in("ledger", "init", str(root), "--cluster", "c1"))
    this = min(path.name for path in (root / "c1").iterdir())
    old, gone = months_before(this, 3), months_before(this, 20)
    for month in (old, gone):
        (root / "c1" / month).mkdir()
        path = root / "c1" / month / "1-a.jsonl"
        path.write_bytes(bytes_of(job(1)))
        os.utime(path, (1.0, 1.0))
    dry = _said(type_in("ledger", "upkeep", str(root), "--dry-run"))
    assert f"{root}: would be done: 1 file moved into 1 month, 1 month or file removed as too old" in dry
    answer = json.loads(_said(type_in("--json", "ledger", "upkeep", str(root))))
    assert (answer["compacted"], answer["removed"]) == ({f"c1/{old}.jsonl": 1}, [f"c1/{gone}"])
    assert answer["blockers"] == []
    assert _said(type_in("ledger", "upkeep", str(root))) == f"{root}: nothing to do\n"


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_upkeep_fails_where_something_was_left(type_in: _Type, tmp_path: Path, as_json: tuple[str, ...]) -> None:
    """A timer's unit is red as long as a month cannot be put together; what could be done is done."""
    root = tmp_path / "ledger"
    _said(type_in("ledger", "init", str(root), "--cluster", "c1"))
    month = months_before(min(path.name for path in (root / "c1").iterdir()), 3)
    (root / "c1" / month).symlink_to(tmp_path)
    (root / "c1/2020-01.jsonl").write_bytes(b"")
    result = type_in(*as_json, "ledger", "upkeep", str(root))
    assert result.exit_code == ExitCode.FAILED
    assert f"c1/{month}: Not a directory: left as it is" in result.stdout
    assert not as_json or json.loads(result.stdout)["exit"] == ExitCode.FAILED
    assert not (root / "c1/2020-01.jsonl").exists()


def test_the_ledger_is_the_setting_where_none_is_named(
    type_in: _Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the jobs know it, and so long as the site keeps it."""
    root = tmp_path / "ledger"
    _said(type_in("ledger", "init", str(root), "--cluster", "c1"))
    monkeypatch.setenv("SUPERVISE_LEDGER", str(root))
    (root / "c1/2020-01.jsonl").write_bytes(b"")
    kept = _said(type_in("--ledger-keep", "99999d", "ledger", "upkeep", "--dry-run"))
    assert "removed" not in kept
    assert "c1/2020-01.jsonl" in _said(type_in("ledger", "upkeep", "--dry-run"))


def test_what_cannot_be_done_is_said(type_in: _Type, tmp_path: Path) -> None:
    """With what to do about it."""
    for words, told in (
        (("ledger", "upkeep"), "no ledger is set"),
        (("ledger", "upkeep", str(tmp_path / "none")), "cannot be kept up: No such file"),
        (("--ledger-keep", "1y", "ledger", "upkeep", str(tmp_path)), "no number of days"),
        (("ledger", "init", "/proc/nothing"), "cannot be made"),
        (("ledger", "init", str(tmp_path / "new"), "--group", "no-such-group"), "no such group"),
    ):
        result = type_in(*words)
        assert isinstance(result.exception, UsageError)
        assert told in str(result.exception)


def test_months_are_counted_over_the_turn_of_the_year() -> None:
    """Folders ahead in December, old months in January."""
    assert month_after("2026-12") == "2027-01"
    assert months_before("2027-01", 2) == "2026-11"
    assert months_before("2027-01", 13) == "2025-12"
