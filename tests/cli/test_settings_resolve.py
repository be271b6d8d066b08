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


def test_rows_of_the_policy_come_together_from_all_sources(site: Path, tmp_path: Path) -> None:
    """A row that a user changes must not undo the site's others; of the same field the later source wins."""
    site.write_text("[policy.network]\nbudget = 4\nwait_s = 1.0\n[policy.segfault]\nbudget = 2\n")
    env = {"HOME": str(tmp_path), "SUPERVISE_POLICY": "network.budget=6 default.wait_s=3"}
    resolved = resolve([*from_files(env), *from_environment(env)])
    assert resolved.settings.policy == "network.budget=6 network.wait_s=1.0 segfault.budget=2 default.wait_s=3"
    assert resolved.origin["policy"] == f"{site}, SUPERVISE_POLICY"


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
        "mode": f"{site} line 2",
        "max_restarts": f"{user} line 1",
        "log_lines": "SUPERVISE_LOG_LINES",
        "lease_s": "#SUPERVISE in line 4",
        "spares": "command line",
    }


def test_an_empty_variable_is_not_set() -> None:
    """`SUPERVISE_SPARES= supervise …` takes back an exported one."""
    assert from_environment({"SUPERVISE_SPARES": ""}) == []


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("spares", "-1", "a whole number, 0 or more"),
        ("spares", "1.5", "a whole number, 0 or more"),
        ("spares", True, "a whole number, 0 or more"),
        ("mode", "act now", "one of: act, observe"),
        ("on_rank_exit", "sometimes", "one of: stalled, any, never"),
        ("lease_s", "nan", "a number of seconds, 0 or more"),
        ("lease_s", "inf", "a number of seconds, 0 or more"),
        ("lease_s", "-0.1", "a number of seconds, 0 or more"),
        ("max_lost_share", "1.1", "a share from 0 to 1, such as 0.1"),
        ("slurm_deadline_s", "0", "a number of seconds, more than 0"),
        ("checkpoint", 7, "a text in quotes"),
        ("off", "maybe", "true or false"),
        ("notify", "me@site", "URLs such as mailto:me@site or https://host/path, with blanks between them"),
        ("no_such", "1", "there is no such setting"),
        ("max_restart", "1", "there is no such setting; did you mean max_restarts?"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_may_be_written(name: str, value: object, allowed: str) -> None:
    """In a person's words, after what that person wrote."""
    with pytest.raises(UsageError) as caught:
        resolve([Given(name, value, "there", "as typed")])
    assert str(caught.value) == f"as typed: {allowed} (see supervise --help)"


def test_a_complaint_names_the_place_and_quotes_what_stands_there(site: Path) -> None:
    """The option, the variable, the line of the script, the line of the file."""
    site.write_text('# ours\n\nspares = 1\n"mode" = "now"\nlease_s = true\n')
    env = {"SUPERVISE_SPARES": "two three"}
    script = [Argument(3, "--on-rank-exit"), Argument(3, "sometimes")]
    options = from_options({"on_rank_exit": "never ever"})
    with pytest.raises(UsageError) as caught:
        resolve([*from_files(env), *from_environment(env), *from_directives(script), *options])
    head, *told = str(caught.value).split("\n  ")
    assert head == "5 settings cannot be used (see supervise --help):"
    assert told == [
        f'{site} line 4: mode = "now": one of: act, observe',
        f"{site} line 5: lease_s = true: a number of seconds, 0 or more",
        "SUPERVISE_SPARES='two three': a whole number, 0 or more",
        "#SUPERVISE in line 3: --on-rank-exit sometimes: one of: stalled, any, never",
        "--on-rank-exit 'never ever': one of: stalled, any, never",
    ]


def test_all_complaints_come_together() -> None:
    """Nobody wants to find them one by one."""
    with pytest.raises(UsageError) as caught:
        resolve([Given(name, "x", "there", f"{name} x") for name in ("spares", "mode", "nope")])
    assert all(typed in str(caught.value) for typed in ("spares x: ", "mode x: ", "nope x: "))


def test_a_misspelt_option_of_the_script_is_named_as_an_option() -> None:
    """And the setting of a file as it stands there."""
    with pytest.raises(UsageError, match=r"--sparse 1: there is no such setting; did you mean --spares\?"):
        resolve(from_directives([Argument(3, "--sparse"), Argument(3, "1")]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([Argument(3, "--spares=one"), Argument(3, "two")], "quote a value"),
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
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    shown = f"{default:g}" if is_number else str(default).lower() or "none"
    assert text.endswith(f"; default {shown}")
