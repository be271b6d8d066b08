"""The text of every configuration file, as a pure function of the spec."""

from collections.abc import Mapping, Sequence

from testbed.layout import Layout
from testbed.spec import LOGIN, Spec

Version = tuple[int, int]

# Memory Slurm believes each node has; only a number, since steps are not confined in the plain profile.
_NODE_MEMORY_MB = 64000
_CGROUP_PLUGIN_DISABLED_SINCE: Version = (23, 2)

_REPEATABLE = frozenset({"nodename", "partitionname", "nodeset", "downnodes", "frontendname"})


def slurm_conf(spec: Spec, layout: Layout) -> str:
    """The whole slurm.conf; a `--set` line replaces ours of the same key, repeatable keys are added."""
    settings = {**_base(spec, layout), **_PROFILE_SETTINGS[spec.profile]}
    if spec.accounting:
        settings |= _accounting(spec)
    if spec.gpus:
        settings["GresTypes"] = "gpu"
    lines, extra = _merged(settings, spec.settings)
    gres = f" Gres=gpu:{spec.gpus}" if spec.gpus else ""
    size = f"CPUs={spec.cpus} RealMemory={_NODE_MEMORY_MB}{gres}"
    lines += [f"NodeName={node} NodeAddr={spec.address(node)} {size} State=UNKNOWN" for node in spec.node_names]
    lines.append("PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP")
    return "\n".join([*lines, *extra, ""])


def _base(spec: Spec, layout: Layout) -> dict[str, str]:
    return {
        "ClusterName": spec.name,
        "SlurmctldHost": f"{LOGIN}({spec.login_address})",
        "SlurmctldPort": str(spec.controller_port),
        "SlurmdPort": "6818",
        "SlurmUser": "root",
        "AuthType": "auth/munge",
        "StateSaveLocation": f"{layout.spool}/slurmctld",
        "SlurmdSpoolDir": f"{layout.spool}/%n",
        "SlurmctldPidFile": f"{layout.spool}/slurmctld.pid",
        "SlurmdPidFile": f"{layout.spool}/%n.pid",
        "SlurmctldLogFile": f"{layout.logs}/slurmctld.log",
        "SlurmdLogFile": f"{layout.logs}/%n.log",
        "SlurmdParameters": "config_overrides",
        "SelectType": "select/cons_tres",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "sched_interval=2,bf_interval=2",
        "ReturnToService": "2",
        "SlurmdTimeout": "10",
        "KillWait": "5",
        "JobRequeue": "1",
        "OverTimeLimit": "0",
        "MpiDefault": "none",
        "MailProg": "/bin/true",
    }


def _accounting(spec: Spec) -> dict[str, str]:
    settings = {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": spec.login_address,
        "AccountingStoragePort": str(spec.accounting_port),
        "AccountingStoreFlags": "job_comment",
    }
    return {**settings, "AccountingStorageTRES": "gres/gpu"} if spec.gpus else settings


def slurmdbd_conf(spec: Spec, layout: Layout) -> str:
    """The slurmdbd.conf: root on the login node may use the database, by its socket and without a password."""
    settings = {
        "DbdHost": LOGIN,
        "DbdAddr": spec.login_address,
        "DbdPort": str(spec.accounting_port),
        "SlurmUser": "root",
        "AuthType": "auth/munge",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "root",
        "StorageLoc": "slurm_accounts",
        "PidFile": f"{layout.spool}/slurmdbd.pid",
        "LogFile": f"{layout.logs}/slurmdbd.log",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


_PROFILE_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "plain": {
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectTypeParameters": "CR_Core",
    },
    "cgroup": {
        "ProctrackType": "proctrack/cgroup",
        "TaskPlugin": "task/cgroup",
        "SelectTypeParameters": "CR_Core_Memory",
        "JobAcctGatherType": "jobacct_gather/cgroup",
        "PrologFlags": "Contain",
    },
}


def _merged(settings: Mapping[str, str], wished: Sequence[str]) -> tuple[list[str], list[str]]:
    ours = dict(settings)
    by_lower = {key.lower(): key for key in ours}
    extra = []
    for line in wished:
        key, _, value = line.partition("=")
        if key.lower() in _REPEATABLE:
            extra.append(line)
        else:
            ours[by_lower.setdefault(key.lower(), key)] = value
    return [f"{key}={value}" for key, value in ours.items()], extra


def gres_conf(spec: Spec, layout: Layout) -> str:
    """The gres.conf: one pretended device file per GPU."""
    if not spec.gpus:
        return ""
    which = "0" if spec.gpus == 1 else f"[0-{spec.gpus - 1}]"
    return f"Name=gpu File={layout.devices}/nvidia{which}\n"


def cgroup_conf(spec: Spec, version: Version) -> str:
    """The cgroup.conf: off in the plain profile where this Slurm can say so, memory and devices in the other."""
    if spec.profile == "cgroup":
        return "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\nConstrainDevices=yes\n"
    if version >= _CGROUP_PLUGIN_DISABLED_SINCE:
        return "CgroupPlugin=disabled\n"
    # Not asked for anything, the v1 plugin touches nothing; the default one dies where cgroups are of another kind.
    return "CgroupPlugin=cgroup/v1\n"


def hosts(spec: Spec, host_file: str) -> str:
    """The hosts file of login and nodes: the testbed's names first, then what the host knows."""
    ours = [(spec.login_address, LOGIN), *((spec.address(node), node) for node in spec.node_names)]
    return "".join(f"{address}\t{name}\n" for address, name in ours) + host_file


def passwd(users: Mapping[str, int], layout: Layout, base: str) -> str:
    """The passwd file of login and nodes: `base` with the testbed's users at home in its shared folder."""
    ours = [f"{name}:x:{uid}:{uid}::{layout.home(name)}:/bin/bash" for name, uid in users.items()]
    return _with_accounts(base, users, ours)


def group(users: Mapping[str, int], base: str) -> str:
    """The group file of login and nodes: `base` with one group per user of the testbed."""
    return _with_accounts(base, users, [f"{name}:x:{gid}:" for name, gid in users.items()])


def _with_accounts(base: str, users: Mapping[str, int], lines: Sequence[str]) -> str:
    kept = [line for line in base.splitlines() if line.split(":")[0] not in users]
    return "\n".join([*kept, *lines, ""])
