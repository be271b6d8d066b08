"""Who is to blame: the one that others complain of, and no node that only complains."""

from pathlib import Path
from typing import Final

import pytest

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.model.verdict import Verdict

_JOB: Final = '{"nodes": ["n1", "n2", "n3"], "ranks": {"0": {"node": "n1"}, "8": {"node": "n2"}, "16": {"node": "n3"}}}'
_STEPS: Final = "".join(f"2026-03-01 10:00:0{n} step {n} loss 2.1\n" for n in range(3))
_WAITED: Final = (
    "[rank{rank}]:[E301 10:10:05.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600010 ms\n"
)


def _verdict(folder: Path, files: dict[str, str]) -> Verdict:
    for name, text in {"job.json": _JOB, **files}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return diagnose(read_bundle(folder))


@pytest.mark.parametrize(
    "line",
    [
        "n1:5:6 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer n2<5> with status=12 opcode=0\n",
        (
            "(raylet) The node with node id: 3f and address: 10.0.0.2 and node name: n2 has been marked dead "
            "because the detector has missed too many heartbeats from it.\n"
        ),
    ],
)
def test_a_complaint_is_about_the_peer(line: str, tmp_path: Path) -> None:
    """The writer is the victim."""
    assert _verdict(tmp_path, {"ranks/0.log": _STEPS + line}).blame.nodes == ("n2",)


def test_an_unknown_peer_blames_nobody(tmp_path: Path) -> None:
    """The address is nobody's whom the logs know: the node that complains does not leave for it."""
    line = "n1:5:6 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.9.9.9<5> with status=12\n"
    verdict = _verdict(tmp_path, {"ranks/0.log": _STEPS + line})
    assert (verdict.blame.nodes, verdict.exclude_nodes) == ((), ())


def test_both_ends_of_a_link_complain(tmp_path: Path) -> None:
    """Without a word of kernel or counters nobody knows whose NVLink it is: no node leaves."""
    line = "RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error\n"
    verdict = _verdict(tmp_path, {"ranks/0.log": _STEPS + line, "ranks/8.log": _STEPS + line})
    assert (verdict.cause, verdict.exclude_nodes) == ("nvlink_fault", ())


def test_who_waited_is_not_to_blame(tmp_path: Path) -> None:
    """Only the node of the rank that did not come."""
    waited = {f"ranks/{rank}.log": _STEPS + _WAITED.format(rank=rank) for rank in (0, 16)}
    verdict = _verdict(tmp_path, {**waited, "ranks/8.log": _STEPS})
    assert (verdict.cause, verdict.blame.nodes) == ("nccl_timeout_unattributed", ("n2",))


def test_all_waited(tmp_path: Path) -> None:
    """Nobody is known to be late, so nobody is blamed."""
    waited = {f"ranks/{rank}.log": _STEPS + _WAITED.format(rank=rank) for rank in (0, 8, 16)}
    assert _verdict(tmp_path, waited).blame.nodes == ()


def test_a_rank_that_watches_others(tmp_path: Path) -> None:
    """The first rank's log names the node that is ill: that one, not the writer's."""
    line = "monitor: host n3 is 3.1x slower than its peers\n"
    assert _verdict(tmp_path, {"ranks/0.log": _STEPS + line}).blame.nodes == ("n3",)


def test_settings_that_nobody_compared(tmp_path: Path) -> None:
    """One rank has a wrong interface, and no other node was heard: it may be set so everywhere."""
    line = "n1:1:2 [0] NCCL WARN Bootstrap : no socket interface found\n"
    verdict = _verdict(tmp_path, {"ranks/0.log": line})
    assert (verdict.cause, verdict.exclude_nodes) == ("fabric_misconfigured", ())


def test_a_crash_is_never_quite_sure(tmp_path: Path) -> None:
    """Rank, kernel and Slurm all tell of a segmentation fault, and none tells why."""
    verdict = _verdict(
        tmp_path,
        {
            "ranks/8.log": _STEPS + "Fatal Python error: Segmentation fault\n",
            "kernel/n2.log": "[Sun Mar  1 10:00:05 2026] python[81]: segfault at 10 ip 07f sp 07f error 4 in x.so\n",
            "slurm.log": "srun: error: n2: task 8: Segmentation fault (core dumped)\n",
        },
    )
    assert verdict.cause == "segfault"
    assert verdict.confidence <= 0.8
