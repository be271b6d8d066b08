"""The files that start keeper and supervisor on the batch host. Pure but for reading our own source."""

from pathlib import Path
from typing import Final

from supervisor.errors import RunFolderUnusable
from supervisor.slurm.guard import quote

STUB: Final = "keeper"
PROGRAM: Final = "keeper.py"
BOOT: Final = "boot.py"
_ROOMS: Final = {PROGRAM: "keeper", BOOT: "runtime"}
# Every task of an array gets a folder of its own, made from the array's when the task starts. Where anything is
# missing on this node (no Python of ours in a container, a full folder) the script runs as plain sbatch would run it.
# bash where there is one: dash drops what is no plain name from the environment, exported functions (`module`) above
# all. --posix keeps it from reading BASH_ENV.
_STUB: Final = """\
#!@SHELL@
# Started by the guard in the job's script: `keeper SCRIPT ARGUMENTS...`
run=@RUN@
python=@PYTHON@
why=
if [ -n "${SLURM_ARRAY_TASK_ID-}" ]; then
    task=$run-$SLURM_ARRAY_TASK_ID
    if [ ! -e "$task/run.json" ]; then
        new=$task.$$
        (umask 077 && mkdir "$new" && cd "$run" && cp -pR run.json keeper keeper.py boot.py @COPIED@ "$new/" &&
            mv "$new" "$task") || rm -rf "$new"
    fi
    [ -e "$task/run.json" ] || why="the folder $task cannot be made"
    run=$task
fi
if [ -z "$why" ] && "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    exec "$python" -I "$run/keeper.py" "$run" "$@"
fi
echo "supervise: ${why:-$python does not run on $(uname -n)}; the script runs without supervision" >&2
SUPERVISE_ATTEMPT=1
export SUPERVISE_ATTEMPT
exec "$@"
"""


def stub(*, folder: str, python: str, copied: tuple[str, ...]) -> bytes:
    """The sh script that the guard starts; `copied` are the folders that a task of an array needs too."""
    text = _STUB.replace("@RUN@", quote(folder)).replace("@PYTHON@", quote(python))
    text = text.replace("@SHELL@", "/bin/bash --posix" if Path("/bin/bash").exists() else "/bin/sh")
    return text.replace("@COPIED@", " ".join(copied)).encode(errors="surrogateescape")


def programs() -> dict[str, bytes]:
    """Keeper and boot program, to be copied into the run folder: a job outlives an update of this installation.

    Raises `RunFolderUnusable` where this installation is not whole.
    """
    place = Path(__file__).parents[1]
    try:
        return {name: (place / room / name).read_bytes() for name, room in _ROOMS.items()}
    except OSError as exc:
        raise RunFolderUnusable(f"this installation is not whole ({exc}); install it anew") from exc
