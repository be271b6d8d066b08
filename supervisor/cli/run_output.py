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

    def pass_on(self) -> bool:
        """What is there, to the sink and into the file; False once nobody can write any more."""
        try:
            data = os.read(self.source, _CHUNK_BYTES)
        except OSError:  # a pseudo-terminal says so where a pipe has an end
            return False
        if data and self.sink is not None:
            self.sink = self.sink if _is_written(self.sink, data) else None
        if data and self.kept is not None:
            self._keep(self.kept, data)
        return bool(data)

    def _keep(self, file: int, data: bytes) -> None:
        try:
            if os.fstat(file).st_size + len(data) > LIMIT_BYTES:
                os.ftruncate(file, 0)
            os.write(file, data)
        except OSError:
            self.kept = None


def is_needed() -> bool:
    """Some of the output goes nowhere where the supervisor could read it."""
    return any(not _is_file(number) for number in (_OUT, _ERR))


def run_keeper(argv: Sequence[str], env: Mapping[str, str], folder: Path, *, is_behind_hop: bool = False) -> int:
    """The keeper's exit code, with its output passed on; ends by the signal that the keeper ended by.

    Raises `OSError` where it cannot be started.
    """
    channels = _opened(folder)
    writers = {number: channel.writer for number, channel in channels.items()}
    libc = ctypes.CDLL(None)
    same = {number: number for number in _PASSED_ON}
    signals = _Signals({**same, HOP_ENDS: signal.SIGTERM} if is_behind_hop else same)
    keeper = subprocess.Popen(
        list(argv),
        stdout=writers.get(_OUT),
        stderr=writers.get(_ERR),
        env=env,
        close_fds=False,
        process_group=0,  # signals come through here, each once
        preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM),  # noqa: PLW1509  # there are no threads
    )
    signals.go_to(keeper)
    open_ones = list({channel.source: channel for channel in channels.values()}.values())
    for channel in open_ones:
        os.close(channel.writer)
    _relay(keeper, open_ones)
    return _ended_as(keeper.wait())


def run_hop(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """The exit code of an srun that runs `run_keeper` on a node: whoever ends it, even by SIGKILL, ends that well.

    srun alone would kill the step, and the ranks, which are in another one, would live on.
    """
    libc = ctypes.CDLL(None)
    signals = _Signals({**dict.fromkeys(_PASSED_ON, HOP_ENDS), signal.SIGUSR1: signal.SIGUSR1})
    hop = subprocess.Popen(
        list(argv),
        env=env,
        close_fds=False,
        start_new_session=True,  # a Ctrl-C is for us
        preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, HOP_ENDS),  # noqa: PLW1509  # there are no threads
    )
    signals.go_to(hop)
    return _ended_as(hop.wait())


def _relay(keeper: "subprocess.Popen[bytes]", channels: list[_Channel]) -> None:
    """Pass on until the keeper has ended and all it said is through; what it left behind is not waited for."""
    end = float("inf")
    while channels and time.monotonic() < end:
        ready, _, _ = select.select([channel.source for channel in channels], [], [], _LOOK_S)
        channels = [channel for channel in channels if channel.source not in ready or channel.pass_on()]
        if end == float("inf") and keeper.poll() is not None:
            end = time.monotonic() + _REST_S
        if end < float("inf") and not ready:
            return


def _opened(folder: Path) -> dict[int, _Channel]:
    """The channels by descriptor: one for both where they lead to the same place, none to a file."""
    found: dict[int, _Channel] = {}
    if not _is_file(_OUT):
        found[_OUT] = _channel(_OUT, folder / OUTPUT_FILES[0])
    if not _is_file(_ERR):
        is_same = _OUT in found and os.path.sameopenfile(_OUT, _ERR)
        found[_ERR] = found[_OUT] if is_same else _channel(_ERR, folder / OUTPUT_FILES[1])
    return found


def _channel(sink: int, path: Path) -> _Channel:
    source, writer = _terminal(sink) if os.isatty(sink) else os.pipe()
    kept = None
    with suppress(OSError):
        kept = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return _Channel(source=source, writer=writer, sink=os.dup(sink), kept=kept)


def _terminal(like: int) -> tuple[int, int]:
    """A terminal for a program that looks whether it has one: it buffers less, and draws. It changes no byte."""
    source, writer = pty.openpty()
    mode = termios.tcgetattr(writer)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(writer, termios.TCSANOW, mode)
    with suppress(OSError, termios.error):
        termios.tcsetwinsize(writer, termios.tcgetwinsize(like))
    return source, writer


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
