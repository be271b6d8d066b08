"""One `supervise run` at a time in an allocation."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.cli import run_alone
from supervisor.errors import UsageError
from supervisor.model.ids import JobId

_JOB = JobId(f"test-{os.getpid()}")
_TAKES = (
    "import sys, time; from supervisor.cli.run_alone import be_alone;"
    "place = be_alone(sys.argv[1]); print(1, flush=True); time.sleep(60)"
)


def test_the_second_one_is_refused_with_the_remedy() -> None:
    """Another job is another allocation; once the first is gone, however it went, there is room."""
    with subprocess.Popen([sys.executable, "-c", _TAKES, _JOB], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with pytest.raises(UsageError, match=r"supervise run -- ./both.sh"):
            run_alone.be_alone(_JOB)
        run_alone.be_alone(JobId(f"{_JOB}-other")).close()
        first.send_signal(signal.SIGKILL)
    run_alone.be_alone(_JOB).close()


def test_a_stranger_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes the name in advance could else keep all others from their work."""
    with run_alone.be_alone(_JOB):
        monkeypatch.setattr(run_alone, "_owner", lambda _: os.getuid() + 1)
        run_alone.be_alone(_JOB).close()


def test_in_a_job_the_place_is_held_while_the_command_runs(work: Path) -> None:
    """Also where the output is a file; and without a job nobody asks for one."""
    program = [sys.executable, "-I", "-m", "supervisor.cli.main", "-q", "run", "--", "true"]
    env = {**os.environ, "SLURM_JOB_ID": str(_JOB), "SLURM_JOB_NODELIST": "n1", "SLURMD_NODENAME": "n1"}
    with run_alone.be_alone(_JOB), (work / "out").open("wb") as out:
        done = subprocess.run(program, env=env, stdout=out, stderr=subprocess.STDOUT, timeout=60, check=False)
    assert done.returncode == 2
    assert b"another `supervise run` is at work in job" in (work / "out").read_bytes()
    assert not (work / ".supervise").exists()
