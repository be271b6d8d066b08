"""How jobs end that nobody must start again, and what signals reach the script."""

import re
import signal

import pytest
from story.job import Job
from story.waiting import wait_for

from tests.e2e.user import User, reference

pytestmark = pytest.mark.cluster

# slurmctld looks every 30 s whether the signal is due within the next 30: so this one comes 10 to 40 s after the start,
# and the script has set its trap by then.
_SIGNALED = """#!/bin/bash
#SBATCH -N1 --time=1 --signal=B:USR1@20
trap 'echo got USR1; exit 5' USR1
echo begin
sleep 100 & wait
"""
_SLOW_AT_FIRST = """#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --time=1
pace=$([ "$SUPERVISE_ATTEMPT" = 1 ] && echo 1 || echo 0.05)
. ./train.sbatch --steps 150 --step-seconds $pace --save-every 5 --out out
"""
_SLOW_COMMENT = """#!/bin/sh
case "$*" in *Comment=*) sleep 2 ;; esac
exec /usr/bin/scontrol "$@"
"""
_OWN_END = """#!/bin/bash
#SBATCH -N1
trap 'echo got TERM; exit 9' TERM
echo begin
sleep 100 & wait
"""


def _nothing_is_left(user: User, job: Job) -> None:
    """No job in the queue, no process on any node, no second attempt."""
    wait_for(lambda: not user.queue(), "the queue is empty", 60)
    for words in ("train.py", "supervisor.daemon", "agent-", "mosquitto"):
        user.wait_gone(words)
    assert job.run.events("submitted") == []


def test_a_cancelled_job_stays_cancelled(alice: User) -> None:
    """While it runs: nothing is started or submitted again, nothing stays behind."""
    job = alice.trains(steps=600)
    job.wait_checkpoint()
    job.cancel()
    assert job.wait_ended()["JobState"] == "CANCELLED"
    _nothing_is_left(alice, job)
    assert job.run.attempts == 1


def test_a_cancel_during_a_recovery_ends_it(alice: User) -> None:
    """The node is dead, the recovery has begun: the user's word still counts."""
    job = alice.trains(sbatch=["-N3"], options=["--spares", "1"], steps=600)
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.bed.kill_node(victim)
    job.wait_output("does not answer")
    job.cancel()
    alice.bed.revive(victim)  # until then Slurm waits for the job's end on it
    assert job.wait_ended()["JobState"] == "CANCELLED"
    _nothing_is_left(alice, job)


@pytest.mark.parametrize("slow", [True, False], ids=["last words are slow", "the job is leaving"])
def test_a_cancel_after_the_hand_over_takes_the_successor_along(alice: User, *, slow: bool) -> None:
    """The next job is accepted, this one is about to end: scancel still means the run."""
    if slow:
        alice.writes("scontrol", _SLOW_COMMENT)
    paths = [str(alice.folder), "/usr/local/bin", "/usr/bin", "/bin"]
    trainer = ["--steps", "600", "--step-seconds", "0.1", "--out", "out"]
    job = alice.supervised(
        "-N3",
        "train.sbatch",
        *trainer,
        options=["--checkpoint", f"{alice.folder}/checkpoints"],
        env={"PYTHON": str(alice.python), "PATH": ":".join(paths)},
    )
    job.wait_attempt(1)
    job.wait_checkpoint()
    victim = next(node for node in reversed(job.attempt_nodes()) if node != job.batch_host())
    alice.bed.kill_node(victim)
    after = alice.adopts(job.wait_successor(90))
    job.cancel()
    assert after.wait_ended(30)["JobState"] == "CANCELLED"
    alice.bed.revive(victim)  # until then Slurm waits for the job's end on it
    assert job.wait_ended()["JobState"] == "CANCELLED"
    wait_for(lambda: not alice.queue(), "the queue is empty", 60)
    assert f"successor {after.job_id} is cancelled" in job.output


def test_a_cancel_before_the_first_attempt_starts_nothing(alice: User) -> None:
    """As early as a user can."""
    job = alice.trains(steps=600)
    job.wait_state("RUNNING")
    job.cancel()
    assert job.wait_ended()["JobState"] == "CANCELLED"
    _nothing_is_left(alice, job)


def test_at_the_time_limit_another_job_goes_on(alice: User) -> None:
    """A planned end: no incident on anybody's account, and the run goes on from its checkpoint in a job of its own."""
    alice.writes("slow.sh", _SLOW_AT_FIRST)
    options = ["--checkpoint", f"{alice.folder}/checkpoints", "--save-margin-s", "0"]
    job = alice.supervised("slow.sh", options=options, env={"PYTHON": str(alice.python)})
    assert job.wait_ended(120)["JobState"] == "TIMEOUT"
    after = alice.adopts(job.wait_successor())
    assert after.wait_ended()["JobState"] == "COMPLETED"
    assert alice.result() == {"step": 150, "sha256": reference(150), "attempt": 2}
    (incident,) = after.run.incidents()
    assert (incident["verdict"]["cls"], incident["verdict"]["cause"]) == ("planned", "walltime")
    assert alice.queue() == []


def test_the_signal_before_the_time_limit_reaches_the_script(alice: User) -> None:
    """`--signal=B:USR1@20` arrives once, and the script's own exit code is the job's."""
    alice.writes("signaled.sh", _SIGNALED)
    job = alice.supervised("signaled.sh")
    assert job.wait_ended()["ExitCode"] == "5:0"
    assert job.output.count("got USR1") == 1


@pytest.mark.parametrize("options", [[], ["--batch"]])
def test_a_script_that_handles_term_is_let_do_so(alice: User, options: list[str]) -> None:
    """By `scancel` and by `scancel --batch --signal=TERM`: its handler runs once, as without us."""
    alice.writes("own.sh", _OWN_END)
    job = alice.supervised("own.sh")
    job.wait_output("^begin")
    job.cancel("--signal=TERM", *options) if options else job.cancel()
    job.wait_ended()
    assert job.output.count("got TERM") == 1
    assert job.run.attempts == 1


def test_observe_does_nothing_but_watch(alice: User) -> None:
    """The fault is recorded with what would have been done, and the job takes its own course."""
    job = alice.trains("--kill-at", "3:25", options=["--mode", "observe"], steps=60)
    incident = wait_for(lambda: next(iter(job.run.incidents()), None), "an incident", 60)
    wait_for(lambda: job.run.incidents()[0]["action"] == "observe", "the decision", 30)
    assert incident["attempt"] == 1
    assert job.state == "RUNNING"
    job.cancel()
    job.wait_ended()
    assert job.run.attempts == 1
    assert job.run.events("stopped") == []


def test_the_last_line_of_the_output_says_how_it_went(alice: User) -> None:
    """One line for each decision, and nothing else of ours, in a run that nothing interrupts."""
    job = alice.trains(steps=20)
    assert job.wait_ended()["JobState"] == "COMPLETED"
    ours = re.findall(r"^supervise: .*", job.output, re.MULTILINE)
    assert ours in ([], ["supervise: completed, no interruptions"])
    assert signal.SIGKILL not in {event.get("signal") for event in job.run.events("attempt_ended")}
