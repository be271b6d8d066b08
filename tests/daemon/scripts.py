"""Real batch scripts with a stand-in for srun, for tests of what freezes and ends them."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from supervisor.daemon.until import until

WAIT_S = 60.0
_SRUN = "#!{python} -I\nimport os, sys, time\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(600)\n"


@dataclass
class Scripts:
    """A folder with an `srun` that waits, and the scripts started in it; all gone at the end."""

    folder: Path
    _started: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        srun = self.folder / "srun"
        srun.write_text(_SRUN.format(python=sys.executable))
        srun.chmod(0o755)

    async def start(self, text: str, env: Mapping[str, str] | None = None) -> psutil.Process:
        """A bash script that has come to `./srun launched`; its process."""
        script = subprocess.Popen(  # noqa: ASYNC220  # a test may block for so long
            ["/bin/bash", "-c", text], cwd=self.folder, env={**os.environ, **(env or {})}, start_new_session=True
        )
        self._started.append(script)
        await self.written("launched")
        return psutil.Process(script.pid)

    async def written(self, name: str) -> str:
        """What the script has written there."""
        path = self.folder / name
        assert await until(lambda: path.exists() and bool(path.read_text()), deadline_s=WAIT_S), f"{name} is missing"
        return path.read_text()

    def has(self, name: str) -> bool:
        """Whether it has written there."""
        return (self.folder / name).exists()

    def clear(self) -> None:
        """Kill what is left of them; each is a session of its own."""
        for script in self._started:
            with suppress(ProcessLookupError):
                os.killpg(script.pid, signal.SIGKILL)
            script.wait(WAIT_S)


def is_frozen(process: psutil.Process) -> bool:
    """It is stopped by a signal."""
    return str(process.status()) == psutil.STATUS_STOPPED


def is_gone(process: psutil.Process) -> bool:
    """It has ended, read by its parent or not."""
    try:
        return str(process.status()) == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
