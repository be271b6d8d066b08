"""The product as a user installs it: by pip, with its default dependencies, in an environment of its own."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from product.venv import CHECKOUT, CannotBuild

# Nodes of a testbed have a /tmp of their own, /var/tmp is everybody's.
_PLACE = "/var/tmp"  # noqa: S108  # mkdtemp makes the folder
_PIP_S = 600.0


@dataclass(frozen=True)
class Installed:
    """An environment with nothing but the product and what it depends on."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter; `supervise` lies beside it."""
        return self.folder / "bin" / "python"

    @property
    def supervise(self) -> str:
        """The command."""
        return str(self.folder / "bin" / "supervise")

    @property
    def library(self) -> str:
        """The folder of Python's own library, which the environment shares with the system's Python."""
        asked = [str(self.python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]
        return _run(asked).strip()

    @property
    def size_bytes(self) -> int:
        """Of all that was installed, compiled files included; without Python and pip."""
        packages = next((self.folder / "lib").glob("python*/site-packages"))
        return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())


@contextmanager
def installed(python: Path) -> Iterator[Installed]:
    """This checkout installed for the Python that `python`'s environment was made from; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="supervise-bench-", dir=_PLACE) as name:
        folder = Path(name)
        folder.chmod(0o755)  # the users that submit jobs run it
        _run([str(python), "-m", "venv", "--without-pip", name])
        found = Installed(folder)
        pip = [str(python), "-m", "pip", "--python", str(found.python), "install", "--quiet"]
        _run([*pip, "--disable-pip-version-check", str(CHECKOUT)])
        yield found


def _run(command: Sequence[str]) -> str:
    """What the command printed."""
    # A caller's wish to write no compiled files must not make every start of the product compile it.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_PIP_S, env=environment, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise CannotBuild(f"{' '.join(command)} failed: {done.stderr.strip()[-600:]}")
    return done.stdout
