"""Builds the pretended libnvidia-ml.so.1 that the real pynvml loads, and writes the state that it tells."""

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("fake_nvml.c")
_NAME = "libnvidia-ml.so.1"


class FakeNvml:
    """A folder with the library, and the state file that it reads at each question."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.says()

    def says(self, *lines: str) -> None:
        """From now on this, and nothing of before: `count=2`, `0.remap_failure=1`, `hang=nvmlInitWithFlags`."""
        self.state.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to find it; the loader reads it at its start."""
        return {"LD_LIBRARY_PATH": str(self.folder), "FAKE_NVML_STATE": str(self.state)}


def build(folder: Path) -> FakeNvml:
    """The library, linked with the name by which pynvml asks for it; skips the test where nothing can compile it."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", f"-Wl,-soname,{_NAME}"]
    subprocess.run([*command, "-o", folder / _NAME, _SOURCE], check=True, capture_output=True, timeout=60)
    return FakeNvml(folder)
