"""What the fuzzer is fed with, without running it."""

import re

import pytest
from fuzz import cli


@pytest.mark.parametrize("target", cli.TARGETS)
def test_seeds_and_words(target: str) -> None:
    """Each target starts from real inputs and knows the words that its readers look for, in libFuzzer's form."""
    assert len([one for one in cli._seeds(target) if one]) > 10
    words = list(cli._dictionary(target))
    assert len(words) >= 8
    assert all(re.fullmatch(r'"(?:[^"\\]|\\["\\])+"', one) for one in words)


def test_an_unknown_target(capsys: pytest.CaptureFixture[str]) -> None:
    """Told with the names of those there are, before anything is installed."""
    with pytest.raises(SystemExit):
        cli.main(["nonsense"])
    assert "choose of scanner, dump" in capsys.readouterr().err
