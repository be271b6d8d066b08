"""Places for the checks: recorded configurations, and a good machine, folder and installation around them."""

from pathlib import Path
from typing import Any

import msgspec

from supervisor.doctor.place import (
    FolderSeen,
    LedgerSeen,
    Machine,
    NodeGroup,
    Own,
    PartitionSeen,
    Place,
    SlurmSeen,
    Tried,
)
from supervisor.doctor.slurm_text import parse_config, parse_partitions

DATA = Path(__file__).resolve().parents[1] / "data" / "slurm"
RECORDED = ("22.05/config", "22.05/config_cgroup", "24.11/config", "26.05/config")


def config_of(name: str, **changed: str) -> dict[str, str]:
    """A recorded `scontrol show config`, with some settings as another site has them."""
    return {**parse_config((DATA / f"{name}.txt").read_text(encoding="utf-8")), **changed}


def slurm(name: str = "22.05/config", *, changed: dict[str, str] | None = None, **fields: Any) -> SlurmSeen:
    release = name.partition("/")[0]
    found: dict[str, Any] = {
        "client": f"slurm {release}.5",
        "config": config_of(name, **(changed or {})),
        "partitions": parse_partitions((DATA / release / "partitions.txt").read_text(encoding="utf-8")),
        "nodes": (NodeGroup(partition="main", count=4, state="idle", gres="gpu:8", is_default=True),),
        "submits": Tried(is_accepted=True),
        "calls": 5,
    }
    return SlurmSeen(**{**found, **fields})


def place(seen: SlurmSeen | None = None, **parts: Any) -> Place:
    found: dict[str, Any] = {
        "slurm": seen or slurm(),
        "machine": Machine(host="login1", python=(3, 11, 2), glibc="2.36", arch="x86_64", shm_bytes=1 << 34),
        "folder": FolderSeen(path="/scratch/me/.supervise", filesystem="lustre", free_bytes=10**12, free_files=10**6),
        "own": Own(version="1", prefix="/scratch/me/venv", prefix_filesystem="lustre", brokers=("mosquitto",)),
    }
    return Place(**{**found, **parts})


def odd_places() -> list[Place]:
    """One place for each thing that can be wrong, so that every branch of every check is told once."""
    config: list[dict[str, str]] = [
        {"SLURM_VERSION": "21.08.1"},
        {"SLURM_VERSION": "27.11.0"},
        {"SLURM_VERSION": "23.11.7"},
        {"AuthInfo": "cred_expire=20", "SlurmdTimeout": "20 sec"},
        {"SlurmdTimeout": "0 sec"},
        {"JobRequeue": "0"},
        {"AccountingStorageType": "accounting_storage/slurmdbd"},
        {"SchedulerParameters": "bf_interval=2,disable_job_shrink"},
        {"SlurmctldParameters": "enable_stepmgr,rl_enable,enable_configless"},
        {"KillOnBadExit": "1", "KillWait": "2 sec"},
        {"JobSubmitPlugins": "lua", "PrivateData": "jobs,usage"},
        {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE", "Prolog[0]": "/etc/slurm/prolog.d/*"},
        {"ProctrackType": "proctrack/pgid", "TaskPlugin": "task/cgroup", "ConstrainRAMSpace": ""},
        {"JobContainerType": "job_container/tmpfs", "SrunPortRange": "60001-63000"},
        {"NamespaceType": "namespace/tmpfs"},
    ]
    db = {"AccountingStorageType": "accounting_storage/slurmdbd", "AccountingStoreFlags": "job_comment"}
    folder, machine, own = place().folder, place().machine, place().own
    return [
        place(),
        *(place(slurm(changed=changed)) for changed in config),
        place(slurm(changed=db, accounts=Tried(is_accepted=True))),
        place(slurm(changed=db, accounts=Tried(is_accepted=False, words="sacct: error: slurmdbd: Connection refused"))),
        place(SlurmSeen(missing=("sbatch", "scontrol"))),
        place(SlurmSeen(complaint="scontrol: Unable to contact slurm controller (connect failure)", calls=2)),
        place(slurm(unanswered=("sinfo: " + "very long words " * 20,))),
        place(slurm(client="slurm-wlm 20.11.4")),
        place(
            slurm(submits=Tried(is_accepted=False, words="sbatch: error: Job submit/allocate failed: Invalid account"))
        ),
        place(slurm(partitions=(PartitionSeen(name="gpu", alloc_nodes="login[1-4]", is_default=True),))),
        place(slurm(nodes=(NodeGroup(partition="gpu", count=1, state="idle"),))),
        place(slurm(nodes=(NodeGroup(partition="gpu", count=9, state="drained*"),))),
        *(place(folder=_changed(folder, **fields)) for fields in _FOLDERS),
        *(place(machine=_changed(machine, **fields)) for fields in _MACHINES),
        *(place(own=_changed(own, **fields)) for fields in _OWNS),
    ]


_FOLDERS: list[dict[str, Any]] = [
    {"complaint": "/scratch/me: Disk quota exceeded"},
    {"can_execute": False},
    {"flock": "ENOSYS"},
    {"link": "EPERM"},
    {"free_bytes": 1000},
    {"free_files": 3},
    {"skew_s": -61.5},
    {"filesystem": "xfs"},
]
_MACHINES: list[dict[str, Any]] = [
    {"ptrace_scope": 1},
    {"shm_bytes": None},
    {"shm_bytes": 1 << 20},
    {"glibc": ""},
    {"glibc": "2.17"},
    {"is_root": True},
]
_OWNS: list[dict[str, Any]] = [
    {"off": "/etc/supervise/off"},
    {"settings_complaint": "SUPERVISE_SPARES=x: a whole number, 0 or more (see supervise --help)"},
    {"origins": {"spares": "SUPERVISE_SPARES", "mode": "/etc/supervise/config.toml line 3"}, "spares": 1},
    {"brokers": ()},
    {"brokers": (), "transport": "mqtt"},
    {"transport": "stdout"},
    {"checkpoint": "/ck", "checkpoint_look": "WARNING: --checkpoint /ck: there is no / here. Until it is there, …"},
    {"checkpoint": "/ck", "checkpoint_look": "Checkpoints: /ck (newest whole: step 41200)."},
    {"ledger": LedgerSeen(path="/srv/ledger")},
    {"ledger": LedgerSeen(path="/srv/ledger", complaint="there is no folder /srv/ledger/c1/2026-12")},
    {"hooks": ("/etc/slurm/healthcheck",)},
]


def _changed(fact: Any, **fields: Any) -> Any:  # any of the facts above
    return msgspec.structs.replace(fact, **fields)
