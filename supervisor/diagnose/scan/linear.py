"""Patterns of a site's own packs, in an engine whose time grows with the line and not with the pattern's nesting."""

import re
from typing import cast

from supervisor.diagnose.signatures import Signature
from supervisor.errors import UsageError


def compile_linear(signature: Signature) -> re.Pattern[str]:
    """The pattern, with the methods of `re`. Raises `UsageError` where the engine is missing or refuses it."""
    try:
        import re2  # an extra: only a site with signatures of its own needs it
    except ImportError as exc:
        raise UsageError(
            f"signature {signature.id} comes from a pack of this site; such patterns run in RE2: "
            "pip install 'slurm-supervise[packs]'"
        ) from exc
    try:
        return cast("re.Pattern[str]", re2.compile(signature.pattern))
    except re2.error as exc:
        raise UsageError(
            f"signature {signature.id}: RE2 refuses its pattern ({exc}); look-around is not possible"
        ) from exc
