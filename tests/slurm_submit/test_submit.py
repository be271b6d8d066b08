"""sbatch's words and exit code pass through; a job that nobody heard of is found again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout
from supervisor.model.ids import JobId
from supervisor.slurm import resubmit as resubmit_module
from supervisor.slurm.resubmit import resubmit
from supervisor.slurm.submit import (
    Outcome,
    accepted_job,
    find_lost,
    job_of_folder,
    sbatch_environment,
    send,
)
from supervisor.slurm.successor import Successor
from tests.slurm_submit.fakes import FakeSlurm


def _send(limit_s: float | None = 60.0) -> tuple[Outcome, bytes, bytes]:
    out, err = bytearray(), bytearray()
    outcome = send(["-N2", "s"], env=os.environ, out=out.extend, err=err.extend, limit_s=limit_s)
    return outcome, bytes(out), bytes(err)


def test_what_sbatch_prints_is_passed_on_and_read(slurm: FakeSlurm) -> None:
    """Both streams byte for byte, the exit code, and the job's id out of them."""
    slurm.says(stdout="Submitted batch job 17\n", stderr="sbatch: note\n")
    outcome, out, err = _send()
    assert (out, err) == (b"Submitted batch job 17\n", b"sbatch: note\n")
    assert (outcome.code, outcome.job_id) == (0, "17")
    assert slurm.argv == ["-N2", "s"]


def test_a_refusal_is_no_lost_job(slurm: FakeSlurm) -> None:
    """Slurm said no: nothing needs to be looked for."""
    slurm.says(stderr="sbatch: error: Batch job submission failed: Invalid qos specification\n", code=1)
    outcome, _, err = _send()
    assert outcome.code == 1
    assert not outcome.may_have_submitted
    assert b"Invalid qos" in err


@pytest.mark.parametrize(
    "words",
    [
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
    ],
)
def test_an_unheard_answer_may_be_a_job(slurm: FakeSlurm, words: str) -> None:
    """The request was sent, and then the connection was lost."""
    slurm.says(stderr=words, code=1)
    assert _send()[0].may_have_submitted


def test_a_fatal_option_is_a_refusal(slurm: FakeSlurm) -> None:
    """Sbatch ends with 255 on an option it cannot read: that is no signal."""
    slurm.says(stderr="sbatch: error: invalid node count\n", code=255)
    assert not _send()[0].may_have_submitted


def test_an_sbatch_that_hangs_is_ended_at_the_limit(slurm: FakeSlurm) -> None:
    """Nobody waits for ever; whether it submitted is open."""
    slurm.says()
    slurm.hangs()
    outcome, _, _ = _send(limit_s=0.5)
    assert outcome.is_cut_short
    assert outcome.may_have_submitted
    assert outcome.code > 128


def test_a_hanging_sbatch_that_named_its_job_is_not_lost(slurm: FakeSlurm) -> None:
    """`--wait` and an interrupt: the id was heard."""
    slurm.hangs()
    outcome, _, _ = _send(limit_s=0.5)
    assert outcome.job_id == "4242"
    assert not outcome.may_have_submitted


def test_without_sbatch_the_user_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a machine without Slurm."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSlurm, match="sbatch is not on PATH"):
        _send()


@pytest.mark.parametrize(
    ("said", "job", "cluster"),
    [
        (b"Submitted batch job 5\n", "5", ""),
        (b"Submitted batch job 5 on cluster blue\n", "5", "blue"),
        (b"5\n", "5", ""),
        (b"5;blue\n", "5", "blue"),
        (b"", "", ""),
        (b"Hello from our site 12 times\n", "", ""),
        (b"Site note\nSubmitted batch job 6\n", "6", ""),
    ],
)
def test_the_job_id_is_read_in_every_form(said: bytes, job: str, cluster: str) -> None:
    """With and without `--parsable`, on one cluster of several, behind a site's own words."""
    assert accepted_job(said) == (job, cluster)


FOLDER = Path("/w/.supervise/r-abc12")
QUEUE = "7|/w/.supervise/r-abc12/submitted/t.sh --x\n8|/home/x.sh\n9|/w/.supervise/r-abc12/submitted/t.sh\n"


def test_a_job_is_found_by_the_path_of_its_script() -> None:
    """The newest one, jobs of the run that were known before aside."""
    assert job_of_folder(QUEUE, FOLDER) == "9"
    assert job_of_folder(QUEUE, FOLDER, known=[JobId("9")]) == "7"
    assert job_of_folder("8|/home/x.sh\n", FOLDER) is None
    assert job_of_folder("3|/w/.supervise/r-abc12-4/submitted/t.sh\n", FOLDER) is None
    assert job_of_folder("3|/w/new\nline/submitted/t\n", Path("/w/new\nline")) == "3"


def test_a_lost_job_is_looked_for_more_than_once(slurm: FakeSlurm) -> None:
    """It may show in the queue a moment later."""
    slurm.queue("")
    assert find_lost(FOLDER, sleep=lambda _: slurm.queue(QUEUE)) == "9"
    assert slurm.calls("squeue-") == 2


def test_an_unreadable_queue_is_not_an_empty_one(slurm: FakeSlurm) -> None:
    """Unknown stays unknown."""
    with pytest.raises(SlurmFailed, match="queue cannot be read"):
        find_lost(FOLDER)


def test_the_job_inherits_what_the_user_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ours is added; what was asked to go is gone."""
    monkeypatch.setenv("SUPERVISE_ATTEMPT", "1")
    env = sbatch_environment(["SUPERVISE_ATTEMPT"])
    assert "SUPERVISE_ATTEMPT" not in env
    assert env["PATH"] == os.environ["PATH"]


def test_pythons_own_locale_does_not_reach_the_job() -> None:
    """Under the C locale Python sets LC_CTYPE for itself, and sbatch would hand it on."""
    code = (
        "from supervisor.slurm.submit import sbatch_environment as e; import os; "
        "print('LC_CTYPE' in os.environ, 'LC_CTYPE' in e(()))"
    )
    env = {name: value for name, value in os.environ.items() if name not in {"LC_ALL", "LANG", "LC_CTYPE"}}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_becoming_sbatch_gives_back_a_script_that_was_read(slurm: FakeSlurm) -> None:
    """It is read from stdin once more."""
    slurm.says(code=3)
    slurm.reads_stdin()
    code = (
        "import os; from supervisor.slurm.submit import replace_by_sbatch as r; "
        "r(['-a', ''], env=os.environ, fed=b'\\xe9x')"
    )
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == 3
    assert slurm.argv == ["-a", ""]
    assert slurm.stdin == b"\xe9x"


@pytest.fixture
def successor(tmp_path: Path) -> Successor:
    """One whose script has to be written anew."""
    (tmp_path / "submitted").mkdir()
    return Successor(
        argv=("env", "-u", "LC_ALL", "sbatch", "--parsable", "s"),
        environment=dict(os.environ),
        cwd=str(tmp_path),
        files={"submitted/s": b"#!/bin/sh\n"},
    )


async def test_a_successor_is_sent_with_its_script(slurm: FakeSlurm, successor: Successor, tmp_path: Path) -> None:
    """Its id comes back; LC_ALL of our own calls does not go into the job."""
    slurm.says(stdout="18\n")
    job = await resubmit(successor, tmp_path, known=[], deadline_s=60, look_deadline_s=30)
    assert job == "18"
    assert slurm.argv == ["--parsable", "s"]
    assert "LC_ALL" not in slurm.env
    assert (tmp_path / "submitted/s").stat().st_mode & 0o777 == 0o700


async def test_a_refused_successor_says_why(slurm: FakeSlurm, successor: Successor, tmp_path: Path) -> None:
    """The next rung of the ladder needs to know, and no twin is to be feared."""
    slurm.says(stderr="sbatch: error: Job submission is not allowed from this host\n", code=1)
    with pytest.raises(SlurmFailed, match="not allowed from this host") as caught:
        await resubmit(successor, tmp_path, known=[], deadline_s=60, look_deadline_s=30)
    assert not isinstance(caught.value, SlurmTimeout)


async def test_a_successor_that_was_not_answered_is_found(
    slurm: FakeSlurm, successor: Successor, tmp_path: Path
) -> None:
    """A timed-out sbatch may have submitted: the queue knows."""
    slurm.says()
    slurm.hangs()
    slurm.queue(f"7|{tmp_path}/submitted/s\n19|{tmp_path}/submitted/s\n")
    job = await resubmit(successor, tmp_path, known=[JobId("7")], deadline_s=0.5, look_deadline_s=30)
    assert job == "19"


async def test_an_unknown_fate_is_told_apart_from_a_refusal(
    slurm: FakeSlurm, successor: Successor, tmp_path: Path
) -> None:
    """A second submission might make a twin."""
    slurm.says(stderr="Socket timed out\n", code=1)
    with pytest.raises(SlurmTimeout, match="unknown"):
        await resubmit(successor, tmp_path, known=[], deadline_s=60, look_deadline_s=30)


async def test_an_empty_queue_makes_another_try_safe(
    slurm: FakeSlurm, successor: Successor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at more than once, then it is believed."""
    monkeypatch.setattr(resubmit_module, "LOOK_PAUSE_S", 0)
    slurm.says(stderr="Socket timed out\n", code=1)
    slurm.queue("7|/elsewhere\n")
    with pytest.raises(SlurmFailed, match="no job was made") as caught:
        await resubmit(successor, tmp_path, known=[], deadline_s=60, look_deadline_s=30)
    assert not isinstance(caught.value, SlurmTimeout)
    assert slurm.calls("squeue-") == resubmit_module.LOOKS


async def test_a_successor_whose_sbatch_the_jobs_own_end_killed_is_looked_for(
    slurm: FakeSlurm, successor: Successor, tmp_path: Path
) -> None:
    """SIGTERM reaches every process of the batch step, and the job may have been made."""
    slurm.says()
    slurm.dies()
    slurm.queue(f"19|{tmp_path}/submitted/s\n")
    job = await resubmit(successor, tmp_path, known=[], deadline_s=60, look_deadline_s=30)
    assert job == "19"
