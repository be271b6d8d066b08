"""`supervise config`: what counts, where it came from, and whether a file can be used."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from supervisor import settings_resolve
from supervisor.cli import off_switch
from supervisor.cli.main import cli
from supervisor.cli.setting_words import described
from supervisor.cli.shown_value import shown
from supervisor.errors import UsageError
from supervisor.settings import Settings

_Type = Callable[..., Result]
_NAMES = [field.name for field in msgspec.structs.fields(Settings)]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The site's file, in the test's folder; the switch beside it."""
    path = tmp_path / "site.toml"
    monkeypatch.setattr(settings_resolve, "SITE_FILE", path)
    monkeypatch.setattr(off_switch, "SITE_SWITCH", tmp_path / "off")
    return path


@pytest.fixture
def type_in(work: Path, site: Path) -> _Type:
    """Runs `supervise WORDS`."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, list(words))

    return run


def test_each_setting_is_shown_with_its_place(
    type_in: _Type, site: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From every kind of source, the strongest one that sets it."""
    site.write_text('mode = "observe"\nspares = 1\nmax_restarts = 1\nlog_lines = 1\nstall_s = 1\n')
    user = work.parent / "home/.config/supervise/config.toml"
    user.parent.mkdir(parents=True)
    user.write_text("spares = 2\nmax_restarts = 2\nlog_lines = 2\nstall_s = 2\n")
    monkeypatch.setenv("SUPERVISE_MAX_RESTARTS", "3")
    monkeypatch.setenv("SUPERVISE_LOG_LINES", "3")
    monkeypatch.setenv("SUPERVISE_STALL_S", "3")
    (work / "train.sh").write_text("#!/bin/sh\n#SUPERVISE --log-lines 4 --stall-s 4\ntrue\n")
    answer = json.loads(type_in("--json", "--stall-s", "5", "config", "--script", "train.sh").stdout)
    told = {one["name"]: (one["value"], one["origin"]) for one in answer["settings"] if one["origin"] != "default"}
    assert told == {
        "mode": ("observe", f"{site} line 1"),
        "spares": (2, f"{user} line 1"),
        "max_restarts": (3, "SUPERVISE_MAX_RESTARTS"),
        "log_lines": (4, "#SUPERVISE in line 2"),
        "stall_s": (5.0, "command line"),
    }
    assert [one["name"] for one in answer["settings"]] == _NAMES
    (stall,) = [one for one in answer["settings"] if one["name"] == "stall_s"]
    assert stall["overridden"] == [
        f"{site} line 5",
        f"{user} line 4",
        "SUPERVISE_STALL_S",
        "#SUPERVISE in line 2",
    ]


def test_the_list_is_one_line_for_each(type_in: _Type, site: Path) -> None:
    """With a first line that tells how many were changed."""
    site.write_text("spares = 1\n")
    head, *lines = type_in("config").stdout.splitlines()
    assert head == f"{len(_NAMES)} settings, 1 set somewhere, the others at their default."
    assert [line.split()[0] for line in lines] == _NAMES
    assert lines[1].split() == ["spares", "1", *f"{site} line 1".split()]


def test_the_list_has_its_columns_whatever_a_value_is(type_in: _Type, site: Path) -> None:
    """A folder is longer than a number."""
    site.write_text('ledger = "/srv/supervise/of/the/site"\n')
    lines = type_in("config").stdout.splitlines()[1:]
    assert {line.find(line.split(maxsplit=2)[2]) for line in lines if "default" in line} == {
        next(line.find(str(site)) for line in lines if "ledger " in line)
    }


@pytest.mark.parametrize("name", ["max_lost_share", "--max-lost-share", "SUPERVISE_MAX_LOST_SHARE"])
def test_one_setting_is_explained(type_in: _Type, site: Path, name: str) -> None:
    """By whatever name it was met: what it does, what may be written, how it is set, what it overrides."""
    site.write_text("max_lost_share = 0.2\n")
    said = type_in("--max-lost-share", "0.3", "config", "--", name).stdout
    assert said.startswith("max_lost_share = 0.3\n  from     command line\n")
    for words in (
        f"  over     {site} line 1\n",
        "Share of the requested node-seconds",
        "  allowed  a share from 0 to 1, such as 0.1\n",
        "  default  0.1\n",
        "--max-lost-share, #SUPERVISE --max-lost-share, SUPERVISE_MAX_LOST_SHARE, or max_lost_share = … in a file",
    ):
        assert words in said


def test_all_are_explained(type_in: _Type) -> None:
    """And nothing is said of a setting that says nothing of itself."""
    said = type_in("config", "--explain").stdout
    assert all(f"\n{name} = " in said and described()[name].splitlines()[0] in said for name in _NAMES)


def test_a_setting_that_is_not_there_is_told_with_what_was_meant(type_in: _Type) -> None:
    """As everywhere: code 2."""
    result = type_in("config", "max_restart")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == "there is no setting 'max_restart'; did you mean max_restarts?"


def test_sources_that_cannot_be_used_are_told_with_code_1(type_in: _Type, site: Path) -> None:
    """All complaints, as a submission would have them."""
    site.write_text("spares = -1\nnope = 2\n")
    result = type_in("config")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{site} line 1: spares = -1: a whole number, 0 or more" in result.stderr
    assert f"{site} line 2: nope = 2: there is no such setting" in result.stderr
    answer = json.loads(type_in("--json", "config").stdout)
    assert len(answer["blockers"]) == 3


def test_a_file_can_be_checked_before_it_counts(type_in: _Type, work: Path) -> None:
    """Nothing but this file is looked at."""
    path = work / "new.toml"
    path.write_text('spares = 1\nnotify = "mailto:ops@site"\n')
    result = type_in("config", "--check", str(path))
    assert (result.exit_code, result.stdout) == (0, f"{path}: 2 settings, can be used.\n")
    path.write_text('mode = "now"\n')
    result = type_in("config", "--check", str(path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert f'{path} line 1: mode = "now": one of: act, observe' in result.stderr
    assert json.loads(type_in("config", "--check", str(path), "--json").stdout)["blockers"]


@pytest.mark.parametrize(("text", "why"), [(None, "No such file"), ("spares 1\n", "cannot be read")])
def test_a_file_that_cannot_be_read_is_told(type_in: _Type, work: Path, text: str | None, why: str) -> None:
    """With code 1, like one that holds mistakes."""
    path = work / "new.toml"
    if text is not None:
        path.write_text(text)
    result = type_in("config", "--check", str(path))
    assert result.exit_code == 1
    assert f"{path} cannot be read: " in result.stderr
    assert why in result.stderr


def test_a_script_that_is_not_there_is_told(type_in: _Type) -> None:
    """Its lines would have counted."""
    result = type_in("config", "--script", "none.sh")
    assert (result.exit_code, result.stderr) == (1, "supervise: none.sh cannot be read: No such file or directory\n")


def test_the_schema_is_that_of_the_settings(type_in: _Type) -> None:
    """Each with type, default, sentence and range; nothing else may stand in a file."""
    schema = json.loads(type_in("config", "--schema").stdout)
    assert list(schema["properties"]) == _NAMES
    assert schema["additionalProperties"] is False
    assert all(entry["description"] for entry in schema["properties"].values())
    assert schema["properties"]["mode"]["enum"] == ["act", "observe"]
    assert schema["properties"]["max_lost_share"] | {"description": ""} == {
        "type": "number",
        "default": 0.1,
        "description": "",
        "minimum": 0,
        "maximum": 1,
    }
    assert schema["properties"]["slurm_deadline_s"]["exclusiveMinimum"] == 0


def test_a_switched_off_site_is_told_first(type_in: _Type, site: Path) -> None:
    """Before somebody wonders about the other values."""
    (site.parent / "off").touch()
    assert type_in("config").stdout.startswith(f"SWITCHED OFF by {site.parent / 'off'}: nothing is supervised.")


def test_what_makes_a_url_a_secret_is_not_shown(type_in: _Type) -> None:
    """Who has the path of a webhook can post there."""
    value = "mailto:ops@site https://u:p@hooks.example.com/T1/B2?k=3 slack://aaa/bbb http://h"
    assert shown("notify", value) == "mailto:ops@site https://hooks.example.com/*** slack:*** http://h/***"
    answer = type_in("--dry-run", "--notify", "https://h.example/T1/B2", "run", "true").stdout
    assert "setting  notify = https://h.example/*** (command line)" in answer
    assert shown("checkpoint", "s3://bucket/ck") == "s3://bucket/ck"
