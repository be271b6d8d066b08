"""The folder that the user stands in, by the name that other nodes know."""

import os
from collections.abc import Mapping
from contextlib import suppress


def named_workdir(env: Mapping[str, str]) -> str:
    """This folder as the user's shell names it: on automounted homes the kernel's name is known on this node alone."""
    here, named = os.getcwd(), env.get("PWD", "")  # noqa: PTH109  # a text
    with suppress(OSError):
        if named.startswith("/") and os.path.samefile(here, named):  # noqa: PTH121  # compares two texts
            return named
    return here
