"""A virtual environment of its own."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PIP: Final = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


@dataclass(frozen=True)
class Environment:
    """Packages are put in and taken out by this process's pip: the environment holds what it is told, and no pip."""

    folder: Path
    version: str

    @property
    def packages(self) -> Path:
        """`site-packages`."""
        return self.folder / "lib" / f"python{self.version}" / "site-packages"

    def install(self, *what: str) -> None:
        """Install packages with their dependencies."""
        self._pip("install", "--quiet", *what)

    def uninstall(self, what: str) -> None:
        """Take a package out."""
        self._pip("uninstall", "--quiet", "--yes", what)

    def run(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """What a program of the environment does, called from a folder without any Python file."""
        command = [str(self.folder / "bin" / program), *arguments]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, timeout=60)

    def says(self, program: str, *arguments: str) -> str:
        """What it prints on stdout; it must end well."""
        done = self.run(program, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _pip(self, *arguments: str) -> None:
        command = [*PIP, "--python", str(self.folder / "bin" / "python"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
        assert done.returncode == 0, done.stderr[-1000:]
