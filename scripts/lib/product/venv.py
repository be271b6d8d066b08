"""A virtual environment with the product in it, readable by the ordinary users that submit jobs."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
_CACHE = Path("/var/cache/supervise-product")
_PIP_S = 900
_TRIES = 3


class CannotBuild(Exception):
    """The environment could not be made; the message holds pip's last words."""


def is_open_to_all(folder: Path) -> bool:
    """Whether another user can reach the folder: every parent lets him through."""
    return all(parent.stat().st_mode & 0o001 for parent in [folder, *folder.parents])


def environment(*, dev: bool = False) -> Path:
    """The Python of an up-to-date environment with what the demo needs; with `dev` also what tests and checks need.

    It lies in the checkout as `.venv` where other users can read it; else (a clone below /root) in /var/cache, with a
    copy of the product instead of a link to it.
    """
    is_shared = is_open_to_all(CHECKOUT)
    place = CHECKOUT / ".venv" if is_shared or os.geteuid() != 0 else _CACHE / _key(str(CHECKOUT))
    python = place / "bin" / "python"
    stamp = place / ".supervise-stamp"
    wanted = _wanted(dev=dev, is_linked=is_shared)
    if python.exists() and stamp.exists() and wanted in stamp.read_text(encoding="utf-8").split():
        return python
    if not python.exists():
        _make(place)
    product = ["--editable", str(CHECKOUT)] if is_shared else [str(CHECKOUT)]
    _pip(python, ["--upgrade", "pip"])
    _pip(python, [*product, "--group", f"{CHECKOUT / 'pyproject.toml'}:{'dev' if dev else 'demo'}"])
    stamp.write_text(wanted + ("\n" + _wanted(dev=False, is_linked=is_shared) if dev else ""), encoding="utf-8")
    return python


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _wanted(*, dev: bool, is_linked: bool) -> str:
    """What the environment was made from: dependencies, and the code itself where it is copied."""
    parts = [(CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"), str(dev)]
    if not is_linked:
        parts += [path.read_text(encoding="utf-8") for path in sorted((CHECKOUT / "supervisor").rglob("*.py"))]
    return _key("".join(parts))


def _make(place: Path) -> None:
    """With the system's own Python: one below /root (pyenv) cannot be run by the users that submit jobs."""
    base = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    _run([base, "-m", "venv", str(place)])


def _pip(python: Path, arguments: list[str]) -> None:
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments], tries=_TRIES)


def _run(command: list[str], *, tries: int = 1) -> None:
    for _ in range(tries):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PIP_S)
        if done.returncode == 0:
            return
    raise CannotBuild(f"{' '.join(command)} failed: {done.stderr.strip()[-600:]}")
