"""Finds out what an attempt runs with. Everything has a deadline; what gives no answer is left empty."""

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from supervisor.daemon.software import script
from supervisor.daemon.software.repository import read_git
from supervisor.ledger.run_file import RunFile
from supervisor.model.software import Git, Software
from supervisor.redact.text import redacted, redacted_in
from supervisor.slurm.guard import without_guard
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)

_FILES_S: Final = 5.0
"""For folders of packages, and a container's image."""
_SCRIPT_CHARS: Final = 64_000
_PACKAGES: Final = 5_000
_DISTRIBUTION: Final = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.dist-info")
_DRIVER: Final = Path("/proc/driver/nvidia/version")
_DRIVER_VERSION: Final = re.compile(r"Module\s+(?:for \S+\s+)?(\d[\d.]+)")


async def gather(run: RunFile, env: Mapping[str, str], *, driver: str = "") -> Software:
    """What this run's script would start with now. `env`: the job's environment; `driver`: what agents have read."""
    text = without_guard(run.script_text)
    head = text[:_SCRIPT_CHARS]
    folders = [str(Path(run.script_path).parent)] if run.script_path else []
    git, files = await asyncio.gather(_git([*folders, run.workdir]), _files(run, env, head))
    packages, python, image, here = files
    return Software(
        script_name=run.script_name,
        script_sha256=_digest(text) if text else "",
        script=redacted(text) if text == head else "",
        arguments=tuple(redacted_in(run.script_args)),
        modules=script.modules(env, head),
        python=python,
        packages=packages,
        packages_sha256=_digest(repr(sorted(packages.items()))) if packages else "",
        container=redacted(image),
        driver=driver or here,
        git=git,
    )


async def _git(folders: Sequence[str]) -> Git | None:
    for folder in dict.fromkeys(folders):
        if folder and (git := await read_git(folder)):
            return git
    return None


async def _files(run: RunFile, env: Mapping[str, str], text: str) -> tuple[dict[str, str], str, str, str]:
    """Packages, the folder of the Python installation, the container's image, and the driver of this machine."""
    try:
        return await aside(partial(_read, run, env, text), deadline_s=_FILES_S, name="software")
    except (OSError, ValueError) as exc:  # TimeoutError is an OSError
        _log.info("software.no_answer", reason=exc)
        return {}, "", "", ""


def _read(run: RunFile, env: Mapping[str, str], text: str) -> tuple[dict[str, str], str, str, str]:
    python = _python(env, script.python_folders(env, text, run.workdir, run.script_args))
    is_apart = bool(python and (Path(python) / "pyvenv.cfg").exists())
    users = [] if is_apart or not env.get("HOME") else [f"{env['HOME']}/.local"]
    image = script.container(env, [*run.sbatch_args, *run.script_args], text)
    return dict(_packages([python, *users])), python, _with_state(image, run.workdir), _driver()


def _python(env: Mapping[str, str], folders: Sequence[str]) -> str:
    """The first of the folders that is there, else where the job's `python` lies."""
    found = next((folder for folder in folders if Path(folder).is_dir()), "")
    if found:
        return found
    program = shutil.which("python", path=env.get("PATH")) or shutil.which("python3", path=env.get("PATH"))
    return str(Path(program).parent.parent) if program else ""


def _packages(folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and version of each, by the names of folders alone: no Python is started, no file is opened."""
    places = [
        place for folder in folders if folder for place in sorted(Path(folder).glob("lib/python3*/site-packages"))
    ]
    for place in places:
        names = sorted(os.listdir(place))[: 4 * _PACKAGES]  # noqa: PTH208  # names only, of a folder of thousands
        for match in list(filter(None, map(_DISTRIBUTION.fullmatch, names)))[:_PACKAGES]:
            yield match["name"].lower().replace("_", "-"), match["version"]


def _with_state(image: str, workdir: str) -> str:
    """An image that is a file has no digest at hand: size and time tell whether it is the same."""
    with suppress(OSError):
        if image and "://" not in image:
            state = Path(workdir, image).stat()
            return f"{image} ({state.st_size} bytes, {int(state.st_mtime)})"
    return image


def _driver() -> str:
    with suppress(OSError):
        if match := _DRIVER_VERSION.search(_DRIVER.read_text(errors="replace")):
            return match[1]
    return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
