"""The nodes: how many, how jobs are confined on them, what may be looked at."""

from typing import Final

from supervisor.doctor.finding import Finding, limit, ok, unknown, warn
from supervisor.doctor.place import NodeGroup, Place
from supervisor.doctor.slurm_text import value, words

_OUT: Final = ("down", "drain", "fail", "maint", "reboot", "power", "inval", "unk")
_SMALL_SHM_BYTES: Final = 64 << 20
_OLD_GLIBC: Final = (2, 28)
_SHM: Final = "/dev/shm"  # noqa: S108  # only named
_BYTES_PER_MB: Final = 1 << 20


def is_usable(group: NodeGroup) -> bool:
    """These nodes take jobs, now or when others have ended."""
    return group.is_up and not any(word in group.state.lower() for word in _OUT)


def enough(place: Place) -> Finding | None:
    """More than one node to go on with, in one partition."""
    if not place.slurm.nodes:
        return None
    by_partition: dict[str, int] = {}
    for group in filter(is_usable, place.slurm.nodes):
        by_partition[group.partition] = by_partition.get(group.partition, 0) + group.count
    most = max(by_partition.values(), default=0)
    if most == 0:
        return warn("no node takes jobs now", "a job waits in the queue", "`sinfo -R` says why nodes are out")
    if most == 1:
        return limit(
            "one usable node in the largest partition",
            "when it fails there is no other to go on with",
            "faults of the program are handled; for those of the node, wait until Slurm has it back",
        )
    return ok(f"{most} usable nodes in the largest partition")


def idle_gpus(place: Place) -> Finding | None:
    """Whether spares are killed for idling, nobody but the site knows."""
    if not any("gpu" in group.gres for group in place.slurm.nodes):
        return None
    return warn(
        "idle-GPU policy known here?",
        "spares of more than 2 h may be killed",
        f"default --spares 0{'' if not place.own.spares else f', yours is {place.own.spares}'}; ask your admin first",
    )


def tracking(place: Place) -> Finding | None:
    """Slurm's own way to find all processes of a job."""
    kind = value(place.slurm.config, "ProctrackType")
    if not kind:
        return None
    if kind == "proctrack/cgroup":
        return ok("processes are tracked by cgroup")
    return warn(
        f"processes are tracked by {kind.removeprefix('proctrack/')}, not by cgroup",
        "what leaves its session may outlive Slurm's own stop",
        "supervise finds it by its environment; for your admin: ProctrackType=proctrack/cgroup",
    )


def memory(place: Place) -> Finding | None:
    """Whether a step ends at its own memory limit."""
    config = place.slurm.config
    if not config:
        return None
    told = config.get("ConstrainRAMSpace", "").lower()
    if told == "yes":
        return ok("memory is confined")
    if "cgroup" in value(config, "TaskPlugin") and not told:
        return unknown(
            "memory limits: task/cgroup is used, cgroup.conf is not shown",
            "an unconfined rank can take a node down",
            "`supervise doctor --job` tries it",
        )
    return warn(
        "memory is not confined (ConstrainRAMSpace)",
        "a rank that takes too much can take its node and our agent down",
        "for your admin: TaskPlugin=task/cgroup, and ConstrainRAMSpace=yes in cgroup.conf",
    )


def private_tmp(place: Place) -> Finding | None:
    """job_container/tmpfs, since 26.05 called namespace."""
    config = place.slurm.config
    kind = value(config, "JobContainerType") or value(config, "NamespaceType")
    if not kind:
        return None
    return ok(f"each job has its own temporary folders ({kind}): hooks cannot see into them")


def launching(place: Place) -> Finding | None:
    """What changes how steps start; none of it is in our way."""
    config = place.slurm.config
    if not config:
        return None
    names = ("MpiDefault", "PrologFlags", "LaunchParameters")
    told = [f"{name}={found}" for name in names if (found := ",".join(words(config, name)))]
    if "enable_configless" in words(config, "SlurmctldParameters"):
        told.append("configless")
    return ok(f"launch: {', '.join(told) or 'no plugins'}")


def ptrace(place: Place) -> Finding | None:
    """Whether stacks can be read from outside."""
    scope = place.machine.ptrace_scope
    if not scope:
        return ok("ptrace allowed here")
    return warn(
        f"ptrace_scope={scope} here",
        "stacks through faulthandler, not py-spy",
        "nothing to do: ranks start with PYTHONFAULTHANDLER=1",
    )


def shared_memory(place: Place) -> Finding | None:
    """Where beats are told."""
    size = place.machine.shm_bytes
    if size is None:
        return warn(
            f"{_SHM} cannot be written here",
            "beats go through files in TMPDIR",
            "set SUPERVISE_BEAT_DIR to a folder of each node's own",
        )
    if size < _SMALL_SHM_BYTES:
        return warn(
            f"{_SHM} has {size // _BYTES_PER_MB} MB here",
            "NCCL and data loaders need more; beats need 4 kB a rank",
            "for containers: --shm-size=8g",
        )
    return ok(f"{_SHM} {size // _BYTES_PER_MB} MB here")


def runtime(place: Place) -> Finding | None:
    """Python and the C library."""
    here = place.machine
    version = tuple(int(part) for part in here.glibc.split(".")[:2] if part.isdigit())
    named = (
        f"Python {'.'.join(map(str, here.python))}, {f'glibc {here.glibc}' if version else 'not glibc'}, {here.arch}"
    )
    if not version or version < _OLD_GLIBC:
        return warn(
            f"{named}",
            "some dependencies have no wheels for it",
            "where `pip install` must compile, use a Python from conda or a container",
        )
    return ok(named)


def as_root(place: Place) -> Finding | None:
    """Root sees no refusal."""
    if not place.machine.is_root:
        return None
    return warn(
        "doctor was run as root",
        "what is refused to users does not show",
        "run it as an ordinary user",
    )
