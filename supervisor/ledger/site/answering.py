"""Whether a ledger's filesystem answers at all: whoever asks for a report is not to wait for a dead server."""

import os
import threading
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from supervisor.errors import SuperviseError

_ANSWER_S: Final = 10.0
"""A server that is busy answers in less, also where it has to spin up a disk."""
_SOME: Final = 20


def must_answer(root: Path) -> None:
    """Raises `SuperviseError` where nobody can even look into the folder in time.

    Why else it cannot be read is left to the one who reads it.
    """
    looker = threading.Thread(target=_look, args=(root,), name="ledger", daemon=True)
    looker.start()
    looker.join(_ANSWER_S)
    if looker.is_alive():
        raise SuperviseError(
            f"the ledger {root} gives no answer in {_ANSWER_S:g} s: see whether its file server is well, and try again"
        )


def _look(root: Path) -> None:
    """At the folder and at some of what is in it: the folder alone may come from this machine's memory."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in islice(entries, _SOME):
            entry.stat(follow_symlinks=False)
