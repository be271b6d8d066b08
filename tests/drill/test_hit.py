"""Which process is hit: only the caller's own, of this job, and none of the step that hits."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.beat import pages
from supervisor.drill import hit
from supervisor.drill.kinds import KINDS

JOB = f"77{os.getpid()}"
_BEATING = """\
import sys, time
sys.path.insert(0, sys.argv[1])
from supervise_beat import beat
beat(1)
print("beats", flush=True)
time.sleep(60)
"""
_BEAT = Path(pages.__file__).parent


@pytest.fixture
def started(tmp_path: Path) -> Iterator["list[subprocess.Popen[bytes]]"]:
    """What a test starts is gone after it."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def _start(started: "list[subprocess.Popen[bytes]]", argv: list[str], **env: str) -> "subprocess.Popen[bytes]":
    clean = {"PATH": os.defpath, "SLURM_JOB_ID": JOB, **env}
    started.append(subprocess.Popen(argv, stdout=subprocess.PIPE, env=clean))
    return started[-1]


def _sleeper(started: "list[subprocess.Popen[bytes]]", name: str = "sleep", **env: str) -> "subprocess.Popen[bytes]":
    """A process whose command line ends with this name."""
    argv = [sys.executable, "-I", "-S", "-c", "import time; print(1, flush=True); time.sleep(60)", name]
    process = _start(started, argv, **env)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _task(rank: int, step: int = 0, attempt: int = 1) -> dict[str, str]:
    numbers = {"SLURM_PROCID": rank, "SLURM_STEP_ID": step, "SUPERVISE_ATTEMPT": attempt}
    return {"SUPERVISE_RUN_ID": "r", **{name: str(number) for name, number in numbers.items()}}


def test_the_last_rank_is_hit(started: "list[subprocess.Popen[bytes]]") -> None:
    """By Slurm's number where no rank beats; a process of another job is none."""
    _sleeper(started, **_task(0))
    last = _sleeper(started, **_task(1))
    _sleeper(started, **{**_task(2), "SLURM_JOB_ID": f"{JOB}1"})
    _sleeper(started)  # of the batch script
    assert hit.find(KINDS["rank_killed"], JOB) == [hit.Victim(last.pid, 1)]


def test_a_rank_that_beats_is_known_by_its_page(
    started: "list[subprocess.Popen[bytes]]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher with the same number of a task is not the rank, however large it is."""
    folder = str(tmp_path / "pages")
    monkeypatch.setenv("SUPERVISE_BEAT_DIR", folder)
    _sleeper(started, **_task(9))
    argv = [sys.executable, "-c", _BEATING, str(_BEAT)]
    beating = _start(started, argv, SUPERVISE_BEAT_DIR=folder, **_task(0), SUPERVISE_RANK="5")
    assert beating.stdout is not None
    beating.stdout.readline()
    assert hit.find(KINDS["rank_killed"], JOB) == [hit.Victim(beating.pid, 5)]


@pytest.mark.parametrize(
    ("kind", "words"),
    [("agent_killed", "/r/agent-{job}.json"), ("supervisor_killed", "supervisor.daemon")],
)
def test_a_helper_is_known_by_its_words(started: "list[subprocess.Popen[bytes]]", kind: str, words: str) -> None:
    """And only in this job."""
    words = words.format(job=JOB)
    found = _sleeper(started, words)
    _sleeper(started, words, SLURM_JOB_ID=f"{JOB}1")
    assert [victim.pid for victim in hit.find(KINDS[kind], JOB)] == [found.pid]


def test_the_broker_is_known_by_its_folder(started: "list[subprocess.Popen[bytes]]") -> None:
    """It has nothing of the job in its environment."""
    found = _sleeper(started, f"/dev/shm/supervise-bus-{os.getuid()}-{JOB}/mosquitto.conf", SLURM_JOB_ID="")
    assert [victim.pid for victim in hit.find(KINDS["broker_killed"], JOB)] == [found.pid]


def test_a_whole_node_is_all_of_the_job(
    started: "list[subprocess.Popen[bytes]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the step that hits: who kills himself first kills nobody else."""
    monkeypatch.setenv("SLURM_STEP_ID", "4")
    wanted = {_sleeper(started, **_task(0)).pid, _sleeper(started, f"/r/agent-{JOB}.json").pid}
    _sleeper(started, **_task(0, step=4))
    assert {victim.pid for victim in hit.find(KINDS["node_emptied"], JOB)} == wanted


def test_the_moment_is_told_before_the_deed(
    started: "list[subprocess.Popen[bytes]]", capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with node, rank and pid; the process is dead."""
    monkeypatch.setenv("SLURMD_NODENAME", "node002")
    victim = _sleeper(started, **_task(3))
    began = time.time()
    assert hit.main(KINDS["rank_killed"], JOB, 0.0) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["node"], told["rank"], told["pid"]) == ("node002", 3, victim.pid)
    assert began <= told["at"] <= time.time()
    assert victim.wait(5) == -signal.SIGKILL


def test_whoever_takes_the_place_is_awaited(
    started: "list[subprocess.Popen[bytes]]", capfd: pytest.CaptureFixture[str]
) -> None:
    """The last line has the moment of it; where nobody comes there is none."""
    words = f"/r/agent-{JOB}.json"
    _sleeper(started, words)
    _sleeper(started, words)
    assert hit.main(KINDS["agent_killed"], JOB, 5.0) == 0
    first, last = map(json.loads, capfd.readouterr().out.splitlines())
    assert "back_at" not in first
    assert last["back_at"] >= last["at"]
    assert hit.main(KINDS["agent_killed"], JOB, 0.5) == 0
    assert "back_at" not in json.loads(capfd.readouterr().out.splitlines()[-1])


def test_nobody_to_hit_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    """By an exit code of its own, and without a word that could be taken for a deed."""
    assert hit.main(KINDS["rank_killed"], JOB, 0.0) == hit.NOBODY
    assert capfd.readouterr().out == ""


def test_who_was_stopped_is_let_go_on(started: "list[subprocess.Popen[bytes]]") -> None:
    """And nobody of another job."""
    victim = _sleeper(started, **_task(0))
    os.kill(victim.pid, signal.SIGSTOP)
    assert hit.undo(victim.pid, f"{JOB}1") == hit.NOBODY
    assert hit.undo(victim.pid, JOB) == 0
    ends = time.monotonic() + 5
    while "T" in Path(f"/proc/{victim.pid}/stat").read_text().split()[2] and time.monotonic() < ends:
        time.sleep(0.05)
    assert Path(f"/proc/{victim.pid}/stat").read_text().split()[2] in {"R", "S"}
