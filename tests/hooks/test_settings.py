"""The site's file."""

import re

import msgspec
import pytest

from supervisor.hooks.settings import HookSettings, settings_of
from tests.docs.pages import rows, section


def test_a_file_sets_what_it_names() -> None:
    """And leaves the rest."""
    settings, complaints = settings_of('drain = "act"\ndrain_in = ["health", "epilog"]\nfull_share = 0.9\n')
    assert complaints == ()
    assert (settings.drain, settings.drain_in, settings.full_share) == ("act", ("health", "epilog"), 0.9)
    assert settings.spool == HookSettings().spool


def test_by_default_nothing_is_drained_and_no_hook_fails() -> None:
    """A site must say so."""
    assert HookSettings().drain == "suggest"


@pytest.mark.parametrize(
    "text", ['drain = "act"\nfull_share = "much"\n', 'drain = "act"\nspol = "/x"\n', 'drain = "act"\n[']
)
def test_a_wrong_file_drains_nothing(text: str) -> None:
    """All is at its default then, whatever else it says."""
    settings, complaints = settings_of(text)
    assert settings == HookSettings()
    assert len(complaints) == 1


def test_all_mistakes_are_told_at_once() -> None:
    """With their keys."""
    _, complaints = settings_of('drain = "maybe"\nkeep_bytes = "x"\nspol = 1\n')
    assert [re.split(": ", text)[1] for text in complaints] == ["drain", "keep_bytes", "spol"]


def test_the_page_tells_every_setting_with_its_default() -> None:
    """In the order of the code."""
    table = rows(section("docs/hooks.md", "Settings"))
    told = {name.strip("`"): default.strip("`") for name, default, _ in table}
    fields = msgspec.structs.fields(HookSettings)
    assert list(told) == [field.name for field in fields]
    for field in fields:
        assert msgspec.toml.decode(f"value = {told[field.name]}")["value"] in (
            field.default,
            list(field.default) if isinstance(field.default, tuple) else None,
        )
