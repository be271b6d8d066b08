"""A keeper run for real, with a supervisor that does what a test says."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

_DEADLINE_S: Final = 60.0
_KEEPER: Final = Path(__file__).resolve().parents[2] / "supervisor/keeper/keeper.py"
_BOOT: Final = Path(__file__).resolve().parents[2] / "supervisor/runtime/boot.py"
# What every supervisor of a test begins with: the link, its generation, and a diary of what it hears.
_PRELUDE: Final = """\
import json, os, select, signal, socket, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
link = socket.socket(fileno=int(os.environ["SUPERVISE_KEEPER_FD"]))
generation = len(list(folder.glob("generation-*"))) + 1
(folder / f"generation-{generation}").write_text(str(os.getpid()))
lines = link.makefile("rb")

def tell(**words):
    link.sendall(json.dumps(words).encode() + b"\\n")

def start(number=1, unset=(), **changed):
    tell(do="start", attempt=number, set=changed, unset=list(unset))

def hear(what=None):
    while line := lines.readline():
        with (folder / f"heard-{generation}").open("ab") as file:
            file.write(line)
        words = json.loads(line)
        if what in (None, words["is"]):
            return words
    sys.exit(0)

state = hear("state")
"""


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """The condition's first true answer."""
    end = time.monotonic() + _DEADLINE_S
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.02)
    pytest.fail(f"{what} did not happen within {_DEADLINE_S:.0f} s")


class Bench:
    """One run folder, one script, one fake supervisor, and the keepers started on them."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "run-abc12"
        self.folder.mkdir()
        self.script_path = tmp_path / "slurm_script"
        self._python = _environment_with_fake_supervisor(tmp_path)
        self._daemon = tmp_path / f"venv/lib/python3.{sys.version_info.minor}/site-packages/supervisor/daemon.py"
        self._started: list[subprocess.Popen[bytes]] = []

    def supervisor(self, text: str) -> None:
        """What each generation of the supervisor does, after the prelude."""
        self._daemon.write_text(_PRELUDE + text)

    def script(self, text: str) -> None:
        """The user's script; it stands in the run folder's parent."""
        self.script_path.write_text(f"#!/bin/bash\n{text}")
        self.script_path.chmod(0o700)

    def start(self, *args: str, env: dict[str, str] | None = None, **constants: object) -> "subprocess.Popen[bytes]":
        """A keeper, with these constants in place of its own so that no test waits for a minute."""
        text = _KEEPER.read_text()
        for name, value in constants.items():
            text = _with_constant(text, name, value)
        program = self.folder / "keeper.py"
        program.write_text(text)
        (self.folder / "boot.py").write_bytes(_BOOT.read_bytes())
        process = subprocess.Popen(
            [self._python, "-I", program, self.folder, self.script_path, *args],
            env={**_clean(), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def finish(self, process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
        """Exit status, stdout and stderr of a keeper that is to end by itself."""
        out, err = process.communicate(timeout=_DEADLINE_S)
        return process.returncode, out.decode(errors="surrogateescape"), err.decode()

    def run(self, **constants: object) -> tuple[int, str, str]:
        """Start without arguments, and wait."""
        return self.finish(self.start(env=None, **constants))

    def plain(self, *args: str, env: dict[str, str]) -> str:
        """What the script prints without a keeper."""
        argv = [str(self.script_path), *args]
        done = subprocess.run(argv, env={**_clean(), **env}, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        return done.stdout.decode(errors="surrogateescape")

    def heard(self, generation: int = 1) -> list[dict[str, Any]]:
        """What this supervisor was told so far."""
        path = self.folder / f"heard-{generation}"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def wait_heard(self, what: str, generation: int = 1) -> dict[str, Any]:
        """The first message of this kind that the supervisor of this generation gets."""

        def found() -> dict[str, Any] | None:
            return next((each for each in self.heard(generation) if each["is"] == what), None)

        answer: dict[str, Any] = wait_for(found, f"message {what} to supervisor {generation}")
        return answer

    def pid_of(self, generation: int) -> int:
        """The process of this supervisor, once it runs."""
        path = self.folder / f"generation-{generation}"
        return int(wait_for(lambda: path.exists() and path.read_text(), f"supervisor {generation}"))

    def wait_file(self, name: str) -> str:
        """The content of a file that the script writes into the run folder, once it has some."""
        path = self.folder / name
        return str(wait_for(lambda: path.exists() and path.read_text(), f"file {name}")).strip()

    def close(self) -> None:
        """End whatever a test has left behind."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        for path in self.folder.glob("heard-*"):
            started = [json.loads(line) for line in path.read_bytes().splitlines()]
            for pid in {int(each.get("pid", 0)) for each in started}:
                _kill_group(pid, self.script_path)
        for path in self.folder.glob("generation-*"):
            _kill_group(int(path.read_text() or 0), self.folder)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Everything that a keeper needs."""
    made = Bench(tmp_path)
    yield made
    made.close()


def _environment_with_fake_supervisor(tmp_path: Path) -> Path:
    """A Python whose `supervisor.daemon` is the test's: the keeper starts its own interpreter's."""
    home = tmp_path / "venv"
    packages = home / f"lib/python3.{sys.version_info.minor}/site-packages/supervisor"
    packages.mkdir(parents=True)
    (packages / "__init__.py").touch()
    (home / "bin").mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    (home / "bin/python").symlink_to(base)
    (home / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    return home / "bin/python"


def _with_constant(text: str, name: str, value: object) -> str:
    """The program with this constant changed, which stands alone or in a pair of names."""
    for line in re.findall(r"^[A-Z_, ]+ = .*$", text, re.MULTILINE):
        names, _, values = line.partition(" = ")
        if name in names.split(", "):
            if names == name:
                return text.replace(line, f"{name} = {value!r}")
            kept = re.split(r", ", values.split("  #")[0])
            kept[names.split(", ").index(name)] = repr(value)
            return text.replace(line, f"{names} = {', '.join(kept)}")
    raise AssertionError(f"the keeper has no constant {name}")


def _clean() -> dict[str, str]:
    """This environment without what a job or another keeper would have put into it."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SUPERVISE"))}


def _kill_group(pid: int, mark: Path) -> None:
    """Kill the group of a process that a test started; one that is another's by now is left alone."""
    try:
        if pid and os.fsencode(mark) in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.killpg(pid, signal.SIGKILL)
    except OSError:
        return
