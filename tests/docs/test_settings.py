"""Settings are what the documents and the code say."""

import re
from pathlib import Path

import msgspec
import pytest

from supervisor.settings import Settings

_CHECKOUT = Path(__file__).resolve().parents[2]
_NAMES = [field.name for field in msgspec.structs.fields(Settings)]


@pytest.mark.parametrize("name", _NAMES)
def test_each_setting_is_read_somewhere(name: str) -> None:
    """A setting that nothing reads is a promise that nobody keeps."""
    pattern = re.compile(rf"settings\.{name}\b")
    readers = [
        path for path in (_CHECKOUT / "supervisor").rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert readers
