"""Where a setting comes from, and what is complained about."""

from pathlib import Path

import msgspec
import pytest

from supervisor import settings_resolve
from supervisor.cli.options import SETTINGS
from supervisor.errors import UsageError
from supervisor.settings import Settings
from supervisor.settings_resolve import (
    Given,
    from_directives,
    from_environment,
    from_files,
    from_options,
    resolve,
)
from supervisor.slurm.directives import Argument


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The site's file, in the test's folder."""
    path = tmp_path / "site.toml"
    monkeypatch.setattr(settings_resolve, "SITE_FILE", path)
    return path


def test_without_any_source_the_defaults_hold(site: Path, tmp_path: Path) -> None:
    """And nothing has an origin."""
    resolved = resolve(from_files({"HOME": str(tmp_path)}))
    assert resolved.settings == Settings()
    assert resolved.origin == {}


def test_later_sources_win_and_are_named(site: Path, tmp_path: Path) -> None:
    """Site, user, environment, script, command line, in this order."""
    site.write_text('spares = 1\nmode = "observe"\nmax_restarts = 1\nlog_lines = 1\nlease_s = 1\n')
    user = tmp_path / "user.toml"
    user.write_text("max_restarts = 2\nlog_lines = 2\nlease_s = 2\nspares = 2\n")
    env = {"SUPERVISE_CONFIG": str(user), "SUPERVISE_LOG_LINES": "3", "SUPERVISE_LEASE_S": "3", "SUPERVISE_SPARES": "3"}
    lines = [Argument(4, "--lease-s=4"), Argument(5, "--spares"), Argument(5, "4")]
    sources = [*from_files(env), *from_environment(env), *from_directives(lines), *from_options({"spares": "5"})]
    resolved = resolve(sources)
    assert resolved.settings == Settings(mode="observe", max_restarts=2, log_lines=3, lease_s=4.0, spares=5)
    assert resolved.origin == {
        "mode": str(site),
        "max_restarts": str(user),
        "log_lines": "SUPERVISE_LOG_LINES",
        "lease_s": "#SUPERVISE in line 4",
        "spares": "command line",
    }


def test_an_empty_variable_is_not_set() -> None:
    """`SUPERVISE_SPARES= supervise …` takes back an exported one."""
    assert from_environment({"SUPERVISE_SPARES": ""}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spares", "-1"),
        ("spares", "1.5"),
        ("spares", True),
        ("mode", "act now"),
        ("lease_s", "nan"),
        ("lease_s", "inf"),
        ("lease_s", "-0.1"),
        ("max_lost_share", "1.1"),
        ("slurm_deadline_s", "0"),
        ("checkpoint", 7),
        ("no_such", "1"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_source(name: str, value: object) -> None:
    """Named with setting, value and where it came from."""
    with pytest.raises(UsageError) as caught:
        resolve([Given(name, value, "the file")])
    assert f"{name} = {value!r} (the file)" in str(caught.value)


def test_all_complaints_come_together() -> None:
    """Nobody wants to find them one by one."""
    with pytest.raises(UsageError) as caught:
        resolve([Given("spares", "x", "a"), Given("mode", "y", "b"), Given("nope", "z", "c")])
    assert all(place in str(caught.value) for place in ("(a)", "(b)", "(c)"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([Argument(3, "spares"), Argument(3, "1")], "write --spares"),
        ([Argument(3, "--spares")], "has no value"),
        ([Argument(3, "--spares"), Argument(4, "1")], "has no value"),
    ],
)
def test_a_supervise_line_that_cannot_be_read_is_named(arguments: list[Argument], words: str) -> None:
    """With its line."""
    with pytest.raises(UsageError, match=words) as caught:
        from_directives(arguments)
    assert "line 3" in str(caught.value)


def test_a_file_that_is_named_must_be_there(tmp_path: Path, site: Path) -> None:
    """The usual ones need not."""
    with pytest.raises(UsageError, match="SUPERVISE_CONFIG"):
        from_files({"SUPERVISE_CONFIG": str(tmp_path / "nowhere.toml")})


def test_a_file_that_is_no_toml_is_named(site: Path) -> None:
    """With what the parser says."""
    site.write_text("spares 1\n")
    with pytest.raises(UsageError, match=r"site\.toml cannot be read"):
        from_files({})


def test_each_setting_has_its_option_and_no_option_lacks_one() -> None:
    """The table of the command line and the settings are two lists of one thing."""
    assert [name for name, _, _ in SETTINGS] == [field.name for field in msgspec.structs.fields(Settings)]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, _, text in SETTINGS])
def test_the_help_of_an_option_ends_with_its_default(name: str, text: str) -> None:
    """What happens without the option."""
    default = getattr(Settings(), name)
    shown = f"{default:g}" if isinstance(default, int | float) else default or "none"
    assert text.endswith(f"; default {shown}")
