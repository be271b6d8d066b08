"""One incident for a person and for a script."""

from typing import Any

import msgspec
import pytest

from supervisor.model.ids import NodeName, Rank
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.verdict import Blame, Changed, Class, Evidence, GpuRef
from supervisor.report.evidence import each_line_once
from supervisor.report.incident import as_json, as_text, where
from tests.report.makers import NODES, NOW, ended, lost_node, own_bug

_RANK_ON_A_GPU = Blame(nodes=NODES[:1], gpus=(GpuRef(node=NODES[0], gpu=3),), ranks=(Rank(5),))


def _lines(record: IncidentRecord) -> list[str]:
    return list(as_text(record, now=NOW))


def _with_verdict(**changes: Any) -> IncidentRecord:
    record = lost_node()
    return msgspec.structs.replace(record, verdict=msgspec.structs.replace(record.verdict, **changes))


def test_a_person_reads_what_where_how_fast_and_what_was_done() -> None:
    """In this order, with the proof below."""
    head, summary, times, done, proof = _lines(lost_node())
    assert head.startswith(" 1  ")
    assert head.endswith("hardware/node_unreachable  node003   confidence 0.95")
    assert summary == "    a node no longer answers on node003"
    assert times.startswith("    detected 2.2 s, verdict 0.4 s, running again 1.8 s: stop 0.5 s, launch 1.3 s;")
    assert times.endswith("; then init 3.1 s, catch up 16 s")
    assert done.endswith("starting again on node001, node002 and node004; resumed at step 51,200, 3 steps lost")
    assert proof == "      facts.json  node003 is silent   [root]"


def test_a_cause_that_nobody_knows_has_no_confidence() -> None:
    """A figure would look like a measure of something."""
    head = _lines(_with_verdict(cls=Class.UNKNOWN, cause="unattributed", confidence=0.0, exclude_nodes=()))[0]
    assert head.endswith("unknown/unattributed  node003")


def test_a_recovery_under_way_is_not_called_done() -> None:
    """Nobody knows yet how long it will take."""
    record = lost_node(recovery_s=None, split=Split(detect=2.2, stop=0.5), is_closed=False)
    assert "    detected 2.2 s, not running again yet: stop 0.5 s" in _lines(record)


def test_a_stop_speaks_of_no_recovery() -> None:
    """There is none."""
    assert not any("running again" in line for line in _lines(own_bug()))


def test_a_planned_end_was_not_detected() -> None:
    """It is no fault: no times of a recovery, and its one sentence once."""
    lines = _lines(ended("user_cancel"))
    assert not any("detected" in line for line in lines)
    assert sum("the job was cancelled" in line for line in lines) == 1


def test_observe_mode_says_what_would_have_been_done() -> None:
    """And only that."""
    text = "mode observe: nothing is done; mode act would: starting again on the same nodes"
    lines = _lines(lost_node(action="observe", action_text=text, recovery_s=None, resumed_step=None, steps_lost=None))
    assert "    in mode act: starting again on the same nodes" in lines


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (lost_node(), "node003"),
        (own_bug(), "rank 12 on node002"),
        (_with_verdict(blame=Blame(nodes=NODES[:1], gpus=(GpuRef(node=NODES[0], gpu=3),))), "node001 GPU 3"),
        (_with_verdict(blame=Blame(), exclude_nodes=()), "-"),
        (_with_verdict(cls=Class.SOFTWARE, blame=_RANK_ON_A_GPU, exclude_nodes=()), "rank 5 on node001"),
        (_with_verdict(blame=_RANK_ON_A_GPU, exclude_nodes=()), "node001 GPU 3"),
    ],
)
def test_the_finest_unit_is_named(record: IncidentRecord, text: str) -> None:
    """A GPU before its node; a rank only where neither the node nor the GPU is to blame."""
    assert where(record.verdict) == text


def test_echoes_come_last_and_are_cut_first() -> None:
    """2,000 NCCL lines must not hide the one that began it."""
    echoes = [Evidence(source="l:1", role="echo", signature="nccl", text=f"echo {number}") for number in range(9)]
    root = Evidence(source="l:2", role="root", signature="xid", text="the root")
    lines = _lines(_with_verdict(evidence=(*echoes, root)))
    first = next(line for line in lines if line.endswith("]"))
    assert first == "      l:2  the root   [root]"
    assert lines[-1] == "      and 4 more"


def test_a_line_of_the_log_stands_for_the_most_that_it_says() -> None:
    """It may be root, context and echo by three signatures; the order of the others stays."""
    seen = [("l:1", "echo"), ("l:2", "context"), ("l:1", "context"), ("l:1", "root"), ("l:3", "context")]
    evidence = [Evidence(source=source, role=role, signature=role, text="x") for source, role in seen]  # type: ignore[arg-type]  # roles are literals
    assert [(one.source, one.role) for one in each_line_once(evidence)] == [
        ("l:1", "root"), ("l:2", "context"), ("l:3", "context"),
    ]  # fmt: skip
    assert sum("l:1" in line for line in _lines(_with_verdict(evidence=tuple(evidence)))) == 1


def test_no_line_is_wider_than_a_terminal() -> None:
    """Whatever a log holds."""
    evidence = Evidence(source="slurm.log:1", role="root", signature="x", text="y" * 500)
    record = _with_verdict(evidence=(evidence,), summary="z" * 500)
    assert max(map(len, _lines(record))) <= 124


def test_a_script_gets_every_field() -> None:
    """Those that hold their default too, and the ones that are asked for most at the top."""
    answer = as_json(lost_node())
    assert set(IncidentRecord.__struct_fields__) <= set(answer)
    assert answer["class"] == "hardware"
    assert answer["cause"] == "node_unreachable"
    assert answer["nodes"] == ["node003"]
    assert answer["detection_s"] == 2.2
    assert answer["recovery_s"] == 1.8
    assert answer["action"] == "relaunch_on_spare"
    assert answer["nodes_after"] == []
    assert answer["verdict"]["blame"]["ranks"] == []
    assert msgspec.json.decode(msgspec.json.encode(answer), type=IncidentRecord) == lost_node()


def test_a_node_that_must_leave_is_a_blamed_one() -> None:
    """Where the verdict names nobody else."""
    assert as_json(_with_verdict(blame=Blame(), exclude_nodes=(NodeName("node009"),)))["nodes"] == ["node009"]


def test_what_changed_has_lines_of_its_own() -> None:
    """As many as it needs: a cut list would hide the change that counts."""
    what = tuple(f"module_{number}.py:212 eval_batch 4 -> 8" for number in range(6))
    lines = _lines(_with_verdict(changed=Changed(since="job 79990 (completed)", what=what)))
    first = next(at for at, line in enumerate(lines) if line.startswith("    changed   since job 79990 (completed): "))
    assert lines[first + 1].startswith(" " * 14)
    assert all(one in " ".join(map(str.strip, lines)) for one in what)


def test_an_option_is_not_torn_apart() -> None:
    """What was changed is there to be searched for."""
    text = f"{'x' * 80} 0.1 -> 100 --step-seconds-and-more 0.05"
    lines = _lines(_with_verdict(changed=Changed(since="job 1 (completed)", what=(text,))))
    assert any("--step-seconds-and-more" in line for line in lines)
