"""What `scontrol -o` and its sisters print, as facts. Pure; unknown fields are passed over.

A field's value may hold spaces and even `Key=value` (a comment, a path, the system's name): a text field ends only
where a field known to follow it begins, every other one at the next word that looks like a field.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from supervisor.errors import PayloadRefused
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.facts import NodeRecord, SlurmConfig, StepFacts
from supervisor.slurm.hostlist import expand

Fields = Mapping[str, str]

_FIELD: Final = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z0-9_:/]*)=")
# Fields that hold anybody's text, and those that are known to follow: only they end it.
_ENDED_BY: Final[Mapping[str, frozenset[str]]] = {
    "JobName": frozenset({"UserId"}),
    "Name": frozenset({"Network"}),
    "Command": frozenset({"WorkDir", "SubmitLine", "AdminComment", "Comment", "StdErr", "StdIn", "StdOut", "Power"}),
    "WorkDir": frozenset({"AdminComment", "Comment", "StdErr", "StdIn", "StdOut", "Power", "TresPerNode"}),
    "SubmitLine": frozenset({"WorkDir", "AdminComment", "Comment", "StdErr", "StdIn", "StdOut", "Power"}),
    "AdminComment": frozenset({"Comment", "SystemComment", "Burst_Buffer", "StdErr", "StdIn", "StdOut", "Power"}),
    "SystemComment": frozenset({"Comment", "StdErr", "StdIn", "StdOut", "Power"}),
    "Comment": frozenset({"StdErr", "StdIn", "StdOut", "Power", "SystemComment", "ExtraMsg"}),
    "StdErr": frozenset({"StdIn", "StdOut", "Power", "Switches"}),
    "StdIn": frozenset({"StdOut", "Power", "Switches"}),
    "OS": frozenset({"RealMemory"}),
}
_UNSET: Final = frozenset({"", "Unknown", "None", "N/A", "(null)", "NONE"})
_LIVING_STATES: Final = frozenset({"RUNNING", "PENDING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED"})
# Marks behind a node's state: not responding, powering, rebooting, planned, reserved, ...
_STATE_MARKS: Final = "*~#!%$@^-"


def parse_job(text: str, job: JobId) -> JobFacts:
    """The one job asked for, where an array's or heterogeneous job's id names several.

    Raises `PayloadRefused` where it is not among them.
    """
    for fields in _records(text, "JobId"):
        facts = _job(fields)
        if job in (fields["JobId"], facts.job_id):
            return facts
    raise PayloadRefused(f"Slurm's answer does not speak of job {job}: {text[:120]!r}")


def parse_accounts(text: str, jobs: Iterable[JobId]) -> dict[JobId, JobFacts]:
    """These jobs in rows `id|state|nodes` of sacct or squeue, as far as they are in it.

    `CANCELLED by 1000` is CANCELLED. An array whose tasks have rows of their own has the state of one that still lives.
    """
    rows = [line.split("|", 2) for line in text.splitlines() if line.count("|") >= 2]  # noqa: PLR2004  # three columns
    found: dict[JobId, JobFacts] = {}
    for job in jobs:
        # Tasks of an array that were cancelled together stand as `17_[0-3]`.
        mine = [row for row in rows if row[0] == job] or [row for row in rows if row[0].startswith(f"{job}_")]
        mine.sort(key=lambda row: row[1] not in _LIVING_STATES)
        if mine and mine[0][1]:
            _, state, nodes = mine[0]
            names = () if nodes == "None assigned" else expand(nodes)
            found[job] = JobFacts(job_id=job, state=state.split()[0], nodes=names)
    return found


def parse_nodes(text: str) -> tuple[NodeRecord, ...]:
    """Every node of `scontrol -o show node`."""
    return tuple(_node(fields) for fields in _records(text, "NodeName"))


def parse_steps(text: str) -> tuple[StepFacts, ...]:
    """Every step of `scontrol -o show step`; none where Slurm says that there is none."""
    return tuple(_step(fields) for fields in _records(text, "StepId"))


def parse_config(text: str) -> SlurmConfig:
    """The settings of `scontrol show config` that matter here."""
    found = dict(re.findall(r"^(\S+)\s*=[ \t]*(.*?)\s*$", text, re.MULTILINE))
    if not found:
        raise PayloadRefused(f"this is no answer of `scontrol show config`: {text[:120]!r}")
    return SlurmConfig(
        version=found.get("SLURM_VERSION", ""),
        slurmd_ports=_ports(found.get("SlurmdPort", "")) or (6818, 6818),
        controllers=_controllers(found),
        srun_ports=_ports(found.get("SrunPortRange", "")),
        keeps_accounts="slurmdbd" in found.get("AccountingStorageType", ""),
        preempt_type=_plugin(found.get("PreemptType", "")),
        preempt_mode=_mode(found.get("PreemptMode", "")),
    )


def _controllers(found: Mapping[str, str]) -> tuple[str, ...]:
    """`login(10.0.0.1)` or `login`, one for each slurmctld; a range of ports stands for its first."""
    ports = _ports(found.get("SlurmctldPort", "")) or (6817, 6817)
    named = [(name, value) for name, value in found.items() if name.startswith("SlurmctldHost[")]
    hosts = [re.search(r"\(([^)]+)\)$", value) or re.match(r"(\S+)", value) for _, value in sorted(named)]
    return tuple(f"{host[1]}:{ports[0]}" for host in hosts if host)


def parse_partition_mode(text: str, partition: str) -> str:
    """PreemptMode of one partition in `scontrol -o show partition`, `REQUEUE` for one; empty: off.

    Raises `PayloadRefused` where it is not among them.
    """
    for fields in _records(text, "PartitionName"):
        if fields["PartitionName"] == partition:
            return _mode(fields.get("PreemptMode", ""))
    raise PayloadRefused(f"Slurm's answer does not speak of partition {partition}: {text[:120]!r}")


def parse_qos_mode(text: str, qos: str) -> str | None:
    """PreemptMode of one QOS in `sacctmgr -nP show qos format=Name,PreemptMode`; None: the cluster's counts."""
    rows = (line.partition("|") for line in text.splitlines())
    words = next((mode.strip() for name, _, mode in rows if name == qos), "")
    return None if words.lower() in {"", "cluster"} else _mode(words)


def parse_node_names(text: str) -> tuple[NodeName, ...]:
    """The names of `sinfo -hN -o %N`, each once."""
    return tuple(dict.fromkeys(name for line in text.split() for name in expand(line)))


def parse_partition(text: str) -> tuple[NodeState, ...]:
    """Names and states of `sinfo -hN -o "%N|%T"`."""
    rows = (line.partition("|") for line in text.splitlines() if "|" in line)
    return tuple(parse_state(NodeName(name.strip()), state.strip()) for name, _, state in rows)


def parse_state(node: NodeName, state: str, reason: str = "") -> NodeState:
    """`DOWN*+DRAIN` as states and whether the node answers."""
    words = tuple(word.strip(_STATE_MARKS) for word in state.upper().split("+"))
    return NodeState(
        node=node,
        states=words,
        is_responding="*" not in state and "NOT_RESPONDING" not in words,
        reason=reason,
    )


def parse_time(text: str) -> float | None:
    """Epoch seconds of `1796080000` or of a local `2026-11-30T23:18:00`; None where Slurm knows none."""
    if text.isdigit():
        return float(text) or None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def parse_limit(text: str) -> float | None:
    """Seconds of `1-02:03:04`, `02:03:04` or `02:03`; None for UNLIMITED."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds()


def parse_release(version: str) -> tuple[int, ...]:
    """`22.05.8` (and pyslurm's `22.5.3`) as (22, 5), for comparison; an unknown version is newer than all."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else (9999,)


def _records(text: str, key: str) -> Iterator[dict[str, str]]:
    """The fields of each record; a line that starts no record belongs to the one above (a comment's newline)."""
    for record in re.split(rf"^(?={key}=)", text, flags=re.MULTILINE):
        if record.startswith(f"{key}="):
            yield _fields(record)


def _fields(record: str) -> dict[str, str]:
    found: dict[str, str] = {}
    key, start = "", 0
    marks = list(_FIELD.finditer(record))
    names = {mark[1] for mark in marks}
    for mark in marks:
        enders = _ENDED_BY.get(key, frozenset()) & names
        if (enders and mark[1] not in enders) or mark[1] in found or mark[1] == key:
            continue
        if key:
            found[key] = record[start : mark.start()].strip()
        key, start = mark[1], mark.end()
    return {**found, key: record[start:].strip()}


def _job(fields: Fields) -> JobFacts:
    return JobFacts(
        job_id=_job_id(fields),
        state=fields.get("JobState", "UNKNOWN"),
        reason=fields.get("Reason", "None"),
        nodes=expand(fields.get("NodeList", "")),
        batch_host=NodeName(fields["BatchHost"]) if _given(fields, "BatchHost") else None,
        restarts=_whole(fields.get("Restarts", "")),
        start_time=parse_time(fields.get("StartTime", "")),
        end_time=parse_time(fields.get("EndTime", "")),
        preempt_time=parse_time(fields.get("PreemptTime", "")),
        time_limit_s=parse_limit(fields.get("TimeLimit", "")),
        partition=_given(fields, "Partition"),
        qos=_given(fields, "QOS"),
        requeue=fields.get("Requeue") != "0",
        std_out=_given(fields, "StdOut"),
        std_err=_given(fields, "StdErr") or _given(fields, "StdOut"),  # 26.05 leaves it empty where they are one
        dependency=_given(fields, "Dependency"),
        comment=_given(fields, "Comment"),
        exclude=_given(fields, "ExcNodeList"),
        required=_given(fields, "ReqNodeList"),
    )


def _job_id(fields: Fields) -> JobId:
    task = fields.get("ArrayTaskId", "")
    return JobId(f"{fields['ArrayJobId']}_{task}" if task.isdigit() and "ArrayJobId" in fields else fields["JobId"])


def _node(fields: Fields) -> NodeRecord:
    name = NodeName(fields["NodeName"])
    port = fields.get("Port", "")
    return NodeRecord(
        state=parse_state(name, fields.get("State", "UNKNOWN"), _given(fields, "Reason")),
        address=_given(fields, "NodeAddr"),
        host_name=_given(fields, "NodeHostName"),
        port=int(port) if port.isdigit() else None,
    )


def _step(fields: Fields) -> StepFacts:
    return StepFacts(
        step_id=fields["StepId"],
        name=fields.get("Name", ""),
        state=fields.get("State", ""),
        nodes=expand(fields.get("NodeList", "")),
        tasks=_whole(fields.get("Tasks", "")),
    )


def _given(fields: Fields, key: str) -> str:
    value = fields.get(key, "")
    return "" if value in _UNSET else value


def _whole(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _ports(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None or int(match[1]) == 0:
        return None
    return int(match[1]), int(match[2] or match[1])


def _plugin(text: str) -> str:
    return "" if text in _UNSET or text == "preempt/none" else text


def _mode(text: str) -> str:
    return "" if text in _UNSET or text.upper() == "OFF" else text.upper()


def _seconds(text: str, *, otherwise: float) -> float:
    match = re.match(r"(\d+)(?:\s*sec)?", text)
    return float(match[1]) if match else otherwise
