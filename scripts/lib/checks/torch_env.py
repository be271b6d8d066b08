"""A Python with PyTorch for the tests of the PyTorch example: too large for the environment of everything else."""

import os
import subprocess
import sys
from pathlib import Path

_PLACE = Path("/var/cache/supervise-torch")
_PACKAGES = ["torch==2.13.0", "numpy>=1.26"]
_INSTALL_S = 900


def offer() -> None:
    """Make it, once for this machine, and name it to the tests by TORCH_PYTHON; they skip themselves without it."""
    if "TORCH_PYTHON" in os.environ or os.geteuid() != 0:
        return
    python = _PLACE / "bin" / "python"
    done = _PLACE / "done"
    if not done.exists() and not _made(python):
        print(f"no PyTorch: {' '.join(_PACKAGES)} cannot be installed; its tests are skipped", file=sys.stderr)
        return
    done.touch()
    os.environ["TORCH_PYTHON"] = str(python)


def _made(python: Path) -> bool:
    commands = [
        ["/usr/bin/python3", "-m", "venv", "--clear", str(_PLACE)],
        [str(python), "-m", "pip", "install", "--quiet", *_PACKAGES],
    ]
    try:
        return all(
            subprocess.run(command, check=False, capture_output=True, timeout=_INSTALL_S).returncode == 0
            for command in commands
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
