"""The beat module in the run folder, where ranks find it."""

import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.beat.install import install_beat


def test_ranks_can_import_it_and_nothing_else_of_ours(tmp_path: Path) -> None:
    """The folder is in front of their PYTHONPATH: whatever else lay there would hide modules of theirs."""
    place = install_beat(tmp_path)
    assert place == tmp_path / "beat"
    assert [path.name for path in place.iterdir()] == ["supervise_beat.py"]
    code = "import supervise_beat; print(supervise_beat.__file__, supervise_beat.beat(1))"
    env = {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(place / "supervise_beat.py"), "False"]


def test_installing_again_replaces_the_whole_file(tmp_path: Path) -> None:
    """A successor may run after an upgrade; ranks that import meanwhile see the old file or the new one."""
    module = install_beat(tmp_path) / "supervise_beat.py"
    before = module.read_bytes()
    module.write_bytes(b"old")
    old = module.open("rb")
    install_beat(tmp_path)
    assert (module.read_bytes(), old.read()) == (before, b"old")
    old.close()
    assert [path.name for path in module.parent.iterdir()] == ["supervise_beat.py"]


def test_a_module_that_is_there_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor begins anew on a disk that is full by now."""
    place = install_beat(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert install_beat(tmp_path) == place
