"""What is made of the test job's answers."""

from pathlib import Path

import msgspec
import pytest

from supervisor.doctor.checks.table import examine
from supervisor.doctor.finding import Finding, Level
from supervisor.doctor.job.answers import (
    AfterLook,
    AttemptLook,
    JobOutcome,
    MemoryTry,
    NodeLook,
    Pid,
    read,
    read_all,
    write,
)
from supervisor.doctor.job.judge import CHECKS, judge, with_job
from supervisor.doctor.place import Machine, Tried
from tests.doctor.places import place

_WELL = JobOutcome(
    job_id="7",
    state="COMPLETED",
    took_s=8.0,
    attempt=AttemptLook(job_id="7", nodes=("n1", "n2"), is_supervised=True),
    looks=(
        NodeLook(
            node="n1",
            machine=Machine(python=(3, 11, 2), cgroup="v2", shm_bytes=1),
            gpus_given=4,
            gpus_seen=4,
            port="listening",
            left=(Pid(pid=1, started=2),),
        ),
        NodeLook(
            node="n2",
            machine=Machine(python=(3, 11, 2), cgroup="v2", shm_bytes=1),
            gpus_given=4,
            gpus_seen=4,
            port="open",
        ),
    ),
    afters=(AfterLook(node="n1", survivors=0, has_agent=True), AfterLook(node="n2", survivors=0, has_agent=True)),
    memory=MemoryTry(survived=False, has_agent=True, words="slurmstepd: error: Detected 1 oom-kill event(s)"),
    submits=Tried(is_accepted=True),
    transport="mqtt",
    nodes_up=2,
    recovery_s=1.2,
)


def _but(**fields: object) -> JobOutcome:
    return msgspec.structs.replace(_WELL, **fields)


def _second(**fields: object) -> JobOutcome:
    return _but(looks=(_WELL.looks[0], msgspec.structs.replace(_WELL.looks[1], **fields)))


_ODD = {
    "refused": (JobOutcome(refused="sbatch: error: Invalid account"), "job", Level.UNKNOWN),
    "pended": (JobOutcome(job_id="7", pended="Priority", state="PENDING"), "job", Level.UNKNOWN),
    "silent": (JobOutcome(job_id="7", state="FAILED", output="no python", kept="/k"), "job", Level.FAIL),
    "alone": (
        _but(attempt=AttemptLook(job_id="7", nodes=("n1",), is_supervised=False), afters=()),
        "supervised",
        Level.FAIL,
    ),
    "one agent": (_but(nodes_up=1), "supervised", Level.LIMIT),
    "no restart": (_but(afters=()), "restart", Level.FAIL),
    "survivors": (_but(afters=(AfterLook(node="n2", survivors=1, has_agent=True),)), "fencing", Level.FAIL),
    "closed port": (_second(port="10.0.0.1:60001: No route to host"), "broker_port", Level.LIMIT),
    "one node": (_but(looks=(msgspec.structs.replace(_WELL.looks[0], port="alone"),)), "broker_port", Level.UNKNOWN),
    "stdout": (_but(transport="stdout"), "transport", Level.WARN),
    "no gpus": (_but(looks=(msgspec.structs.replace(_WELL.looks[0], gpus_given=0),)), "gpus", Level.UNKNOWN),
    "gpus lost": (_second(gpus_seen=3), "gpus", Level.WARN),
    "no driver": (_second(gpus_seen=None), "gpus", Level.WARN),
    "agent killed": (_but(memory=MemoryTry(survived=False, has_agent=False)), "memory", Level.LIMIT),
    "unconfined": (_but(memory=MemoryTry(survived=True, has_agent=True)), "memory", Level.WARN),
    "no step": (_but(memory=MemoryTry(survived=False, has_agent=True, words="srun: invalid")), "memory", Level.UNKNOWN),
    "no sbatch": (
        _but(submits=Tried(is_accepted=False, words="sbatch: error: not here")),
        "submit_on_nodes",
        Level.LIMIT,
    ),
    "no shm": (_second(machine=Machine(python=(3, 11, 2))), "machines", Level.WARN),
}


def _found(outcome: JobOutcome) -> dict[str, Finding]:
    return {finding.check: finding for finding in judge(outcome)}


def test_a_good_job_has_nothing_to_complain_of() -> None:
    """Every check speaks, and all is well."""
    assert set(_found(_WELL)) == {check.name for check in CHECKS}
    assert {finding.level for finding in judge(_WELL)} == {Level.OK}


@pytest.mark.parametrize(("outcome", "check", "level"), _ODD.values(), ids=_ODD)
def test_each_fault_has_its_level(outcome: JobOutcome, check: str, level: Level) -> None:
    """And its cost and its remedy, each on a line."""
    found = _found(outcome)[check]
    assert found.level is level
    assert found.cost
    assert found.remedy
    assert all(len(part) <= 140 for part in (found.text, found.cost, found.remedy))


def test_what_was_not_reached_is_not_judged() -> None:
    """A job that never ran says nothing about fencing, ports or memory."""
    assert set(_found(JobOutcome(job_id="7", pended="Priority"))) == {"job"}


def test_what_was_seen_replaces_what_was_guessed() -> None:
    """And a guess stays where the job could not try it."""
    guessed = examine(place())
    names = [finding.check for finding in with_job(guessed, _WELL)]
    assert len(names) == len(set(names))
    seen = {finding.check: finding for finding in with_job(guessed, _WELL)}
    assert seen["broker_port"].level is Level.OK
    assert seen["memory"].text == "out of memory ends the rank and not the agent"
    refused = {finding.check: finding for finding in with_job(guessed, JobOutcome(refused="no"))}
    assert refused["broker_port"].level is Level.UNKNOWN
    assert "shared" in refused


def test_only_a_job_that_broke_off_leaves_its_folder() -> None:
    """One that waited, or was refused, has nothing to look into."""
    assert not _WELL.has_broken_off
    assert not JobOutcome(refused="no").has_broken_off
    assert not JobOutcome(job_id="7", pended="Priority").has_broken_off
    assert JobOutcome(job_id="7", state="FAILED").has_broken_off


def test_answers_are_whole_or_nothing(tmp_path: Path) -> None:
    """A file that is torn or of another shape is none."""
    write(tmp_path, "after-n1.json", AfterLook(node="n1", survivors=0, has_agent=True))
    (tmp_path / "after-n2.json").write_text('{"node":"n2",')
    assert read(tmp_path, "after-n1.json", AfterLook) == AfterLook(node="n1", survivors=0, has_agent=True)
    assert read(tmp_path, "after-n2.json", AfterLook) is None
    assert read(tmp_path, "nothing.json", AfterLook) is None
    assert [one.node for one in read_all(tmp_path, "after-", AfterLook)] == ["n1"]
