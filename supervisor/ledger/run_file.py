"""What was submitted and how it is to be supervised: `run.json`, written once, before the job is sent."""

import msgspec

from supervisor.errors import PayloadRefused
from supervisor.model.base import Fact
from supervisor.model.ids import RunId
from supervisor.settings import Settings


class RunFile(Fact, frozen=True, kw_only=True):
    """All that a later process needs to supervise the run and to submit it again; holds no environment values."""

    schema: int = 1
    run_id: RunId
    created_at: float
    """Seconds since the epoch."""
    settings: Settings = Settings()
    settings_origin: dict[str, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """Setting to where its value came from; a default is not named."""
    sbatch_args: tuple[str, ...] = ()
    """The user's own options as typed, without the script and `--wrap`; nothing that `--spares` added."""
    script_name: str = ""
    """File name under `submitted/`; Slurm's default job name. Empty: no script (`supervise run -- CMD`)."""
    script_path: str = ""
    """Where the user's script lay; empty for `--wrap` and for a script on stdin."""
    script_text: str = ""
    """As submitted, guard included, for reading; `submitted/<script_name>` has the bytes."""
    script_args: tuple[str, ...] = ()
    """Arguments of the script; for `supervise run` the whole command."""
    export: str = ""
    """What `--export` declared, from wherever it came; empty: sbatch's default, the whole environment."""
    python: str = ""
    """The interpreter that keeper and supervisor run with."""
    runtime: str = ""
    """The version of ours that it was submitted with, a file beside the run folders; empty: none was kept."""
    workdir: str = ""
    """The folder sbatch was called in: `SLURM_SUBMIT_DIR`."""
    predecessor: str = ""
    """The run that this one continues; empty: none."""
    array: str = ""
    """The index list of `--array`; each task runs in a folder of its own, `<run-id>-<task>`."""
    nodes: int = 0
    """Nodes asked for with a plain `-N`, spares not counted; 0: not asked for as one number."""


def encode_run(run: RunFile) -> bytes:
    """The file's bytes: JSON that a person can read. Raises `PayloadRefused` for text that is not UTF-8."""
    try:
        return msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n"
    except UnicodeEncodeError as exc:
        raise PayloadRefused(
            f"an argument of run {run.run_id} is not UTF-8 ({exc.object[exc.start : exc.end]!r}); rename the file"
        ) from exc


def parse_run(data: bytes) -> RunFile:
    """The run that these bytes describe. Raises `PayloadRefused`; unknown fields are ignored."""
    try:
        return msgspec.json.decode(data, type=RunFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
        raise PayloadRefused(f"run.json is not readable: {exc}") from exc
