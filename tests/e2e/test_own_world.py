"""What breaks is our own world, and not the training: the version on disk, Slurm's commands, its controller, names."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import pytest
from story.job import Job
from story.waiting import Late, wait_for

from tests.e2e.own_install import own_install, upgrade
from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

STEPS = 80
_SUPERVISOR = "supervisor.daemon"
_AGENT = "agent-"
_PAUSES = (2.3, 0.9, 1.7, 0.4, 1.1)
_LIES = ("slow", "half", "empty", "noise", "old")
_QUIET_S, _AWAY_S = 5.0, 25.0
_TRIED = {"SUPERVISE_SUBMIT_DEADLINE_S": "8"}
"""So long a submission is tried for at a time: not as long as nobody answers."""
_LIAR = """\
#!/bin/sh
real=/usr/bin/$(basename "$0")
case "$(cat {folder}/lie 2>/dev/null) $*" in
    *" update "*|*" requeue"*|*" hostnames"*) exec "$real" "$@" ;;
    slow*) sleep 2; exec "$real" "$@" ;;
    old*)
        kept={folder}/answers/$(basename "$0")-$(echo "$*" | cksum | cut -d" " -f1)
        [ -e "$kept" ] || "$real" "$@" >"$kept"
        exec cat "$kept" ;;
    half*) "$real" "$@" | head -c 60; exit 0 ;;
    empty*) exit 0 ;;
    noise*) printf '\\377\\376 \\000 %s\\n' "$*"; exit 0 ;;
esac
exec "$real" "$@"
"""
"""A command of Slurm that answers late, as before, in part, with nothing or with nonsense; never with an error."""


def test_an_upgrade_in_place_does_not_reach_a_running_job(alice: User) -> None:
    """Supervisor and agents that begin after it are of the version that the job was submitted with."""
    user = User(alice.bed, alice.folder, own_install(alice.folder), alice.jobs)
    job = user.trains(sbatch=["-N3"], options=["--spares", "1"], steps=STEPS)
    job.wait_attempt(1)
    job.wait_checkpoint()
    upgrade(user.python)
    assert "another version" in user.asks("status", job.job_id).stderr
    user.kills(_SUPERVISOR)
    wait_for(lambda: len(job.run.events("supervisor_started")) == 1, "the next supervisor", 30)
    user.kills(_AGENT)
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.bed.kill_node(victim)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}
    assert "another version" not in job.output
    assert "installed package" not in job.output
    assert "another version" not in (job.run.path / "agent.log").read_text()


def test_a_supervisor_killed_again_and_again_amid_a_recovery_ends_it(alice: User) -> None:
    """Five times, at moments that nobody chose: one launch, no node too many, the result of an undisturbed run."""
    job, victim = _with_spare(alice)
    alice.bed.kill_node(victim)
    for pause in _PAUSES:
        time.sleep(pause)
        with suppress(Late):
            alice.kills(_SUPERVISOR)
    assert job.wait_ended(240)["JobState"] == "COMPLETED"
    assert [event["attempt"] for event in job.run.events("attempt_started")] == [1, 2]
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


def test_a_killed_keeper_leaves_nothing_and_nobody_behind(alice: User) -> None:
    """The job fails for Slurm, as one whose batch script was killed: no successor, no process, no agent."""
    job = alice.trains(steps=1000)
    job.wait_attempt(1)
    job.wait_checkpoint()
    alice.kills("keeper.py")
    assert job.wait_ended()["JobState"] == "FAILED"
    for words in ("train.py", _SUPERVISOR, _AGENT, "mosquitto"):
        alice.wait_gone(words)
    time.sleep(2)
    assert alice.queue() == []


def test_a_controller_that_is_away_costs_no_more_than_its_absence(alice: User) -> None:
    """Silent in quiet, and while a rank crashes: seen, judged and launched again; the ranks start once it is back."""
    job, _ = _with_spare(alice, steps=150)
    with _controller_away(alice):
        time.sleep(_QUIET_S)
        assert job.run.incidents() == []
        alice.kills("train.py", "--out", number=signal.SIGSEGV)
        wait_for(lambda: len(job.run.events("attempt_started")) == 2, "the second launch", 60)
        time.sleep(_QUIET_S)
    assert job.wait_ended(180)["JobState"] == "COMPLETED"
    assert job.run.attempts == 2
    assert alice.result() == {"step": 150, "sha256": reference(150), "attempt": 2}


def test_a_controller_that_is_away_while_a_node_dies_gets_one_successor(alice: User) -> None:
    """Nobody can prove that nothing runs: another job goes on, submitted once Slurm can be asked again, only once."""
    job, victim = _with_spare(alice, _TRIED, steps=120)
    with _controller_away(alice):
        alice.bed.kill_node(victim)
        wait_for(job.run.incidents, "the incident", 30)
        time.sleep(_AWAY_S)
    after = alice.adopts(job.wait_successor(120))
    alice.bed.revive(victim)  # until then Slurm waits for the end of the job that it waits for
    assert after.wait_ended(180)["JobState"] == "COMPLETED"
    assert alice.result() == {"step": 120, "sha256": reference(120), "attempt": 2}
    assert job.run.jobs() == [job.job_id, after.job_id]


def test_slurms_commands_may_lie(alice: User) -> None:
    """Whatever scontrol, squeue and sinfo answer: rank after rank crashes, then a node dies, and the run ends well."""
    tools = alice.folder / "tools"
    tools.mkdir()
    for name in ("scontrol", "squeue", "sinfo"):
        (tools / name).write_text(_LIAR.format(folder=alice.folder))
        (tools / name).chmod(0o755)
    (alice.folder / "answers").mkdir()
    (alice.folder / "answers").chmod(0o777)
    job, victim = _with_spare(alice, {"PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin"}, steps=300)
    for attempt, lie in enumerate(_LIES, start=2):
        (alice.folder / "lie").write_text(lie)
        alice.kills("train.py", "--out", number=signal.SIGSEGV)
        job.wait_attempt(attempt)
        job.wait_step(job.wait_step(0) + 8)
    alice.bed.kill_node(victim)
    assert job.wait_ended(240)["JobState"] == "COMPLETED"
    attempts = len(_LIES) + 2
    assert [event["attempt"] for event in job.run.events("attempt_started")] == list(range(1, attempts + 1))
    assert alice.result() == {"step": 300, "sha256": reference(300), "attempt": attempts}


def test_two_faults_at_once_are_one_interruption(alice: User) -> None:
    """A node dies in the moment in which the supervisor and the broker do."""
    job, victim = _with_spare(alice)
    alice.bed.kill_node(victim)
    alice.kills(_SUPERVISOR)
    alice.kills("mosquitto")
    assert job.wait_ended(240)["JobState"] == "COMPLETED"
    assert [event["attempt"] for event in job.run.events("attempt_started")] == [1, 2]
    assert alice.result() == {"step": STEPS, "sha256": reference(STEPS), "attempt": 2}


def test_five_faults_in_a_minute(alice: User) -> None:
    """Rank, agents, supervisor, broker, node: each is handled, none is lost, none counts twice."""
    job, victim = _with_spare(alice, steps=150)
    alice.kills("train.py", "--out", number=signal.SIGSEGV)
    job.wait_attempt(2)
    alice.kills(_AGENT)
    alice.kills(_SUPERVISOR)
    time.sleep(2)
    alice.kills("mosquitto")
    time.sleep(2)
    alice.bed.kill_node(victim)
    assert job.wait_ended(240)["JobState"] == "COMPLETED"
    assert [event["attempt"] for event in job.run.events("attempt_started")] == [1, 2, 3]
    assert [each["verdict"]["cls"] for each in job.run.incidents()] == ["software", "hardware"]
    assert alice.result() == {"step": 150, "sha256": reference(150), "attempt": 3}


def test_a_run_folder_that_cannot_be_written_any_more_holds_nobody_up(alice: User) -> None:
    """A supervisor that dies then is followed by one that begins with what is there, and the job ends as ever."""
    job = alice.trains(steps=100)
    job.wait_attempt(1)
    job.wait_checkpoint()
    runs = alice.folder / ".supervise"
    subprocess.run(["chmod", "-R", "a-w", runs], check=True)
    try:
        killed = set(alice.kills(_SUPERVISOR))
        wait_for(lambda: set(alice.pids(_SUPERVISOR)) - killed, "another supervisor", 20)
        time.sleep(3)
        assert len(set(alice.pids(_SUPERVISOR)) - killed) == 1
        assert job.wait_ended()["JobState"] == "COMPLETED"
    finally:
        subprocess.run(["chmod", "-R", "u+w", runs], check=True)
    assert alice.result() == {"step": 100, "sha256": reference(100), "attempt": 1}


def _with_spare(alice: User, env: Mapping[str, str] | None = None, *, steps: int = STEPS) -> tuple[Job, str]:
    """A training on two of three nodes, with a checkpoint, and a node of it that is not the batch host."""
    words = ["-N3", "train.sbatch", "--steps", str(steps), "--step-seconds", "0.1", "--out", "out"]
    options = ["--spares", "1", "--checkpoint", f"{alice.folder}/checkpoints"]
    job = alice.supervised(*words, options=options, env={"PYTHON": str(alice.python), **(env or {})})
    job.wait_attempt(1)
    job.wait_checkpoint()
    return job, next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())


@contextmanager
def _controller_away(alice: User) -> Iterator[None]:
    """The controller gives no answer, and then goes on as if nothing had been."""
    pid = int(alice.bed.status()["login"]["slurmctld_pid"])
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
