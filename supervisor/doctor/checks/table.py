"""All checks in the order of the screen. A new one is a function in one of the modules and a row here."""

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from supervisor.doctor.checks import folders, jobs, nodes, own, slurm
from supervisor.doctor.finding import Finding
from supervisor.doctor.place import Place


class Check(NamedTuple):
    """What is well about one topic shares a row of the screen."""

    topic: str
    name: str
    look: Callable[[Place], Finding | None]
    """None: it does not arise here."""


CHECKS: Final = (
    Check("slurm", "slurm_present", slurm.present),
    Check("slurm", "slurm_answers", slurm.answering),
    Check("slurm", "slurm_release", slurm.tested),
    Check("slurm", "client_release", slurm.same_release),
    Check("slurm", "questions", slurm.answers),
    Check("slurm", "requeue", jobs.requeue),
    Check("slurm", "database", slurm.database),
    Check("slurm", "comments", slurm.comments),
    Check("jobs", "submit", jobs.submitting),
    Check("jobs", "submit_on_nodes", jobs.submitting_on_nodes),
    Check("jobs", "requeue_price", jobs.requeue_price),
    Check("jobs", "shrink", jobs.shrink),
    Check("jobs", "step_manager", jobs.step_manager),
    Check("jobs", "kill_on_bad_exit", jobs.bad_exit),
    Check("jobs", "kill_wait", jobs.kill_wait),
    Check("runtime", "runtime", nodes.runtime),
    Check("runtime", "shared", folders.shared),
    Check("folder", "folder", folders.writable),
    Check("folder", "executable", folders.executable),
    Check("folder", "locks", folders.locks),
    Check("folder", "room", folders.room),
    Check("folder", "clock", folders.clock),
    Check("broker", "broker", own.broker),
    Check("broker", "broker_port", own.broker_port),
    Check("nodes", "nodes", nodes.enough),
    Check("nodes", "tracking", nodes.tracking),
    Check("nodes", "memory", nodes.memory),
    Check("nodes", "private_tmp", nodes.private_tmp),
    Check("nodes", "shared_memory", nodes.shared_memory),
    Check("nodes", "ptrace", nodes.ptrace),
    Check("nodes", "idle_gpus", nodes.idle_gpus),
    Check("site", "preemption", jobs.preemption),
    Check("site", "launch", nodes.launching),
    Check("site", "rate_limit", slurm.rate_limit),
    Check("site", "private_data", slurm.others_jobs),
    Check("site", "hooks", jobs.hooks),
    Check("own", "off", own.switched_off),
    Check("own", "settings", own.settings),
    Check("own", "checkpoints", own.checkpoints),
    Check("own", "ledger", own.ledger),
    Check("own", "root", nodes.as_root),
)


def examine(place: Place) -> list[Finding]:
    """What each check says of the place."""
    looked = ((check, check.look(place)) for check in CHECKS)
    return [
        msgspec.structs.replace(finding, check=check.name, topic=check.topic)
        for check, finding in looked
        if finding is not None
    ]
