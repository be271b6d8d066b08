"""What of an interruption leaves the run folder."""

import msgspec
import pytest

from supervisor.ledger.site.from_record import site_incident
from supervisor.ledger.site.lines import Lines
from supervisor.ledger.site.names import run_key
from supervisor.model.base import encode
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, RunId
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.site import LONGEST_PART_S
from supervisor.model.verdict import Blame, Changed, Class, Evidence, GpuRef, Verdict
from tests.ledger.site.made import AT

_SECRET = "hf_abcdefghijklmnopqrstuvwxyz0123456789"
_N1 = NodeName("n1")
_RECORD = IncidentRecord(
    run_id=RunId(f"{_SECRET}-llama-abcde"),
    job_id=JobId("81234"),
    incident=IncidentNo(2),
    attempt=AttemptNo(3),
    opened_at=AT + 0.123456,
    evidence_at=AT,
    verdict=Verdict(
        cls=Class.HARDWARE,
        cause="gpu_fell_off_bus",
        confidence=0.93456,
        summary=f"rank 3 died: token {_SECRET} in /home/alice/train.py",
        blame=Blame(
            nodes=(_N1, NodeName(_SECRET)),
            gpus=(GpuRef(node=_N1, gpu=3), GpuRef(node=NodeName(_SECRET), gpu=0), GpuRef(node=_N1, gpu=-1)),
        ),
        exclude_nodes=(_N1, NodeName(_SECRET)),
        fingerprint=f"train.py:{_SECRET}",
        evidence=(Evidence(source=f"/x/{_SECRET}", role="root", signature="xid", text=f"export TOKEN={_SECRET}"),),
        unread=(f"ranks/{_SECRET}: no",),
        changed=Changed(since=f"job 1 ({_SECRET})", what=(f"token {_SECRET}",)),
    ),
    action="relaunch_on_spare",
    action_text=f"starts again with {_SECRET}",
    isolation="gpu",
    nodes_before=(_N1, NodeName("n2")),
    nodes_after=(NodeName("n2"), NodeName("n3")),
    split=Split(detect=1.23456),
    resumed_from=f"/scratch/{_SECRET}/step_100",
    lost_node_seconds=17.98765,
)


def test_no_word_of_a_log_a_path_or_a_name_leaves_the_run_folder() -> None:
    """Whatever stands in the record: evidence, summary, paths, the job's name in the run's id, strange node names."""
    line = encode(site_incident(_RECORD, run_key(_RECORD.run_id)))
    assert _SECRET.encode() not in line
    for part in (b"llama", b"/home", b"/scratch", b"train.py", b"TOKEN", b"token"):
        assert part not in line


def test_what_is_kept_is_what_counts() -> None:
    """Class, cause, who was to blame, what it cost; numbers to the millisecond."""
    line = site_incident(_RECORD, "r")
    assert (line.cls, line.cause, line.incident, line.node_count) == (Class.HARDWARE, "gpu_fell_off_bus", 2, 2)
    assert (line.nodes, line.left, [gpu.gpu for gpu in line.gpus]) == ((_N1,), (_N1,), [3])
    assert (line.at, line.split.detect, line.lost_node_s, line.confidence) == (AT + 0.123, 1.235, 17.988, 0.935)


@pytest.mark.parametrize(
    ("blamed", "left", "written"),
    [("n1", "n1", {"all_left": True}), ("n1", "n2", {"excluded": ("n2",)}), ("n1", "", {})],
)
def test_nodes_that_are_to_blame_and_leave_are_named_once(blamed: str, left: str, written: dict[str, object]) -> None:
    """Whoever reads the line asks for those that left."""
    verdict = Verdict(
        cls=Class.HARDWARE,
        cause="gpu_lost",
        confidence=0.9,
        summary="",
        blame=Blame(nodes=(NodeName(blamed),)),
        exclude_nodes=tuple(map(NodeName, left.split())),
    )
    line = site_incident(msgspec.structs.replace(_RECORD, verdict=verdict), "r")
    assert line.left == verdict.exclude_nodes
    told = msgspec.to_builtins(line)
    assert {name: told[name] for name in ("excluded", "all_left") if name in told} == written


def test_the_first_evidence_is_told_once() -> None:
    """Where it is not as long before as the detection took, it has a time of its own."""
    told = msgspec.structs.replace(_RECORD, split=Split(detect=0.123456))
    assert site_incident(told, "r").evidence_at is None
    assert site_incident(_RECORD, "r").evidence_at == AT


def test_parts_that_took_no_time_are_left_out() -> None:
    """They add nothing to a sum; of seeing and pinning down, which stay, a report has medians."""
    split = Split(detect=0.0, collect=0.0, decide=0.0, stop=0.0004, launch=1.5, init=None, catch_up=1e9)
    line = site_incident(msgspec.structs.replace(_RECORD, split=split), "r")
    assert msgspec.to_builtins(line.split) == {"detect": 0.0, "collect": 0.0, "launch": 1.5, "catch_up": LONGEST_PART_S}
    assert Lines().take(encode(line) + b"\n") == [line]


def test_a_cause_that_is_no_name_is_not_kept() -> None:
    """Packs of a site may be anything; a cause is a word."""
    record = msgspec.structs.replace(
        _RECORD, verdict=msgspec.structs.replace(_RECORD.verdict, cause=f"died: {_SECRET}")
    )
    assert site_incident(record, "r").cause == "unattributed"


def test_every_field_of_a_line_is_looked_at() -> None:
    """A new field of the line needs a look at this file: a text in it may be a secret."""
    assert set(msgspec.structs.asdict(site_incident(_RECORD, "r"))) == {
        *("schema", "at", "evidence_at", "job", "run", "incident", "cls", "cause", "confidence", "nodes", "gpus"),
        *(
            "excluded",
            "all_left",
            "action",
            "isolation",
            "node_count",
            "split",
            "recovery_s",
            "steps_lost",
            "lost_node_s",
        ),
        "is_closed",
    }
