"""The version, not in `supervisor/__init__.py`: uninstalling supervisord, of the same name, takes that file away."""

from typing import Final

VERSION: Final = "0.1.0"
