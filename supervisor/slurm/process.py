"""One foreign command, run to its end: argument list, no shell, deadline, bounded output, counted.

Every command gets `LC_ALL=C`, an empty stdin (or the given bytes) and a session of its own, so that a deadline or a
cancellation kills it with all its children.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout, SlurmTooMuch

OUTPUT_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""`scontrol -o show node` writes about 1.5 kB a node: room for 40,000 of them."""
REAP_S: Final = 2.0
"""How long a killed command may take to be gone; one in D state is left behind."""
_SHIELD: Final = ("/bin/sh", "-c", 'trap "" TERM; exec "$@"', "sh")
NOT_FOUND: Final = 127
"""What `sh` exits with when it cannot find the command."""


@dataclass(slots=True)
class CallCount:
    """How often each program was called, for `status` and for the budget of calls."""

    by_program: Counter[str] = field(default_factory=Counter)
    failed: int = 0

    @property
    def total(self) -> int:
        """All calls."""
        return self.by_program.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command left behind. A code below zero is the signal that ended it."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str
    took_s: float

    def checked(self) -> "Answer":
        """The same answer, or `SlurmFailed` with the command's own words."""
        if self.code == 0:
            return self
        words = " ".join((self.stderr or self.stdout).split())[:500] or "no message"
        raise SlurmFailed(
            f'{shown(self.argv)} refused (exit {self.code}) after {self.took_s:.1f}s: "{words}"',
            code=self.code,
            stderr=self.stderr or self.stdout,  # scontrol says some refusals on stdout
        )


def shielded(argv: Sequence[str]) -> list[str]:
    """The command made to ignore SIGTERM: Slurm sends it to every process of the batch step when the job ends.

    The shell only sets the signal and is then replaced; the arguments are passed, never read as shell text.
    """
    return [*_SHIELD, *argv]


def _is_shielded(argv: Sequence[str]) -> bool:
    return tuple(argv[: len(_SHIELD)]) == _SHIELD


def shown(argv: Sequence[str]) -> str:
    """The command for a message, without the shield and cut to a readable length."""
    text = " ".join(argv[len(_SHIELD) :] if _is_shielded(argv) else argv)
    return text if len(text) <= 200 else text[:200] + "…"  # noqa: PLR2004  # a length for people


async def run(
    argv: Sequence[str],
    *,
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    feed: bytes | None = None,
    count: CallCount | None = None,
) -> Answer:
    """The answer of the command, whatever its exit code.

    Raises `SlurmTimeout` at the deadline, `NoSlurm` where the program is missing, `SlurmFailed` when it cannot be
    started, `SlurmTooMuch` when it writes more than `OUTPUT_LIMIT_BYTES`. A cancelled caller leaves no process behind.
    """
    began = time.monotonic()
    _counted(count, argv)
    gathered = _Gathered()
    try:
        with _stdin(feed) as stdin:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: gathered, *argv, stdin=stdin, env=_c_locale(env), cwd=cwd, start_new_session=True
            )
    except OSError as exc:
        _failed(count)
        raise _cannot_start(argv, exc) from exc
    try:
        async with asyncio.timeout(deadline_s):
            await gathered.done.wait()
    except TimeoutError as exc:
        _failed(count)
        raise _late(argv, deadline_s) from exc
    finally:
        await _release(transport, gathered)
    return _judged(argv, gathered.streams, transport.get_returncode(), time.monotonic() - began, count)


class _Gathered(asyncio.SubprocessProtocol):
    """The two streams of a running command, cut off at the limit."""

    def __init__(self) -> None:
        self.streams = {1: bytearray(), 2: bytearray()}
        self.done = asyncio.Event()
        """There is nothing more to wait for: it has ended, or written too much."""
        self.ended = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        stream = self.streams[fd]
        if len(stream) <= OUTPUT_LIMIT_BYTES:  # what comes until the writer is gone is not kept
            stream += data
        if len(stream) > OUTPUT_LIMIT_BYTES:
            self.done.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended and both pipes are closed."""
        del exc  # how a pipe broke adds nothing to the exit code
        self.done.set()
        self.ended.set()


async def _release(transport: asyncio.SubprocessTransport, gathered: _Gathered) -> None:
    """Kill what is left of the command and close its pipes; waits a bounded time for its end."""
    if transport.get_returncode() is None:
        _kill_group(transport.get_pid())
        with suppress(TimeoutError):
            async with asyncio.timeout(REAP_S):
                await gathered.ended.wait()
    transport.close()


def _is_too_much(streams: Mapping[int, bytearray]) -> bool:
    return any(len(stream) > OUTPUT_LIMIT_BYTES for stream in streams.values())


def _stdin(feed: bytes | None) -> IO[bytes]:
    """A file to read from: never a pipe, so that a command that does not read cannot block us."""
    if feed is None:
        return Path(os.devnull).open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    file.write(feed)
    file.seek(0)
    return file


def _c_locale(env: Mapping[str, str] | None) -> dict[str, str]:
    return {**(os.environ if env is None else env), "LC_ALL": "C"}


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _counted(count: CallCount | None, argv: Sequence[str]) -> None:
    if count is not None:
        count.by_program[shown(argv).split(" ", 1)[0].rsplit("/", 1)[-1]] += 1


def _failed(count: CallCount | None) -> None:
    if count is not None:
        count.failed += 1


def _judged(
    argv: Sequence[str], streams: Mapping[int, bytearray], code: int | None, took_s: float, count: CallCount | None
) -> Answer:
    if _is_too_much(streams):
        _failed(count)
        raise SlurmTooMuch(f"{shown(argv)} wrote more than {OUTPUT_LIMIT_BYTES} bytes and was stopped; ask for less")
    if code:
        _failed(count)
    text = {fd: stream.decode(errors="replace") for fd, stream in streams.items()}
    if code == NOT_FOUND and _is_shielded(argv):
        raise _missing(argv)
    return Answer(argv=tuple(argv), code=code or 0, stdout=text[1], stderr=text[2], took_s=took_s)


def _cannot_start(argv: Sequence[str], exc: OSError) -> NoSlurm | SlurmFailed:
    if isinstance(exc, FileNotFoundError) and exc.filename == argv[0]:
        return _missing(argv)
    return SlurmFailed(f"{shown(argv)} could not be started: {exc}")


def _missing(argv: Sequence[str]) -> NoSlurm:
    return NoSlurm(f"{shown(argv).split(' ', 1)[0]} is not on PATH; load Slurm's module or run on a node that has it")


def _late(argv: Sequence[str], deadline_s: float) -> SlurmTimeout:
    return SlurmTimeout(f"{shown(argv)} gave no answer within {deadline_s:.1f}s; it may have been done all the same")
