"""Runs the keeper of `supervise run` as a child whose output passes through here, so that it is evidence.

Of a batch job Slurm keeps the output in a file, and there the supervisor reads it. What a command prints to a terminal
or into a pipe is nowhere: its last megabytes are kept in the run folder while they pass. A full disk costs that alone.
"""

import ctypes
import os
import pty
import select
import signal
import stat
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supervisor.ledger.run_folder import OUTPUT_FILES

LIMIT_BYTES: Final = 4_000_000
"""What is kept begins anew beyond this; the supervisor has read it by then."""
_OUT, _ERR = 1, 2
_CHUNK_BYTES: Final = 1 << 16
_LOOK_S: Final = 0.2
_REST_S: Final = 1.0
"""For the last words of what outlives the keeper."""
HOP_ENDS: Final = signal.SIGUSR2
"""What the login node's side sends for a SIGTERM: for that, srun would kill the step at once. It passes on only this
one and SIGUSR1, which stays what it is."""
_PASSED_ON: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG: Final = 1


@dataclass(slots=True, kw_only=True)
class _Channel:
    """One of the two ways that output takes, or both where they lead to one place."""

    source: int
    """Where the output comes in."""
    writer: int
    """What the keeper has in place of the sink."""
    sink: int | None
    kept: int | None

    class _Signals:
    """Each of these signals becomes its other one for a process, from before it begins.

    What is ignored on purpose (nohup) stays so.
    """

    def __init__(self, numbers: Mapping[signal.Signals, signal.Signals]) -> None:
        self._numbers = numbers
        self._early: list[signal.Signals] = []
        self._process: subprocess.Popen[bytes] | None = None
        for number in numbers:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda received, _: self._hear(signal.Signals(received)))

    def go_to(self, process: "subprocess.Popen[bytes]") -> None:
        """The process is there."""
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def _hear(self, number: signal.Signals) -> None:
        if self._process is None:
            self._early.append(self._numbers[number])
        else:
            self._process.send_signal(self._numbers[number])


def _ended_as(code: int) -> int:
    if code < 0:
        with suppress(OSError):  # of one that cannot be caught
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code if code >= 0 else 128 - code


def _is_file(number: int) -> bool:
    """A regular file, or closed: nothing to be passed on."""
    try:
        return stat.S_ISREG(os.fstat(number).st_mode)
    except OSError:
        return True


def _is_written(sink: int, data: bytes) -> bool:
    """False where its reader is gone: the command goes on, as it would behind `nohup`."""
    while data:
        try:
            data = data[os.write(sink, data) :]
        except BlockingIOError:
            select.select([], [sink], [])
        except OSError:
            return False
    return True
