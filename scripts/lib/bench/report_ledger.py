"""Ledgers to measure the report with: interruptions in the mix that was published of Llama 3's training."""

import getpass
import json
import os
import random
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

CLUSTER: Final = "bench"
MIX: Final = (
    ("hardware", "gpu_unknown_failure", 148),
    ("hardware", "gpu_hbm_uncorrectable", 72),
    ("software", "python_exception", 54),
    ("planned", "maintenance", 47),
    ("network", "link_fault", 35),
    ("hardware", "node_unreachable", 32),
    ("hardware", "gpu_sram_uncorrectable", 19),
    ("hardware", "gpu_firmware_fault", 17),
    ("hardware", "nic_failure", 7),
    ("unknown", "unattributed", 7),
    ("hardware", "sdc_suspected", 6),
    ("hardware", "gpu_degraded", 6),
    ("hardware", "local_disk_failure", 3),
    ("hardware", "node_power_loss", 3),
    ("hardware", "thermal_shutdown", 2),
    ("hardware", "pcie_fatal_error", 2),
    ("software", "library_version_incompat", 2),
    ("hardware", "host_machine_check", 2),
    ("hardware", "host_memory_uncorrectable", 2),
)
"""Class, cause, how often: 466 interruptions in 54 days (arXiv 2407.21783, table 5), in this project's words."""
PUBLISHED: Final = sum(times for _, _, times in MIX)
_BEGAN: Final = 1_790_000_000.0
_SPAN_S: Final = 400 * 86_400.0
_MONTH_S: Final = 7 * 86_400.0
_NODES: Final = 2_048
_USERS: Final = 40
_FIRST_USER: Final = 60_000
_SIZES: Final = (1, 1, 2, 2, 4, 4, 8, 16, 64, 256)
"""Of jobs in nodes: most are small."""
_LARGE: Final = 16
_UPKEEP_S: Final = 600.0


def one_file(root: Path, records: int, jobs: int) -> Path:
    """A month that is over, as `supervise ledger upkeep` leaves it: every line of all jobs in one file."""
    path = root / CLUSTER / f"{_month(_BEGAN)}.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        for number in range(jobs):
            began = _BEGAN + _MONTH_S * number / jobs
            file.write(_line({"kind": "owner", "owner": _user(number)}))
            file.writelines(_job(number, _share(number, records, jobs), began))
    return path


def many_files(root: Path, records: int, jobs: int) -> None:
    """A ledger as jobs leave it: a file for each, by month."""
    made: set[Path] = set()
    for number in range(jobs):
        began = _BEGAN + _SPAN_S * number / jobs
        month = root / CLUSTER / _month(began)
        if month not in made:
            month.mkdir(parents=True, exist_ok=True)
            made.add(month)
        lines = _job(number, _share(number, records, jobs), began)
        path = month / f"{1000 + number}-{_run(number)}.jsonl"
        path.write_text("".join(lines), encoding="utf-8")
        if os.geteuid() == 0:
            os.chown(path, int(_user(number)), -1)  # as its job would have written it


def keep_up(python: Path, root: Path) -> None:
    """What the product's upkeep has made of it on the day on which the last job began: old months are one file each."""
    now = _BEGAN + _SPAN_S
    code = "import sys; from pathlib import Path; from supervisor.ledger.site.upkeep import keep_up; "
    code += f"sys.exit('; '.join(keep_up(Path(sys.argv[1]), keep_s={2 * _SPAN_S}, now={now}).problems.all()) or None)"
    subprocess.run([str(python), "-I", "-c", code, str(root)], check=True, timeout=_UPKEEP_S)


def _share(number: int, records: int, jobs: int) -> int:
    return records * (number + 1) // jobs - records * number // jobs


def _month(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m}"


def _user(number: int) -> str:
    """A user id that has no name is called by its number. Who is not root cannot write for others."""
    return str(_FIRST_USER + number % _USERS) if os.geteuid() == 0 else getpass.getuser()


def _run(number: int) -> str:
    return f"{number:012x}"


def _job(number: int, records: int, began: float) -> Iterator[str]:
    """The lines of one job; the same each time."""
    rng = random.Random(number)  # noqa: S311  # for figures that are the same each time
    size = _SIZES[number % len(_SIZES)]
    first = rng.randrange(_NODES - size)
    nodes = [f"node{first + index:04d}" for index in range(size)]
    head = {"job": str(1000 + number), "run": _run(number)}
    yield _line(
        {
            "kind": "job",
            "at": began,
            "cluster": CLUSTER,
            **head,
            "user": _user(number),
            "partition": ("batch", "large")[size > _LARGE],
            "nodes": nodes,
            "gpus_per_node": 8,
            "time_limit_s": 604_800.0,
            "version": "0.1.0",
        }
    )
    causes = rng.choices(MIX, [times for _, _, times in MIX], k=records)
    span = 3_600.0
    for index, (cls, cause, _) in enumerate(causes, start=1):
        at = began + span * index
        yield _line(_incident(rng, head, index, at, (cls, cause), nodes))
    used = span * (records + 1)
    yield _line(
        {
            "kind": "use",
            "at": began + used,
            **head,
            "held_node_s": size * used,
            "computing_node_s": size * used * 0.95,
            "restarts": records,
            "step": records * 1_000,
            "end": ("completed", "stopped")[number % 50 == 0],
        }
    )


def _incident(
    rng: random.Random, head: dict[str, str], number: int, at: float, why: tuple[str, str], nodes: list[str]
) -> dict[str, object]:
    """As a job writes it: what is at its default, took no time or is told already is left out."""
    blamed = {"nodes": [rng.choice(nodes)]} if why[0] in {"hardware", "network"} else {}
    return {
        "kind": "incident",
        "at": at,
        **head,
        "incident": number,
        "cls": why[0],
        "cause": why[1],
        "confidence": 0.93,
        **blamed,
        **({"all_left": True} if why[0] == "hardware" else {}),
        "action": "stop" if rng.random() < 1 / 150 else "relaunch_on_spare",
        **({"isolation": "node"} if blamed else {}),
        "node_count": len(nodes),
        "split": {
            "detect": round(rng.expovariate(0.5), 3),
            "collect": 0.41,
            "stop": 1.25,
            "launch": round(rng.uniform(1, 9), 3),
            "init": 31.5,
            "catch_up": round(rng.uniform(20, 200), 3),
        },
        "recovery_s": round(rng.uniform(2, 60), 3),
        "steps_lost": rng.randrange(200),
        "lost_node_s": round(len(nodes) * rng.uniform(60, 400), 3),
        "is_closed": True,
    }


def _line(fields: dict[str, object]) -> str:
    return json.dumps(fields, separators=(",", ":")) + "\n"
