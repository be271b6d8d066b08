"""What the test job has shown, as findings. Pure. A finding replaces the guess of the check with the same name."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from supervisor.doctor.checks.slurm import sbatchs_words, short
from supervisor.doctor.finding import Finding, fail, limit, ok, unknown, warn
from supervisor.doctor.job.answers import JobOutcome

_LISTENS: Final = frozenset({"open", "listening", "alone"})
_OOM: Final = ("oom", "out of memory", "out-of-memory", "killed")


class JobCheck(NamedTuple):
    """As `checks.table.Check`, of the outcome."""

    name: str
    look: Callable[[JobOutcome], Finding | None]


def began(outcome: JobOutcome) -> Finding:
    """It was taken, and it ran."""
    if outcome.refused:
        return unknown(
            "sbatch refused the test job, nothing of it was tested",
            sbatchs_words(outcome.refused),
            "give it what jobs need here: supervise doctor --job -A ACCOUNT -p PARTITION",
        )
    if outcome.pended:
        return unknown(
            f"job {outcome.job_id} did not start ({outcome.pended}) and was cancelled",
            "nothing below the queue was tested",
            "try again later, with --patience-s 3600, or in a partition with free nodes",
        )
    if outcome.attempt is None:
        return fail(
            f"no word from the script of job {outcome.job_id} ({outcome.state or 'state unknown'})",
            short(outcome.output or "it printed nothing"),
            f"put Python and this installation where nodes see them; what it left: {outcome.kept}",
        )
    nodes = ", ".join(outcome.attempt.nodes)
    return ok(f"job {outcome.job_id} ran on {short(nodes)}, {outcome.took_s:.0f} s with its time in the queue")


def supervised(outcome: JobOutcome) -> Finding | None:
    """The keeper started the script, and agents came up."""
    if outcome.attempt is None:
        return None
    if not outcome.attempt.is_supervised:
        return fail(
            "the test job ran without supervision",
            short(outcome.output or "its output does not say why"),
            "this Python must run on the nodes as it does here: put it on a filesystem that they see",
        )
    wanted = len(outcome.attempt.nodes)
    if outcome.nodes_up < wanted:
        return limit(
            f"agents on {outcome.nodes_up} of {wanted} nodes",
            "a fault of a node without an agent is noticed late",
            "run it again; if it stays so, look whether this Python starts on that node",
        )
    return ok(f"agents on {outcome.nodes_up} of {wanted} nodes")


def restarted(outcome: JobOutcome) -> Finding | None:
    """A killed rank: stopped, proven, started again."""
    if outcome.attempt is None or not outcome.attempt.is_supervised:
        return None
    if not outcome.afters:
        return fail(
            "after a rank was killed the script did not start again",
            short(outcome.output or "it printed nothing"),
            f"what it left, for a report: {outcome.kept}",
        )
    after = "" if outcome.recovery_s is None else f" after {outcome.recovery_s:.1f} s"
    return ok(f"a rank was killed, the script ran again{after}")


def fenced(outcome: JobOutcome) -> Finding | None:
    """Nothing of the first attempt lives."""
    if not outcome.afters:
        return None
    left = {after.node: after.survivors for after in outcome.afters if after.survivors}
    if left:
        return fail(
            f"{sum(left.values())} processes outlived their stop on {', '.join(sorted(left))}",
            "two copies of a rank could write one checkpoint",
            "do not use supervise here before that is understood; please report it",
        )
    return ok(f"nothing of it lived on ({sum(len(look.left) for look in outcome.looks)} processes looked for)")


def port(outcome: JobOutcome) -> Finding | None:
    """Compute to compute."""
    if not outcome.looks:
        return None
    closed = [look for look in outcome.looks if look.port not in _LISTENS]
    if closed:
        return limit(
            f"{closed[0].node} cannot reach a port of the first node",
            short(closed[0].port),
            "nothing must be done: reports go through the agent step; for your admin: SrunPortRange",
        )
    if any(look.port == "open" for look in outcome.looks):
        return ok("compute-to-compute port reachable")
    return unknown(
        "compute-to-compute port: not tested with one node",
        "where it is closed, reports go through the agent step's stdout",
        "supervise doctor --job -N 2",
    )


def broker(outcome: JobOutcome) -> Finding | None:
    """What was chosen."""
    if outcome.transport == "mqtt":
        return ok("transport mqtt")
    if outcome.transport == "stdout":
        return warn(
            "transport stdout: no broker could be used on the first node",
            "reports are a little slower",
            "nothing must be done; mosquitto or slurm-supervise[broker] on the nodes makes it faster",
        )
    return None


def gpus(outcome: JobOutcome) -> Finding | None:
    """As many as Slurm gave, and no more."""
    if not outcome.looks:
        return None
    given = sum(look.gpus_given for look in outcome.looks)
    if not given:
        return unknown(
            "GPUs: the test job had none",
            "whether its cgroup shows them is not known",
            "supervise doctor --job --gpus-per-node=1",
        )
    wrong = [look for look in outcome.looks if look.gpus_seen != look.gpus_given]
    if not wrong:
        return ok(f"{_gpus(given)} given, as many seen in the cgroup")
    first = wrong[0]
    if first.gpus_seen is None:
        return warn(
            f"{first.node} was given {_gpus(first.gpus_given)}, and no NVIDIA driver answers",
            "faults of the GPUs are seen in logs only",
            "look at `nvidia-smi` in a job on that node",
        )
    return warn(
        f"{first.node} was given {_gpus(first.gpus_given)} and sees {first.gpus_seen}",
        "devices are not confined (more) or one is broken (fewer)",
        "for your admin: ConstrainDevices=yes in cgroup.conf; `nvidia-smi` in a job on that node",
    )


def _gpus(count: int) -> str:
    return f"{count} GPU{'' if count == 1 else 's'}"


def memory(outcome: JobOutcome) -> Finding | None:
    """The rank dies and the agent does not."""
    tried = outcome.memory
    if tried is None:
        return None
    if not tried.has_agent:
        return limit(
            "after a rank took too much memory its node had no agent",
            "the node's faults are noticed late until it has a new one",
            "for your admin: ConstrainRAMSpace=yes in cgroup.conf",
        )
    if tried.survived:
        return warn(
            "memory is not constrained here: a rank got four times its limit",
            "it can take its node and our agent down",
            "for your admin: TaskPlugin=task/cgroup, and ConstrainRAMSpace=yes in cgroup.conf",
        )
    if any(word in tried.words.lower() for word in _OOM):
        return ok("out of memory ends the rank and not the agent")
    return unknown(
        "the step for the memory test did not run",
        short(tried.words or "it printed nothing"),
        "give the job more memory: supervise doctor --job --mem=1G",
    )


def submits(outcome: JobOutcome) -> Finding | None:
    """Whether the first node may submit."""
    tried = outcome.submits
    if tried is None:
        return None
    if tried.is_accepted:
        return ok("sbatch allowed on compute nodes")
    return limit(
        f'sbatch is refused on compute nodes ("{sbatchs_words(tried.words)}")',
        "a run goes on by `scontrol requeue`, and off a dead first node by Slurm's own requeue only",
        "`#SBATCH --requeue` in your scripts; for your admin: let jobs submit jobs",
    )


def machines(outcome: JobOutcome) -> Finding | None:
    """What the nodes are like."""
    if not outcome.looks:
        return None
    kinds = sorted({_kind(look.machine.python, look.machine.cgroup) for look in outcome.looks})
    small = [look.node for look in outcome.looks if look.machine.shm_bytes is None]
    if small:
        return warn(
            f"shared memory cannot be written on {', '.join(small)}",
            "beats go through files in TMPDIR",
            "set SUPERVISE_BEAT_DIR to a folder of each node's own",
        )
    scopes = {look.machine.ptrace_scope for look in outcome.looks} - {None}
    return ok(f"nodes: {', '.join(kinds)}{f', ptrace_scope={max(map(str, scopes))}' if scopes else ''}")


def _kind(python: Sequence[int], cgroup: str) -> str:
    return f"Python {'.'.join(map(str, python))}, {f'cgroup {cgroup}' if cgroup else 'no cgroup'}"


CHECKS: Final = (
    JobCheck("job", began),
    JobCheck("supervised", supervised),
    JobCheck("restart", restarted),
    JobCheck("fencing", fenced),
    JobCheck("broker_port", port),
    JobCheck("transport", broker),
    JobCheck("gpus", gpus),
    JobCheck("memory", memory),
    JobCheck("submit_on_nodes", submits),
    JobCheck("machines", machines),
)


def judge(outcome: JobOutcome) -> list[Finding]:
    """What each check says of the outcome."""
    looked = ((check.name, check.look(outcome)) for check in CHECKS)
    return [msgspec.structs.replace(finding, check=name, topic="job") for name, finding in looked if finding]


def with_job(findings: Sequence[Finding], outcome: JobOutcome) -> list[Finding]:
    """What was seen in place of what was guessed; a check that could not be tried keeps its guess."""
    seen = judge(outcome)
    tried = {finding.check for finding in seen}
    if outcome.looks:
        tried.add("shared")
    return [*(finding for finding in findings if finding.check not in tried), *seen]
