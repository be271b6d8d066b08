"""Which run a person means: by run id, by job id, by path."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from supervisor.errors import NoSuchRun
from supervisor.ledger.run_folder import FOLDER, RUN_FILE, SUBMITTED, append_line, base_folder, job_ids
from supervisor.model.base import Fact, encode
from supervisor.model.ids import JobId, RunId

INDEX_LIMIT_BYTES: Final = 1_000_000
_JOB: Final = re.compile(r"(\d+)(?:[_.](\d+))?")


class IndexLine(Fact, frozen=True, kw_only=True):
    """One submission by this user on this machine or shared home."""

    run_id: RunId
    folder: str
    job_id: JobId = JobId("")


def index_path(env: Mapping[str, str]) -> Path:
    """The user's list of own runs, so that a job id is enough wherever one stands."""
    home = env.get("HOME") or "~"
    state = env.get("XDG_STATE_HOME") or str(Path(home).expanduser() / ".local/state")
    return Path(state) / "supervise/runs.jsonl"


def note_run(line: IndexLine, env: Mapping[str, str]) -> None:
    """Add a run to the index. An index that cannot be written costs only convenience, so nothing is raised."""
    path = index_path(env)
    with suppress(OSError, UnicodeEncodeError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        append_line(path, encode(line))
        if path.stat().st_size > INDEX_LIMIT_BYTES:
            _shorten(path)


def find_run(name: str, *, workdir: Path, env: Mapping[str, str], ask: Callable[[str], str] | None = None) -> Path:
    """The run folder for a run id, a job id (`17`, `17_3`) or a path.

    `ask` is given a job id and answers Slurm's Command of that job (empty: unknown); it is the last resort, for a job
    submitted elsewhere. Raises `NoSuchRun`.
    """
    if (Path(workdir, name) / RUN_FILE).is_file():
        return Path(workdir, name).absolute()
    job = _JOB.fullmatch(name)
    found = _by_job(job, workdir, env) if job else _by_run(name, workdir, env)
    if found is None and job and ask is not None:
        asked = folder_of_command(ask(name))
        found = _task_folder(asked, job) if asked else None
    if found is None:
        raise NoSuchRun(_not_found(name, workdir, env))
    return found


def task_of(name: str) -> tuple[str, int | None]:
    """Job and task of `17_3`; a name that is no task of an array has None."""
    job = _JOB.fullmatch(name)
    return (job[1], int(job[2])) if job and job[2] else ("", None)


def list_runs(*, workdir: Path, env: Mapping[str, str]) -> list[Path]:
    """Every run folder known here, each once: those beside `workdir` first, then those of the index, newest first."""
    places = [*_beside(workdir, env), *(Path(line.folder) for line in _index(env))]
    return [place for place in dict.fromkeys(places) if (place / RUN_FILE).is_file()]


def folder_of_command(command: str) -> Path | None:
    """The run folder inside Slurm's Command of a job (`<folder>/submitted/<script> arguments`)."""
    head, mark, _ = command.partition(f"/{SUBMITTED}/")
    folder = Path(head)
    return folder if mark and folder.is_absolute() and (folder / RUN_FILE).is_file() else None


def _by_run(name: str, workdir: Path, env: Mapping[str, str]) -> Path | None:
    places = [base / name for base in _bases(workdir, env)]
    places += [Path(line.folder) for line in _index(env) if line.run_id == name]
    places += [Path(f"{line.folder}{name[len(line.run_id) :]}") for line in _index(env) if _is_task_of(name, line)]
    return next((place for place in places if (place / RUN_FILE).is_file()), None)


def _is_task_of(name: str, line: IndexLine) -> bool:
    return re.fullmatch(re.escape(line.run_id) + r"-\d+", name) is not None


def _by_job(job: re.Match[str], workdir: Path, env: Mapping[str, str]) -> Path | None:
    for line in _index(env):
        if line.job_id == job[1] and (Path(line.folder) / RUN_FILE).is_file():
            return _task_folder(Path(line.folder), job)
    known = (place for place in list_runs(workdir=workdir, env=env) if job[1] in job_ids(place))
    return next((_task_folder(place, job) for place in known), None)


def _task_folder(folder: Path, job: re.Match[str]) -> Path:
    """`17_3` is in the task's own folder once the task has begun; before that only the array's exists."""
    task = folder.with_name(f"{folder.name}-{job[2]}")
    return task if job[2] and (task / RUN_FILE).is_file() else folder


def _bases(workdir: Path, env: Mapping[str, str]) -> list[Path]:
    """Folders that may hold run folders: of the home, of this folder and of those above it."""
    above = [folder / FOLDER for folder in (workdir, *workdir.parents)]
    return list(dict.fromkeys([base_folder(workdir, env), *above]))


def _beside(workdir: Path, env: Mapping[str, str]) -> Iterator[Path]:
    for base in dict.fromkeys([base_folder(workdir, env), workdir / FOLDER]):
        with suppress(OSError):
            yield from sorted((Path(entry) for entry in os.scandir(base) if entry.is_dir()), key=_age)


def _age(folder: Path) -> float:
    """Newest first."""
    with suppress(OSError):
        return -folder.stat().st_mtime
    return 0.0


def _index(env: Mapping[str, str]) -> list[IndexLine]:
    """Newest first; a torn line is left out."""
    found: list[IndexLine] = []
    with suppress(OSError):
        for line in index_path(env).read_bytes().splitlines():
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                found.append(msgspec.json.decode(line, type=IndexLine))
    return found[::-1]


def _shorten(path: Path) -> None:
    """Keep the newer half; a line that another process adds at this moment may be lost, which costs a look-up."""
    lines = path.read_bytes().splitlines(keepends=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(b"".join(lines[len(lines) // 2 :]))
    fresh.replace(path)


def _not_found(name: str, workdir: Path, env: Mapping[str, str]) -> str:
    if name and (workdir / name).is_dir():
        return f"{name} is a folder, but not of a run: it has no {RUN_FILE}. `supervise list` shows those known here"
    looked = f"{base_folder(workdir, env)}, the folders above and {index_path(env)}"
    shown = name or repr(name)
    return (
        f"no run or job {shown} is known here (looked in {looked}); "
        "go to the folder it was submitted in, or give a path"
    )
