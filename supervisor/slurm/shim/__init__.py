"""The srun shim: how it gets into a folder, and the shell function that stands in where PATH is set anew."""

import shlex
import shutil
from importlib import resources
from pathlib import Path

from supervisor.slurm.environment import Shim


def install_shim(folder: Path, *, path: str) -> Shim | None:
    """The shim written as `<folder>/srun` before the first srun of the given PATH; None where there is no srun.

    Writing again replaces the file whole, so that a shell that reads the old one is not disturbed. Raises `OSError`
    where the folder cannot be written: then an attempt runs without a shim, and may use the hidden nodes.
    """
    real = find_srun(path, besides=folder)
    if real is None:
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = folder / "srun.new"
    fresh.write_text(_text("srun"), encoding="utf-8")
    fresh.chmod(0o755)
    fresh.replace(folder / "srun")
    return Shim(folder=str(folder), real=real, function=shell_function(folder / "srun"))


def find_srun(path: str, *, besides: Path) -> str | None:
    """The first srun of this PATH that does not lie in the shim's own folder."""
    others = (part for part in path.split(":") if part and Path(part) != besides)
    return shutil.which("srun", path=":".join(others))


def shell_function(shim: Path) -> str:
    """The value of `BASH_FUNC_srun%%`: it calls the shim by its path, whatever PATH says.

    In the script's own shell it is one plain call. In a subshell (`srun … &`) bash stays between, so signals sent to
    `$!` are passed on: scripts that forward USR1 to a background srun must still reach it.
    """
    return _text("function.bash").replace("@SHIM@", shlex.quote(str(shim))).rstrip("\n")


def _text(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
