"""A submission as a value: what is sent to sbatch, and why. Shown by `--dry-run`, sent by `submit`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from supervisor.ledger.run_file import RunFile
from supervisor.ledger.run_folder import SUBMITTED
from supervisor.model.base import Fact
from supervisor.model.ids import RunId
from supervisor.settings import Settings
from supervisor.slurm.directives import Directives, parse_directives
from supervisor.slurm.guard import Carried, carry
from supervisor.slurm.keeper_files import STUB, stub
from supervisor.slurm.sbatch_options import STANDARD, CommandLine, Option, Table, effective, options_of_environment
from supervisor.slurm.sbatch_table import ANSWERS_ONLY
from supervisor.slurm.spares import fixed_nodes, with_spares

USER_SCRIPT: Final = "script"
"""Folder of the user's own file, where another interpreter than a shell runs it."""
WRAP_HEAD: Final = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n"
"""What sbatch itself puts before the text of `--wrap`."""
OWN_VARIABLES: Final = (
    "SUPERVISE_ATTEMPT",
    "SUPERVISE_RUN_ID",
    "SUPERVISE_RUN_FOLDER",
    "SUPERVISE_RESUME_FROM",
    "SUPERVISE_RESUME_STEP",
    "SUPERVISE_SKIP",
    "SUPERVISE_INCIDENT",
    "SUPERVISE_HIDDEN",
    "SUPERVISE_KEEPER_FD",
    "SUPERVISE_SHIM_SRUN",
    "SUPERVISE_SHIM_JOB",
)
"""What an attempt sets: a job submitted from inside one must not take itself for an attempt of that run."""
_NAME_LIMIT: Final = 40
_NAME_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Submission(Fact, frozen=True, kw_only=True):
    """One call of sbatch, complete."""

    argv: tuple[str, ...]
    """After `sbatch`."""
    unset: tuple[str, ...] = ()
    """Variables that sbatch must not see, since it hands its environment to the job."""
    reasons: tuple[str, ...] = ()
    """What differs from what the user typed, and why."""
    run: RunFile | None = None
    """None: the job runs without supervision."""
    folder: str = ""
    """The run folder to be made first."""
    files: dict[str, tuple[bytes, int]] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """Files of the run folder: relative name to content and mode."""
    script: str = ""
    """The script's text as submitted, for showing."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for, with all that had to be read for it."""

    command: CommandLine
    text: str
    """The script; for `--wrap` as sbatch would build it."""
    path: str = ""
    """Where the script was found; empty for `--wrap` and stdin."""
    workdir: str
    env: Mapping[str, str]
    table: Table = STANDARD

    @cached_property
    def directives(self) -> Directives:
        """The script's own lines."""
        return parse_directives(self.text)

    @cached_property
    def options(self) -> dict[str, str]:
        """What sbatch would obey."""
        return effective(self.directives.options(self.table), options_of_environment(self.env), self.command.options)

    @property
    def is_heterogeneous(self) -> bool:
        """Several components, on the command line or in the script."""
        return self.command.is_heterogeneous or self.directives.is_heterogeneous

    @property
    def is_wrapped(self) -> bool:
        """`--wrap`."""
        return self.command.has({"wrap"})

    @property
    def file_name(self) -> str:
        """Slurm's default name of the job: that of the script's file, `wrap`, or `sbatch`."""
        return Path(self.path).name if self.path else ("wrap" if self.is_wrapped else "sbatch")

    @property
    def job_name(self) -> str:
        """The name that Slurm will show."""
        return self.options.get("job-name") or self.file_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where and under which name the run will live."""

    run_id: RunId
    folder: str
    created_at: float
    python: str
    programs: Mapping[str, bytes]
    """What is copied of this installation (`keeper_files.programs`)."""
    runtime: str = ""
    """The kept version to run from; empty: the installed one, as it will be."""


def why_sbatch_alone(command: CommandLine, text: str) -> str:
    """Why this call is left to sbatch as it is: it submits nothing, or sbatch will refuse it in its own words.

    Empty: there is no such reason. `text` is empty where the script could not be read.
    """
    is_script = text.startswith("#!") and "\0" not in text and "\r\n" not in text
    reasons = {
        "nothing is submitted": command.has(ANSWERS_ONLY),
        "a job without a script cannot be supervised": command.has({"external"}),
        "sbatch takes no script beside --wrap": command.has({"wrap"}) and command.script is not None,
        f"this sbatch does not know {', '.join(command.unknown)}": bool(command.unknown),
        "sbatch refuses this script": not is_script,
        "sbatch refuses an #SBATCH line of this script": is_script and parse_directives(text).is_refused,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def run_id_for(job_name: str, suffix: str) -> RunId:
    """`<job name>-<suffix>`, fit for a file name and an MQTT topic."""
    safe = "".join(char if char in _NAME_LETTERS else "-" for char in job_name).strip(".-")[:_NAME_LIMIT]
    return RunId(f"{safe or 'job'}-{suffix}")


def plan(request: Request, settings: Settings, origin: Mapping[str, str], place: Place) -> Submission:
    """The submission of a supervised job, or of an unsupervised one where the script has no command to guard.

    Raises `UsageError` where `--spares` cannot be kept.
    """
    extra = with_spares(request.options, settings.spares, is_heterogeneous=request.is_heterogeneous)
    own_file = f"{place.folder}/{USER_SCRIPT}/{request.file_name}"
    carried = carry(request.text, keeper=f"{place.folder}/{STUB}", file=own_file)
    if carried is None:
        return unsupervised(request.command, extra, why="the script has no command to run")
    return Submission(
        argv=argv_for(request.command, extra, f"{place.folder}/{SUBMITTED}/{request.file_name}"),
        unset=_inherited(request.env),
        reasons=(*_reasons(request, carried), *_extra_reasons(extra, settings.spares)),
        run=_run_file(request, settings, origin, place, carried),
        folder=place.folder,
        files=_files(request, carried, place),
        script=carried.text,
    )


def unsupervised(command: CommandLine, extra: list[Option], *, why: str) -> Submission:
    """The call as the user typed it (with what `--spares` adds); the job runs as plain sbatch would run it."""
    script = () if command.script is None else (command.script, *command.script_args)
    return Submission(argv=(*_option_tokens(command, (), extra), *script), reasons=(f"not supervised: {why}",))


def argv_for(command: CommandLine, extra: list[Option], file: str) -> tuple[str, ...]:
    """The arguments of sbatch with another script file: its name makes the job's name, its folder finds a lost job."""
    return (*_option_tokens(command, ("wrap",), extra), file, *command.script_args)


def _option_tokens(command: CommandLine, without: tuple[str, ...], extra: list[Option]) -> tuple[str, ...]:
    dashes = ("--",) if command.ends_with_dashes else ()
    return (*command.without(without), *map(str, extra), *dashes)


def _inherited(env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in OWN_VARIABLES if name in env)


def _run_file(
    request: Request, settings: Settings, origin: Mapping[str, str], place: Place, carried: Carried
) -> RunFile:
    options = request.options
    return RunFile(
        run_id=place.run_id,
        created_at=place.created_at,
        settings=settings,
        settings_origin=dict(origin),
        sbatch_args=request.command.without({"wrap"}),
        script_name=request.file_name,
        script_path=request.path,
        script_text=carried.text.encode(errors="surrogateescape").decode(errors="replace"),
        script_args=request.command.script_args,
        export=options.get("export", ""),
        python=place.python,
        runtime=place.runtime,
        workdir=request.workdir,
        array=options.get("array", ""),
        nodes=fixed_nodes(options),
    )


def _files(request: Request, carried: Carried, place: Place) -> dict[str, tuple[bytes, int]]:
    folders = (SUBMITTED, USER_SCRIPT) if carried.needs_file else (SUBMITTED,)
    own = {f"{USER_SCRIPT}/{request.file_name}": (_bytes(request.text), 0o700)} if carried.needs_file else {}
    return {
        STUB: (stub(folder=place.folder, python=place.python, copied=folders), 0o700),
        **{name: (content, 0o600) for name, content in place.programs.items()},
        f"{SUBMITTED}/{request.file_name}": (_bytes(carried.text), 0o700),
        **own,
    }


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _reasons(request: Request, carried: Carried) -> list[str]:
    found = [
        "the script's first command starts the keeper, which starts the script again as an attempt"
        if not carried.needs_file
        else f"the script's interpreter is no shell: a small sh script starts it from {USER_SCRIPT}/ in the run folder"
    ]
    if request.directives.late:
        lines = ", ".join(map(str, request.directives.late))
        found.append(f"#SUPERVISE after the first command is not read (line {lines}); put it at the top")
    return found


def _extra_reasons(extra: list[Option], spares: int) -> list[str]:
    if not extra:
        return []
    return [f"{' '.join(map(str, extra))}: {spares} spare node{'s' if spares > 1 else ''}, the same on each node"]
