"""The run folder: made before the job is sent, removed when it was refused, opened by everything else."""

import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from supervisor.errors import NoSuchRun, PayloadRefused, RunFolderUnusable
from supervisor.ledger.run_file import RunFile, encode_run, parse_run
from supervisor.model.base import Fact, encode
from supervisor.model.ids import JobId, RunId

FOLDER: Final = ".supervise"
RUN_FILE: Final = "run.json"
SUBMITTED: Final = "submitted"
"""Folder of the script as submitted: its path shows in Slurm as the job's Command, so a lost job is found by it."""
SUBMISSIONS: Final = "submissions.jsonl"
OUTPUT_FILES: Final = ("output.log", "errors.log")
"""What `supervise run` keeps of its command's stdout and stderr, where they are no files themselves."""
_CREATE_TRIES: Final = 3


class SubmissionRecord(Fact, frozen=True, kw_only=True):
    """One accepted submission of a run: a line of `submissions.jsonl`."""

    at: float
    job_id: JobId
    cluster: str = ""


def base_folder(workdir: Path, env: Mapping[str, str]) -> Path:
    """Where run folders of jobs submitted in `workdir` lie: `SUPERVISE_HOME`, else `.supervise` in it."""
    home = env.get("SUPERVISE_HOME", "")
    return (workdir / home) if home else workdir / FOLDER


def kept_in(base: Path) -> Path:
    """The user's folder of the versions that runs in `base` were submitted with: his alone, since it is run."""
    return base / f"runtimes-{os.getuid()}"


def create(folder: Path, run: RunFile, files: Mapping[str, tuple[bytes, int]]) -> None:
    """Make the run folder with `run.json` and `files` (relative name to content and mode).

    Raises `RunFolderUnusable`, and then leaves nothing behind.
    """
    try:
        _make(folder)
        for name, (content, mode) in {**files, RUN_FILE: (encode_run(run), 0o600)}.items():
            _write_new(folder / name, content, mode)
    except (OSError, PayloadRefused) as exc:
        discard(folder)
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise RunFolderUnusable(f"the run folder {folder} cannot be used ({reason})") from exc


def discard(folder: Path) -> None:
    """Remove a run folder, and its base where no other run is in it."""
    shutil.rmtree(folder, ignore_errors=True)
    discard_empty(folder.parent)


def discard_empty(base: Path) -> None:
    """Remove the folder of run folders where nothing is left in it but our `.gitignore` and versions kept for runs."""
    kept = kept_in(base)
    with suppress(OSError):
        if base.name == FOLDER and {entry.name for entry in base.iterdir()} - {kept.name} == {".gitignore"}:
            shutil.rmtree(kept, ignore_errors=True)
            (base / ".gitignore").unlink()
            base.rmdir()


def read_run(folder: Path) -> RunFile:
    """The folder's `run.json`; in the folder of an array's task with the task's own run id.

    Raises `NoSuchRun` where there is none, `RunFolderUnusable` where it cannot be read.
    """
    try:
        run = parse_run((folder / RUN_FILE).read_bytes())
    except FileNotFoundError as exc:
        raise NoSuchRun(f"{folder} is no run folder: it has no {RUN_FILE}") from exc
    except (OSError, PayloadRefused) as exc:
        raise RunFolderUnusable(f"{folder / RUN_FILE} cannot be read: {exc}") from exc
    is_task = run.array and folder.name.startswith(f"{run.run_id}-")
    return msgspec.structs.replace(run, run_id=RunId(folder.name)) if is_task else run


def note_submission(folder: Path, record: SubmissionRecord) -> None:
    """Add one accepted submission. Raises `RunFolderUnusable`; the job itself is not touched by that."""
    try:
        append_line(folder / SUBMISSIONS, encode(record))
    except OSError as exc:
        raise RunFolderUnusable(f"{folder / SUBMISSIONS} cannot be written: {exc.strerror}") from exc


def submissions(folder: Path) -> list[SubmissionRecord]:
    """The jobs of the run so far, oldest first; a torn or unreadable line is left out."""
    try:
        lines = (folder / SUBMISSIONS).read_bytes().splitlines()
    except OSError:
        return []
    found: list[SubmissionRecord] = []
    for line in lines:
        with suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(line, type=SubmissionRecord))
    return found


def job_ids(folder: Path) -> list[JobId]:
    """Every job known to have worked or to be meant to work on this run, oldest first."""
    noted = [record.job_id for record in submissions(folder) if record.job_id]
    try:
        claimed = sorted(path.stem for path in (folder / "jobs").iterdir() if path.suffix == ".json")
    except OSError:
        claimed = []
    return list(dict.fromkeys([*noted, *(JobId(job) for job in claimed)]))


def append_line(path: Path, line: bytes) -> None:
    """One line at the end, in one write, so that lines of two writers do not mix."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line + b"\n")
    finally:
        os.close(fd)


def _make(folder: Path) -> None:
    """The run folder, in its base. A base that a refused submission removes at this moment is made again."""
    for _ in range(_CREATE_TRIES):
        with suppress(FileNotFoundError):
            _make_base(folder.parent)
            folder.mkdir(mode=0o700)
            return
    folder.mkdir(mode=0o700)


def _make_base(base: Path) -> None:
    """The folder of run folders: as open to a group as the folder it lies in, since colleagues may share that."""
    try:
        base.mkdir(mode=0o700, parents=base.name != FOLDER)
    except FileExistsError:
        _refuse_foreign(base)
    else:
        if base.name == FOLDER:
            base.chmod(stat.S_IMODE(base.parent.stat().st_mode) & 0o3777 | 0o700)
    ignore = base / ".gitignore"
    if base.name == FOLDER and not ignore.exists():
        _write_new(ignore, b"*\n", 0o644)


def _refuse_foreign(base: Path) -> None:
    """Jobs run what lies in here: in a folder like /tmp, anybody could have laid it ready for us."""
    owner, above = base.stat().st_uid, base.absolute().parent.stat()
    is_open_to_all = above.st_mode & stat.S_ISVTX and above.st_mode & stat.S_IWOTH
    if is_open_to_all and owner not in {os.geteuid(), 0}:
        raise PayloadRefused(f"{base} belongs to another user; set SUPERVISE_HOME to a folder of your own")


def _write_new(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        os.fchmod(fd, mode)  # whatever the umask says: the keeper must be executable
