"""What ranks print into files that the script's own sruns name."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.daemon import step_files
from supervisor.daemon.step_files import StepFiles
from supervisor.model.ids import Rank

_LASTS = "import time; time.sleep(60)"
# As srun sees it, -c is the number of CPUs.
_BY_RANK, _SHARED = ("-o", "out-%t.txt", "-e", "err-%t.txt"), ("-o", "all.txt")
_SRUNS = [["srun", "-c", _LASTS, *words, "x"] for words in (_BY_RANK, _SHARED)]
_PYTHON = str(Path(sys.executable).resolve())
_SCRIPT = f"import os, subprocess as s; all = [s.Popen(words, executable={_PYTHON!r}) for words in {_SRUNS}]"


@pytest.fixture
def script(tmp_path: Path) -> Iterator[int]:
    """A script in its folder, with two sruns below another process."""
    python = f"{_SCRIPT}; print(1, flush=True); os.wait()"
    words = ["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", python]
    with subprocess.Popen(words, cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        until = time.monotonic() + 10
        # The kernel lets the parent go on a moment before the child's arguments can be read.
        while len(list(step_files._sruns(process.pid))) < len(_SRUNS) and time.monotonic() < until:
            time.sleep(0.01)
        yield process.pid
        os.killpg(process.pid, signal.SIGKILL)


def test_files_of_living_sruns_are_read(tmp_path: Path, script: int) -> None:
    """Out and err of a rank together; failing ranks first; what all wrote apart; what is older not at all."""
    now = time.time()
    found = StepFiles()
    found.begin(now)
    texts = {"out-0": "zero\n", "out-1": "one\n\n", "err-1": "wrong\n", "all": "a\nb\n", "out-7": "x"}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    os.utime(tmp_path / "out-7.txt", (now - 60, now - 60))
    used = []
    for at in (now, now + 1):
        found.look(script, at)
        used.append(found.is_used)
    assert used == [False, True]
    logs = {log.name: log.lines for log in found.logs([Rank(1), Rank(99)])}
    assert logs == {"ranks/1.log": ("one", "wrong"), "ranks/0.log": ("zero",), "step.log": ("a", "b")}
    assert next(iter(logs)) == "ranks/1.log"
    found.begin(now)
    assert found.logs([]) == ()


def test_looks_become_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script's processes are looked at a few times at first, then each minute."""
    looks: list[float] = []

    def seen(_: int) -> list[tuple[list[str], str]]:
        looks.append(now)
        return []

    monkeypatch.setattr(step_files, "_sruns", seen)
    found = StepFiles()
    found.begin(0.0)
    for tick in range(2400):
        now = tick / 10
        found.look(1, now)
    assert len(looks) == 4 + (240 - 14) // 60
    found.look(0, 10_000.0)
    assert looks[-1] < 300


def test_of_a_long_file_the_end_is_read(tmp_path: Path) -> None:
    """Whole lines, a bounded number; a file that is gone costs nothing."""
    path = tmp_path / "long"
    path.write_text("".join(f"line {number}\n" for number in range(50_000)))
    lines = step_files._last_lines([str(path), str(tmp_path / "gone")])
    assert (len(lines), lines[-1]) == (200, "line 49999")
