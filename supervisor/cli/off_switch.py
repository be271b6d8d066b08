"""The emergency off-switch: whether `supervise` is to stand aside, and who says so."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from supervisor.cli.options import GlobalOptions
from supervisor.errors import UsageError
from supervisor.settings_resolve import (
    Given,
    from_environment,
    from_options,
    from_site_file,
    from_user_file,
    resolve,
)

SITE_SWITCH: Final = Path("/etc/supervise/off")
"""While it exists nothing is supervised, whatever the settings say."""
_NAME: Final = "off"


def switched_off(env: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Where it is switched off; empty: it is not.

    Asked before anything else and never raises: a file that is broken elsewhere must not hold up a job that is meant
    to go to plain sbatch. What cannot be read here is complained about when the settings are resolved.
    """
    with suppress(OSError):
        if SITE_SWITCH.exists():
            return str(SITE_SWITCH)
    place = ""
    sources: tuple[Callable[[], list[Given]], ...] = (
        from_site_file,
        lambda: from_user_file(env),
        lambda: from_environment(env),
        lambda: from_options(options),
    )
    for source in sources:
        with suppress(UsageError):
            for item in source():
                if item.name == _NAME:
                    place = item.source if resolve([item]).settings.off else ""
    return place


def tell(given: GlobalOptions, place: str, program: str) -> None:
    """One line on stderr, where the caller wants any words."""
    if not given.quiet:
        print(f"supervise: switched off by {place}: {program} runs WITHOUT supervision", file=sys.stderr, flush=True)
