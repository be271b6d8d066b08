"""What Slurm lets a job's owner do: submit, requeue, shrink, stop."""

from typing import Final

from supervisor.doctor.checks.slurm import sbatchs_words, short
from supervisor.doctor.finding import Finding, limit, ok, unknown, warn
from supervisor.doctor.place import Place
from supervisor.doctor.slurm_text import programs, release, seconds, value, words

_CRED_EXPIRE_S: Final = 120
"""Slurm's default: a requeued job may not start before its old credentials have expired."""
_CHEAP_S: Final = 30
_SHORT_KILL_WAIT_S: Final = 5
_OLD: Final = (22, 5)


def submitting(place: Place) -> Finding | None:
    """`sbatch --test-only` from here."""
    tried = place.slurm.submits
    if tried is None:
        return None
    if tried.is_accepted:
        return ok("jobs may be submitted from here")
    return unknown(
        "sbatch --test-only refuses a plain job here",
        sbatchs_words(tried.words),
        "it may want an account or a partition: supervise doctor --job -A ACCOUNT -p PARTITION",
    )


def submitting_on_nodes(place: Place) -> Finding | None:
    """Sbatch inside a job: for takeover and resubmission."""
    if not place.slurm.config:
        return None
    default = [part for part in place.slurm.partitions if part.is_default] or place.slurm.partitions
    closed = [part for part in default if part.alloc_nodes not in {"ALL", "", "(null)"}]
    if closed:
        return limit(
            f"partition {closed[0].name} takes jobs from {short(closed[0].alloc_nodes)} only (AllocNodes)",
            "a job that lost its allocation is not submitted again from its own nodes",
            "`#SBATCH --requeue`: then Slurm starts it again after a node failure",
        )
    plugins = [*words(place.slurm.config, "JobSubmitPlugins"), *words(place.slurm.config, "CliFilterPlugins")]
    if plugins:
        return unknown(
            f"sbatch on compute nodes: not tested; {', '.join(plugins)} may refuse it",
            "takeover and resubmission need it",
            "`supervise doctor --job` tests it",
        )
    return ok("nothing in slurm.conf forbids sbatch on compute nodes")


def requeue(place: Place) -> Finding | None:
    """JobRequeue."""
    config = place.slurm.config
    if "JobRequeue" not in config:
        return None
    if config["JobRequeue"] == "1":
        return ok("requeue allowed")
    return warn(
        "jobs are not requeued unless they ask (JobRequeue=0)",
        "when the first node dies, Slurm's own net is missing",
        "`#SBATCH --requeue` in the script",
    )


def requeue_price(place: Place) -> Finding | None:
    """What a requeue costs beside the restart itself."""
    config = place.slurm.config
    silence_s = seconds(config, "SlurmdTimeout")
    if not config or silence_s is None:
        return None
    own = [word.removeprefix("cred_expire=") for word in words(config, "AuthInfo") if word.startswith("cred_expire=")]
    wait_s = int(own[0]) if own and own[0].isdigit() else _CRED_EXPIRE_S
    dead = f"{silence_s} s more (SlurmdTimeout)" if silence_s else "never (SlurmdTimeout=0)"
    text = f"a requeue costs {wait_s} s (AuthInfo cred_expire), off a dead node {dead}"
    if wait_s <= _CHEAP_S and 0 < silence_s <= _CHEAP_S:
        return ok(text)
    return limit(
        text,
        "paid when the first node dies",
        "`--spares 1`, and more than one node: other faults are mended inside the allocation",
    )


def shrink(place: Place) -> Finding | None:
    """A dead node leaves the job by its owner's word."""
    config = place.slurm.config
    if not config:
        return None
    if "disable_job_shrink" in words(config, "SchedulerParameters"):
        return limit(
            "a job cannot give a dead node back (disable_job_shrink)",
            "Slurm ends the job when it sees the node is dead; the run goes on in another job",
            "for your admin: take disable_job_shrink out of SchedulerParameters",
        )
    found = release(config.get("SLURM_VERSION", ""))
    if found and found <= _OLD and not value(config, "AccountingStorageType"):
        return limit(
            "a job can shrink once only (this release without accounting)",
            "after the second dead node the run goes on in another job",
            "for your admin: slurmdbd, or a newer release",
        )
    return ok("a dead node can leave a job")


def step_manager(place: Place) -> Finding | None:
    """enable_stepmgr moves the steps' accounts to the job's first node."""
    if "enable_stepmgr" not in words(place.slurm.config, "SlurmctldParameters"):
        return None
    return limit(
        "the first node may manage a job's steps (enable_stepmgr, sbatch --stepmgr)",
        "when it dies no step can start in the job, and a job of this kind cannot shrink cleanly",
        "leave --stepmgr out unless the job starts thousands of steps",
    )


def bad_exit(place: Place) -> Finding | None:
    """KillOnBadExit."""
    if place.slurm.config.get("KillOnBadExit", "0") in {"0", ""}:
        return None
    return warn(
        "Slurm kills a step at its first failed rank (KillOnBadExit=1)",
        "the other ranks cannot say any more what they waited for",
        "`srun -K0` for the training step; agents are started so",
    )


def kill_wait(place: Place) -> Finding | None:
    """How long a job that Slurm ends has."""
    wait_s = seconds(place.slurm.config, "KillWait")
    if wait_s is None or wait_s >= _SHORT_KILL_WAIT_S:
        return None
    return warn(
        f"a job has {wait_s} s between TERM and KILL (KillWait)",
        "too short to find out who ended it and to submit it again",
        "`#SBATCH --signal=B:USR1@300` gives 300 s before the time limit",
    )


def preemption(place: Place) -> Finding | None:
    """Whose nodes may be taken."""
    config = place.slurm.config
    kind = value(config, "PreemptType").removeprefix("preempt/")
    if not kind:
        return None
    modes = {config.get("PreemptMode", ""), *(part.preempt_mode for part in place.slurm.partitions)}
    named = ", ".join(sorted(mode for mode in modes if mode.upper() not in {"", "OFF"})) or "off"
    return ok(f"preemption by {kind} ({named}) is a planned end, never a fault")


def hooks(place: Place) -> Finding | None:
    """Prolog, epilog and health check: ours or the site's; nobody needs ours."""
    config = place.slurm.config
    if not config:
        return None
    names = [name for name in ("Prolog", "Epilog", "HealthCheckProgram") if programs(config, name)]
    theirs = f"the site has {', '.join(names)}" if names else "the site has no prolog, epilog or health check"
    ours = f"{len(place.own.hooks)} hooks of ours on this host" if place.own.hooks else "ours are optional"
    return ok(f"{theirs}; {ours}")
