"""Which processes are the run's, on real ones."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.agent.processes import Process, Scanner, parse_marks, send_signal
from supervisor.model.ids import AttemptNo, JobId, RunId

Spawn = Callable[..., subprocess.Popen[str]]
SLEEP = "print('ready', flush=True)\nwhile True: time.sleep(60)\n"


def _pids(scanner: Scanner, *, is_thorough: bool = True) -> set[int]:
    return {process.pid for process in scanner.scan(is_thorough=is_thorough)}


def _wait(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.01)


def _with_child(how: str) -> str:
    return f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], {how})\n{SLEEP}"


def test_processes_with_the_marks_are_found(spawn: Spawn, scanner: Scanner) -> None:
    """Run, job and attempt in the environment make a process ours, with its attempt and whether a step started it."""
    task, script = spawn(), spawn(SLURM_STEP_ID=None, SUPERVISE_ATTEMPT="3")
    found = {process.pid: (process.attempt, process.is_task) for process in scanner.scan()}
    assert found == {task.pid: (2, True), script.pid: (3, False)}


@pytest.mark.parametrize("other", [{"SUPERVISE_RUN_ID": "other"}, {"SLURM_JOB_ID": "18"}, {"SUPERVISE_ATTEMPT": None}])
def test_other_runs_and_jobs_are_not_touched(spawn: Spawn, scanner: Scanner, other: dict[str, str | None]) -> None:
    """One mark that differs, and the process is none of ours."""
    spawn(**other)
    assert _pids(scanner) == set()


def test_without_slurm_the_run_alone_counts(spawn: Spawn, run_id: RunId) -> None:
    """On one machine without Slurm no process has a job id."""
    task = spawn(SLURM_JOB_ID=None)
    assert _pids(Scanner(run_id=run_id, job_id=JobId("0"))) == {task.pid}


def test_a_child_in_a_session_of_its_own_is_found(spawn: Spawn, scanner: Scanner) -> None:
    """A new session hides from process groups, not from the marks."""
    parent = spawn(_with_child("start_new_session=True"))
    assert len(_pids(scanner) - {parent.pid}) == 1


def test_a_child_with_a_clean_environment_is_found_by_its_parent(spawn: Spawn, scanner: Scanner) -> None:
    """A child without marks belongs where its parent belongs, and stays so when the parent is gone."""
    parent = spawn(_with_child("env={}"))
    both = _pids(scanner)
    (child,) = both - {parent.pid}
    parent.kill()
    parent.wait()
    assert _pids(scanner, is_thorough=False) == {child}
    os.kill(child, signal.SIGKILL)


def test_a_process_that_overwrites_its_environment_stays_ours(
    spawn: Spawn, scanner: Scanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changing the title (setproctitle) writes over the marks; a process once recognised is not asked again."""
    task = spawn()
    assert _pids(scanner) == {task.pid}
    monkeypatch.setattr(Scanner, "_environment", lambda *_: b"")
    assert _pids(scanner) == {task.pid}


def test_marks_that_come_with_exec_are_seen(spawn: Spawn, scanner: Scanner, marks: dict[str, str]) -> None:
    """Between fork and exec a task still has its starter's environment: a young process is looked at again."""
    become = f"os.execve(sys.executable, ['task', '-c', 'import time; time.sleep(600)'], {marks!r})"
    task = spawn(f"signal.signal(signal.SIGUSR1, lambda *_: {become})\n{SLEEP}", SUPERVISE_RUN_ID=None)
    assert _pids(scanner, is_thorough=False) == set()
    task.send_signal(signal.SIGUSR1)
    _wait(lambda: Path(f"/proc/{task.pid}/cmdline").read_bytes().startswith(b"task"))
    assert _pids(scanner, is_thorough=False) == {task.pid}


def test_a_dead_process_that_nobody_reaped_is_gone(spawn: Spawn, scanner: Scanner) -> None:
    """A zombie holds nothing and is no process of ours any more."""
    task = spawn()
    scanner.scan()
    task.kill()
    os.waitid(os.P_PID, task.pid, os.WEXITED | os.WNOWAIT)
    assert _pids(scanner) == set()


def test_a_zombie_whose_threads_live_is_not_gone(spawn: Spawn, scanner: Scanner) -> None:
    """The first thread may have ended while others hang on: that is how a rank dies in a driver."""
    code = (
        "import threading, ctypes\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print('ready', flush=True)\nctypes.CDLL(None).pthread_exit(None)\n"
    )
    task = spawn(code)
    _wait(lambda: Path(f"/proc/{task.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    assert _pids(scanner) == {task.pid}


def test_the_callers_own_line_is_spared(marks: dict[str, str], run_id: RunId) -> None:
    """The agent and what started it are never among the found, whatever their environment says."""
    code = (
        "from supervisor.agent.processes import Scanner\n"
        f"print([p.pid for p in Scanner(run_id={run_id!r}, job_id='17').scan(is_thorough=True)])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=marks, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_scan_goes_around_an_environment_that_must_not_be_read(spawn: Spawn, scanner: Scanner) -> None:
    """Reading the environment of a process stuck in the kernel can hang; such a process is left out from then on."""
    task, other = spawn(), spawn()
    scanner.unreadable.add(task.pid)
    assert _pids(scanner) == {other.pid}


def test_old_processes_cost_no_reading(spawn: Spawn, scanner: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some looks only the run's own processes are read: a node has thousands of others."""
    task = spawn()
    # Other programs start processes meanwhile, which are rightly looked at: only those that are old by now count.
    old = set(os.listdir("/proc"))  # noqa: PTH208 - as the scanner does
    for _ in range(6):
        scanner.scan()
    read: list[str] = []
    original = Scanner._read

    def record(self: Scanner, name: str) -> bytes:
        read.append(name)
        return original(self, name)

    monkeypatch.setattr(Scanner, "_read", record)
    scanner.scan()
    assert [name for name in read if name.partition("/")[0] in old] == [f"{task.pid}/stat"]


def test_a_signal_reaches_only_the_very_process(spawn: Spawn) -> None:
    """A number that was given to another process is not signalled."""
    task = spawn()
    send_signal(Process(pid=task.pid, started=1, attempt=AttemptNo(2), is_task=True), signal.SIGKILL)
    assert task.poll() is None


@pytest.mark.parametrize(
    ("step", "is_task"), [(b"0", True), (b"12", True), (b"4294967291", False), (b"4294967290", False), (b"", False)]
)
def test_slurms_own_steps_are_the_batch_script(step: bytes, *, is_task: bool) -> None:
    """Batch and interactive have step numbers too, at the top of the range."""
    environment = {b"SUPERVISE_ATTEMPT": b"1", b"SLURM_STEP_ID": step}
    marks = parse_marks(environment, {})
    assert marks is not None
    assert marks.is_task == is_task


@pytest.mark.parametrize(("job", "is_found"), [("17", True), ("18", False)])
def test_an_unreadable_process_is_known_by_its_cgroup(tmp_path: Path, job: str, *, is_found: bool) -> None:
    """Stuck in the kernel it is the very process that must not be overlooked; Slurm's cgroup tells whose it is."""
    stat = "4711 (python) D 1 " + " ".join(["0"] * 17) + " 99 0"
    folder = tmp_path / "4711"
    folder.mkdir()
    (folder / "stat").write_text(stat)
    (folder / "cgroup").write_text(f"0::/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_0\n")
    scanner = Scanner(run_id=RunId("r"), job_id=JobId("17"), proc=tmp_path)
    scanner.unreadable.add(4711)
    found = scanner.scan(is_thorough=True)
    assert [(each.pid, each.is_task, each.is_stuck) for each in found] == ([(4711, True, True)] if is_found else [])
