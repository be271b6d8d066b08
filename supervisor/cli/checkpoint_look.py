"""A glance at the checkpoints while sbatch works, in a process of its own: a filesystem that hangs holds nobody up."""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Final

from supervisor.cli.options import GlobalOptions

DEADLINE_S: Final = 0.25
"""After sbatch has answered."""


_WARNING: Final = "WARNING: "
"""As `look` writes it, which is not imported here: it brings what reads checkpoints."""
_DRY_RUN_S: Final = 2.0
"""Where nothing goes on beside the look."""


def sentence_on(url: str, deadline_s: float) -> str:
    """The sentence on these checkpoints; empty where none are named."""
    if not url:
        return ""
    try:
        look = CheckpointLook(url)
    except OSError:
        return ""
    try:
        return look.sentence(deadline_s)
    finally:
        look.close()


def tell_checkpoints(given: GlobalOptions, url: str) -> None:
    """The sentence on stderr, for a dry run."""
    sentence = "" if given.quiet else sentence_on(url, _DRY_RUN_S)
    if sentence:
        print(f"supervise: {sentence}", file=sys.stderr)


class CheckpointLook:
    """Begins at once; `sentence` says what was found by then."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "supervisor.cli.look", url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def sentence(self, deadline_s: float = DEADLINE_S) -> str:
        """`Checkpoints: /scratch/me/ck (newest whole: step 41200).`, or a warning about a place that looks wrong.

        After the deadline it says that nobody looked.
        """
        found = self._answer(time.monotonic() + deadline_s)
        if found.startswith(_WARNING):
            why = found.removeprefix(_WARNING)
            return (
                f"{_WARNING}--checkpoint {self.url}: {why}. Until it is there, a restart begins where the script does."
            )
        return f"Checkpoints: {self.url} ({found or 'not looked at'})."

    def close(self) -> None:
        """End the look; one that hangs in the filesystem is left behind."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdout is not None:
            self._process.stdout.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.05)

    def _answer(self, end: float) -> str:
        pipe = self._process.stdout
        if pipe is None:
            return ""
        text = b""
        while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            data = os.read(pipe.fileno(), 4096)
            if not data:
                return " ".join(text.decode(errors="replace").split())
            text += data
        return ""
