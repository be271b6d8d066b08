"""What `scontrol show config`, `scontrol show partition` and sinfo print, as facts. Pure; nothing is dropped."""

import re
from collections.abc import Mapping
from typing import Final

from supervisor.doctor.place import NodeGroup, PartitionSeen

SINFO_FORMAT: Final = "%P|%a|%D|%T|%c|%m|%G"
_UNSET: Final = frozenset({"", "(null)", "none", "n/a", "unknown", "no"})
_LINE: Final = re.compile(r"^(\S+)\s*=[ \t]*(.*?)\s*$", re.MULTILINE)
_COLUMNS: Final = 7


def parse_config(text: str) -> dict[str, str]:
    """Every setting, those of cgroup.conf included where Slurm shows them; empty: this was no configuration."""
    return dict(_LINE.findall(text))


def parse_partitions(text: str) -> tuple[PartitionSeen, ...]:
    """The partitions of `scontrol -a -o show partition`."""
    found = []
    for line in text.splitlines():
        fields = dict(re.findall(r"(\S+?)=(\S*)", line))
        if "PartitionName" in fields:
            found.append(
                PartitionSeen(
                    name=fields["PartitionName"],
                    alloc_nodes=fields.get("AllocNodes", "ALL"),
                    preempt_mode=fields.get("PreemptMode", ""),
                    is_default=fields.get("Default") == "YES",
                )
            )
    return tuple(found)


def parse_sinfo(text: str) -> tuple[NodeGroup, ...]:
    """The rows of `sinfo -h` in `SINFO_FORMAT`."""
    rows = (line.split("|", _COLUMNS - 1) for line in text.splitlines())
    return tuple(
        NodeGroup(
            partition=row[0].rstrip("*"),
            is_default=row[0].endswith("*"),
            is_up=row[1] == "up",
            count=int(row[2]) if row[2].isdigit() else 0,
            state=row[3],
            cpus=row[4],
            memory_mb=row[5],
            gres="" if row[6].strip().lower() in _UNSET else row[6].strip(),
        )
        for row in rows
        if len(row) == _COLUMNS
    )


def value(config: Mapping[str, str], key: str) -> str:
    """The setting; empty where it is off or not set (`(null)`, `none`, `accounting_storage/none`)."""
    text = config.get(key, "")
    return "" if text.lower() in _UNSET or text.endswith("/none") else text


def words(config: Mapping[str, str], key: str) -> tuple[str, ...]:
    """The words of a list, in lower case."""
    return tuple(word for word in re.split(r"[,\s]+", value(config, key).lower()) if word)


def seconds(config: Mapping[str, str], key: str) -> int | None:
    """`300 sec` as 300; None where it is not told."""
    match = re.match(r"(\d+)", config.get(key, ""))
    return int(match[1]) if match else None


def programs(config: Mapping[str, str], key: str) -> tuple[str, ...]:
    """`Prolog`, which newer releases show as `Prolog[0]`, `Prolog[1]`."""
    return tuple(
        text for name in config if name == key or re.fullmatch(rf"{key}\[\d+\]", name) if (text := value(config, name))
    )


def ports(config: Mapping[str, str]) -> tuple[int, int] | None:
    """SrunPortRange; None: any port."""
    match = re.fullmatch(r"(\d+)-(\d+)", config.get("SrunPortRange", ""))
    return (int(match[1]), int(match[2])) if match and int(match[1]) else None


def release(version: str) -> tuple[int, ...]:
    """`22.05.8` as (22, 5); empty where it is none."""
    match = re.search(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else ()
