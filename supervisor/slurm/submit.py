"""Send a submission through the site's own sbatch: its bytes pass through, its exit code is ours.

Blocks, as sbatch does. A job that sbatch has submitted without learning its id is found again by the path of its
script, which lies in the run folder and so is unique.
"""

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.ledger.run_folder import SUBMITTED
from supervisor.model.ids import JobId
from supervisor.slurm.commands import clean_environment
from supervisor.slurm.environment import parse_environ

SBATCH_LIMIT_S: Final = 600.0
"""sbatch itself tries for two minutes and more while slurmctld is busy; beyond this something hangs."""
LOOK_LIMIT_S: Final = 5.0
"""For one look into the queue after an sbatch that was not answered."""
LOOKS: Final = 3
LOOK_PAUSE_S: Final = 1.0
"""A job that was accepted at the last moment shows in the queue a little later."""
_REAP_S: Final = 5.0
_SUBMITTED: Final = re.compile(rb"^(?:Submitted batch job )?(\d+)(?:;(\S+)| on cluster (\S+))?\s*$", re.MULTILINE)
# What sbatch says when it sent the request and did not hear the answer.
_UNHEARD: Final = re.compile(
    rb"timed out|time-?out|unable to contact|zero bytes|connection (?:reset|failure|refused)", re.IGNORECASE
)

Sink = Callable[[bytes], None]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What sbatch did."""

    code: int
    """Its exit code; 128 + n where signal n ended it."""
    stdout: bytes = b""
    stderr: bytes = b""
    is_cut_short: bool = False
    """It was ended by a signal: at the limit, or because the user interrupted."""
    job_id: JobId = field(init=False, default=JobId(""))
    cluster: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.job_id, self.cluster = accepted_job(self.stdout)

    @property
    def may_have_submitted(self) -> bool:
        """No job id was heard, but the job may exist."""
        if self.job_id:
            return False
        return self.is_cut_short or (self.code != 0 and bool(_UNHEARD.search(self.stderr)))


def accepted_job(stdout: bytes) -> tuple[JobId, str]:
    """Job id and cluster in what sbatch prints, `--parsable` or not; both empty where it says neither."""
    match = _SUBMITTED.search(stdout)
    if match is None:
        return JobId(""), ""
    return JobId(match[1].decode()), (match[2] or match[3] or b"").decode(errors="replace")


def sbatch_environment(unset: Sequence[str], env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What sbatch gets, and with it the job: this process's environment as it was handed to us.

    Under the C locale Python sets `LC_CTYPE` for itself; the job must not inherit that.
    """
    handed = _handed_down()
    dropped = {*unset, *({"LC_CTYPE"} if handed is not None and "LC_CTYPE" not in handed else ())}
    return {name: value for name, value in env.items() if name not in dropped}


def send(
    argv: Sequence[str], *, env: Mapping[str, str], out: Sink, err: Sink, limit_s: float | None, fds: Sequence[int] = ()
) -> Outcome:
    """Run sbatch and pass on what it prints. `limit_s` None: as long as it takes (`--wait`).

    Raises `NoSlurm` where there is no sbatch, `SlurmFailed` where it cannot be started.
    """
    try:
        process = subprocess.Popen(
            ["sbatch", *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            pass_fds=tuple(fds),
        )
    except FileNotFoundError as exc:
        raise NoSlurm("sbatch is not on PATH; load Slurm's module or go to a login node") from exc
    except OSError as exc:
        raise SlurmFailed(f"sbatch could not be started: {exc}") from exc
    try:
        return _followed(process, {"out": out, "err": err}, limit_s)
    finally:
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()


def replace_by_sbatch(argv: Sequence[str], *, env: Mapping[str, str], fed: bytes | None = None) -> None:
    """Become sbatch: for calls that need nothing of us. `fed` is a script that was already read from stdin.

    Does not return. Raises `NoSlurm` where there is no sbatch.
    """
    if fed is not None:
        _put_on_stdin(fed)
    try:
        os.execvpe("sbatch", ["sbatch", *argv], dict(env))  # noqa: S606  # no shell is wanted: it is the user's command
    except FileNotFoundError as exc:
        raise NoSlurm("sbatch is not on PATH; load Slurm's module or go to a login node") from exc


def queue_query(cluster: str = "") -> list[str]:
    """Ask for the user's jobs: number (of an array its own) and command."""
    return ["squeue", *([f"--clusters={cluster}"] if cluster else []), "--me", "-h", "-o", "%F|%o"]


def job_of_folder(queue: str, folder: Path, *, known: Sequence[JobId] = ()) -> JobId | None:
    """The newest job in the queue whose script lies in this run folder, jobs `known` before aside."""
    mark = re.escape(f"{folder}/{SUBMITTED}/")
    found = [job for job in re.findall(rf"^(\d+)\|{mark}", queue, re.MULTILINE) if job not in known]
    return JobId(max(found, key=int)) if found else None


def find_lost(folder: Path, *, cluster: str = "", sleep: Callable[[float], None] = time.sleep) -> JobId | None:
    """The job that an unheard sbatch made, or None where the queue shows none.

    Raises `SlurmFailed` where the queue cannot be read: then nobody knows.
    """
    for again in range(LOOKS):
        if again:
            sleep(LOOK_PAUSE_S)
        if job := job_of_folder(_queue(cluster), folder):
            return job
    return None


def _queue(cluster: str) -> str:
    try:
        answer = subprocess.run(
            queue_query(cluster),
            env=clean_environment(os.environ),
            capture_output=True,
            timeout=LOOK_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as exc:
        raise SlurmFailed(f"the queue cannot be read: {exc}") from exc
    return answer.stdout.decode(errors="surrogateescape")


def _followed(process: "subprocess.Popen[bytes]", sinks: Mapping[str, Sink], limit_s: float | None) -> Outcome:
    """Pass on both streams until both are closed; ends sbatch at the limit or when the user interrupts."""
    taken = {"out": bytearray(), "err": bytearray()}
    end = None if limit_s is None else time.monotonic() + limit_s
    is_cut_short = False
    try:
        _pump(process, taken, sinks, end)
        process.wait(None if end is None else max(0.0, end - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired, KeyboardInterrupt):
        is_cut_short = True
        _end(process)
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Outcome(
        code=code if code >= 0 else 128 - code,
        stdout=bytes(taken["out"]),
        stderr=bytes(taken["err"]),
        is_cut_short=is_cut_short or code < 0,
    )


def _pump(
    process: "subprocess.Popen[bytes]", taken: Mapping[str, bytearray], sinks: Mapping[str, Sink], end: float | None
) -> None:
    with selectors.DefaultSelector() as selector:
        _watch(selector, process.stdout, "out")
        _watch(selector, process.stderr, "err")
        while selector.get_map():
            ready = selector.select(None if end is None else max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            # Complaints first: on a terminal they came before the line that says the job is in.
            for key, _ in sorted(ready, key=lambda event: str(event[0].data)):
                data = os.read(key.fd, 1 << 16)
                if data:
                    taken[key.data].extend(data)
                    sinks[key.data](data)
                else:
                    selector.unregister(key.fileobj)


def _watch(selector: selectors.BaseSelector, pipe: IO[bytes] | None, name: str) -> None:
    if pipe is not None:
        selector.register(pipe, selectors.EVENT_READ, name)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Interrupt it as the user's Ctrl-C does, then kill it; never wait long for a process that hangs."""
    for number in (signal.SIGINT, signal.SIGKILL):
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_REAP_S)
            return


def _handed_down() -> dict[str, str] | None:
    """The environment that this process was started with; None where /proc does not tell."""
    try:
        return parse_environ(Path("/proc/self/environ").read_bytes())
    except OSError:
        return None


def _put_on_stdin(data: bytes) -> None:
    """Let whatever we become read this from its stdin."""
    fd = os.memfd_create("script")
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)
