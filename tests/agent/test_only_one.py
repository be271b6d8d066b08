"""A second agent of a job on a node takes the first one's place."""

import signal
import subprocess
import sys
import uuid

from supervisor.agent.only_one import name_of, replace_older
from supervisor.model.ids import JobId, NodeName, RunId


def _name() -> str:
    return name_of(RunId(f"run-{uuid.uuid4().hex}"), JobId("17"), NodeName("n1"))


def _holder(name: str, then: str) -> "subprocess.Popen[str]":
    """Another process that holds the name."""
    code = (
        "import os, signal, sys, time\nfrom supervisor.agent.only_one import replace_older\n"
        f"held = replace_older({name!r})\nprint(held is not None, flush=True)\n{then}\ntime.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as said:
        assert said.readline() == "True\n"
    return process


def test_the_older_one_is_ended() -> None:
    """Also one that is stopped, and can hear nothing but KILL."""
    name = _name()
    older = _holder(name, "os.kill(os.getpid(), signal.SIGSTOP)")
    held = replace_older(name, deadline_s=60.0)
    assert held is not None
    assert older.wait(60) == -signal.SIGKILL
    held.close()


def test_others_are_left_alone() -> None:
    """Another job's agent on the same node."""
    other = _holder(_name(), "")
    held = replace_older(_name())
    assert held is not None
    held.close()
    assert other.poll() is None
    other.kill()
    other.wait(60)


def test_a_name_that_cannot_be_had_costs_only_the_name() -> None:
    """It is held by this very process, which is not killed for it."""
    name = _name()
    held = replace_older(name)
    assert held is not None
    assert replace_older(name, deadline_s=0.2) is None
    held.close()
