"""Flight-recorder dumps as NCCL's backend writes them, made up, and real ones of gloo."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from supervisor.diagnose.evidence.flight import Dump, parse
from supervisor.diagnose.reading.dumps import read_dump
from supervisor.model.ids import Rank

REAL = Path(__file__).resolve().parents[1] / "data" / "flight"
"""Of three ranks each, recorded by gloo_rank.py with PyTorch 2.13."""


def real(story: str, form: str) -> list[Dump]:
    return [read_dump(path) for path in sorted((REAL / f"gloo-{story}" / form).iterdir())]


def entry(number: int, group: str = "0", **more: Any) -> dict[str, Any]:
    """One finished all_reduce; `more` changes it."""
    return {
        "record_id": number,
        "pg_id": int(group) if group.isdecimal() else 0,
        "process_group": (group, "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "is_p2p": False,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[1024, 16]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[1024, 16]],
        "output_dtypes": ["BFloat16"],
        "state": "completed",
        "retired": True,
        "time_created_ns": 1_796_099_805_114_514_220,
        "frames": [
            {"name": "wrapper", "filename": "/opt/lib/python3.11/site-packages/torch/distributed/c10d.py", "line": 81},
            {"name": "train_step", "filename": "/home/u/llm/train.py", "line": 210},
        ],
    } | more


def waiting(number: int, group: str = "0", **more: Any) -> dict[str, Any]:
    """One that did not finish."""
    return entry(number, group, **{"state": "started", "retired": False} | more)


def message(way: str) -> dict[str, Any]:
    """`send 1->2` or `recv 2<-1` that did not arrive."""
    return waiting(0) | {"is_p2p": True, "p2p_seq_id": 7, "profiling_name": f"nccl:{way}"}


def dump(
    rank: int,
    entries: Sequence[Mapping[str, Any]],
    groups: Mapping[str, Sequence[int]] | None = None,
    version: str = "2.10",
) -> Dump:
    """A dump of version 2.4 or 2.10 of a rank in these groups."""
    groups = groups if groups is not None else {"0": range(4)}
    raw: dict[str, Any] = {
        "version": version,
        "nccl_version" if version < "2.10" else "comm_lib_version": "2.27.3",
        "pg_config": {
            name: {"name": name, "desc": "default_pg", "ranks": str(list(members))} for name, members in groups.items()
        },
        "entries": list(entries),
    }
    return parse(raw, Rank(rank), f"flight/rank_{rank}")
