"""From evidence to verdict."""

import pytest

from supervisor.diagnose.bundle import Bundle, Facts, Log, Place
from supervisor.diagnose.engine import diagnose
from supervisor.model.ids import NodeName, Rank
from supervisor.model.verdict import Class, Retry, Verdict

_TRACE = [
    "Traceback (most recent call last):",
    '  File "/home/u/train.py", line 388, in collate',
    '    return batch["loss_mask"]',
    "KeyError: 'loss_mask'",
]
_EXIT = "srun: error: node002: task 3: Exited with exit code 1"
_TIME_LIMIT = "slurmstepd-n1: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-30T03:48:37 DUE TO TIME LIMIT ***"


def _verdict(*lines: str, facts: Facts | None = None) -> Verdict:
    return diagnose(Bundle(logs=(Log(name="job.log", lines=lines),), facts=facts or Facts()))


def test_a_lost_node() -> None:
    """A node proven lost is the cause, is blamed and must leave; what its peers print is noise."""
    lines = [
        "[rank0]: torch.distributed.DistBackendError: NCCL error",
        "ConnectionResetError: Connection reset by peer",
    ]
    verdict = _verdict(*lines, facts=Facts(lost_nodes=(NodeName("node003"),)))
    assert (verdict.cls, verdict.cause, verdict.retry) == (Class.HARDWARE, "node_unreachable", Retry.YES)
    assert verdict.blame.nodes == verdict.exclude_nodes == ("node003",)
    assert {one.role for one in verdict.evidence} == {"root", "echo"}


def test_several_lost_nodes() -> None:
    """All of them are blamed and must leave."""
    verdict = _verdict(facts=Facts(lost_nodes=(NodeName("node003"), NodeName("node005"))))
    assert verdict.exclude_nodes == ("node003", "node005")


def test_nodes_that_slurm_names() -> None:
    """A list of nodes in Slurm's short form is blamed node by node."""
    verdict = _verdict("srun: error: Node failure on node[201-203]")
    assert verdict.exclude_nodes == ("node201", "node202", "node203")


def test_an_exception() -> None:
    """An exception without a finer name: class, place, rank's node, no exclusion, no rerun."""
    verdict = _verdict("step 4", *_TRACE, _EXIT)
    assert (verdict.cls, verdict.cause, verdict.retry) == (Class.SOFTWARE, "python_exception", Retry.NO)
    assert verdict.fingerprint == "python_exception|train.py:388:collate|"
    assert verdict.exclude_nodes == ()
    assert "loss_mask" in verdict.summary


@pytest.mark.parametrize(
    ("exception", "cause"),
    [
        ("AssertionError: shapes", "assertion_failed"),
        ("ModuleNotFoundError: No module named 'apex'", "import_error"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/x'", "file_not_found"),
        ("TypeError: unsupported operand", "type_error"),
        ("ZeroDivisionError: division by zero", "division_by_zero"),
        ("OSError: [Errno 28] No space left on device: '/scratch/x'", "no_space_left"),
        ("OSError: [Errno 98] Address already in use", "port_in_use"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.", "cuda_oom"),
        ("PermissionError: [Errno 13] Permission denied: '/data/x'", "permission_denied"),
        ("MemoryError", "host_oom"),
        ("my.lib.StrangeFailure: x", "python_exception"),
    ],
)
def test_finer_causes_of_an_exception(exception: str, cause: str) -> None:
    """The exception's own line gives the finer name, the traceback the fingerprint."""
    verdict = _verdict(*_TRACE[:-1], exception)
    assert verdict.cause == cause
    assert verdict.fingerprint.startswith(f"{cause}|train.py:388:collate|")


def test_the_first_failure_counts() -> None:
    """Of two ranks' exceptions the earlier one is the cause."""
    later = ["[rank5]: " + line for line in [*_TRACE[:-1], "ValueError: x"]]
    verdict = _verdict(*["[rank3]: " + line for line in _TRACE], *later)
    assert verdict.blame.ranks[0] == 3
    assert "loss_mask" in verdict.summary


def test_an_exception_that_was_caught() -> None:
    """Where the program went on afterwards, a traceback is no cause."""
    verdict = _verdict(*_TRACE, "step 5", "step 6", "step 7", "step 8", _EXIT)
    assert verdict.cls is Class.UNKNOWN


def test_what_a_peers_death_makes_others_raise_is_noise() -> None:
    """Exceptions about lost connections and children are echoes: alone they show no cause."""
    verdict = _verdict(*_TRACE[:-1], "torch.distributed.DistBackendError: NCCL error", _EXIT)
    assert verdict.cls is Class.UNKNOWN


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        (("srun: error: node001: task 1: Segmentation fault (core dumped)",), Facts()),
        ((), Facts(exit_code=139)),
        ((), Facts(exit_signal=11)),
        (("Fatal Python error: Segmentation fault",), Facts()),
    ],
)
def test_segfault(lines: tuple[str, ...], facts: Facts) -> None:
    """A crash of native code is worth one more try and blames no node."""
    verdict = _verdict(*lines, facts=facts)
    assert (verdict.cause, verdict.retry, verdict.exclude_nodes) == ("segfault", Retry.ONCE, ())


def test_sigkill_alone_proves_nothing() -> None:
    """A rank killed without a line about memory is not out of memory."""
    verdict = _verdict("srun: error: node001: task 1: Killed", facts=Facts(exit_code=137))
    assert verdict.cls is Class.UNKNOWN


def test_host_memory() -> None:
    """The line about memory does prove it."""
    event = "slurmstepd: error: Detected 1 oom_kill event in StepId=8.0."
    verdict = _verdict("srun: error: node001: task 1: Out Of Memory", event)
    assert (verdict.cause, verdict.blame.ranks, verdict.blame.nodes) == ("host_oom", (1,), ("node001",))


@pytest.mark.parametrize(
    ("facts", "cause", "retry"),
    [
        (Facts(job_state="TIMEOUT"), "walltime", Retry.YES),
        (Facts(job_state="COMPLETING", job_reason="TimeLimit"), "walltime", Retry.YES),
        (Facts(job_state="PREEMPTED"), "preemption", Retry.YES),
        (Facts(job_state="COMPLETING", preempt_time=1.0), "preemption", Retry.YES),
        (Facts(job_state="CANCELLED by 1000"), "user_cancel", Retry.NEVER),
        (Facts(is_cancelled=True), "user_cancel", Retry.NEVER),
        (Facts(job_state="RUNNING", exit_code=0), "completed", Retry.NO),
    ],
)
def test_planned_ends(facts: Facts, cause: str, retry: Retry) -> None:
    """What Slurm says about a planned end, and what a retry of it means."""
    verdict = _verdict("srun: error: node001: tasks 0-3: Terminated", facts=facts)
    assert (verdict.cls, verdict.cause, verdict.retry) == (Class.PLANNED, cause, retry)


def test_planned_beats_noise() -> None:
    """What ranks print while a time limit ends them is noise."""
    verdict = _verdict("step 4", _TIME_LIMIT, *_TRACE, _EXIT)
    assert verdict.cause == "walltime"


def test_an_earlier_fault_beats_planned() -> None:
    """A rank that had failed before the time limit came is the cause: the others only waited for it."""
    verdict = _verdict(*_TRACE, _EXIT, _TIME_LIMIT)
    assert verdict.cause == "python_exception"


def test_a_cancel_that_is_known_is_never_a_fault() -> None:
    """Somebody cancelled: nothing in the log makes a rerun of it."""
    verdict = _verdict(*_TRACE, _EXIT, facts=Facts(is_cancelled=True))
    assert (verdict.cause, verdict.retry) == ("user_cancel", Retry.NEVER)


def test_success_has_no_fault() -> None:
    """A script that ended well had no fault, whatever its ranks printed."""
    assert _verdict(*_TRACE, facts=Facts(exit_code=0)).cause == "completed"


def test_nothing_is_an_honest_unknown() -> None:
    """Without evidence there is no verdict, and the fingerprint still tells how it ended."""
    verdict = _verdict("step 1", "srun: error: node001: task 1: Exited with exit code 7")
    assert (verdict.cls, verdict.cause, verdict.confidence) == (Class.UNKNOWN, "unattributed", 0.0)
    assert verdict.fingerprint == "unattributed|exit 7"
    assert diagnose(Bundle()).fingerprint == "unattributed|"


def test_a_collective_timeout_is_an_echo() -> None:
    """It is named only where nothing else is found, and with little confidence."""
    line = "[rank3]:[E1 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL()"
    alone = _verdict(line)
    assert (alone.cls, alone.cause) == (Class.NETWORK, "nccl_timeout_unattributed")
    assert alone.confidence < 0.5
    assert _verdict(line, *_TRACE).cause == "python_exception"


def test_a_gpu_is_found_by_its_address() -> None:
    """An Xid names a PCI address; the node's GPUs give its index; the node must leave."""
    log = Log(
        name="kernel/node004.log",
        lines=("NVRM: Xid (PCI:0000:9d:00): 48, pid=1, name=python",),
        kind="kernel",
        node=NodeName("node004"),
    )
    verdict = diagnose(Bundle(logs=(log,), nvml={NodeName("node004"): {"gpus": {"3": {"pci": "00000000:9D:00.0"}}}}))
    assert verdict.cause == "gpu_ecc_uncorrectable"
    assert [(one.node, one.gpu) for one in verdict.blame.gpus] == [("node004", 3)]
    assert verdict.exclude_nodes == ("node004",)


def test_a_fault_that_spreads_excludes_the_first_node_only() -> None:
    """Peers of a broken NVLink show the same sign and stay."""
    logs = tuple(
        Log(
            name=f"kernel/{node}.log",
            lines=(f"[2026-01-01T00:00:0{at}] NVRM: Xid (PCI:0000:9d:00): 74",),
            kind="kernel",
            node=NodeName(node),
        )
        for at, node in ((7, "node001"), (3, "node002"))
    )
    assert diagnose(Bundle(logs=logs)).exclude_nodes == ("node002",)


def test_what_the_hardware_said_explains_a_lost_node() -> None:
    """A lost node that had reported heat was shut down by heat."""
    hot = "[2026-01-01T00:00:00] thermal thermal_zone0: critical temperature reached, shutting down"
    log = Log(name="kernel/node001.log", lines=(hot,), kind="kernel", node=NodeName("node001"))
    verdict = diagnose(Bundle(logs=(log,), facts=Facts(lost_nodes=(NodeName("node001"),))))
    assert verdict.cause == "thermal_shutdown"


def test_places_of_ranks() -> None:
    """A rank's node is taken from the job's own table."""
    log = Log(
        name="ranks/3.log", lines=("RuntimeError: CUDA error: uncorrectable ECC error encountered",), rank=Rank(3)
    )
    verdict = diagnose(Bundle(logs=(log,), places={Rank(3): Place(node=NodeName("node009"), gpu=1)}))
    assert verdict.exclude_nodes == ("node009",)


def test_equal_faults_have_equal_fingerprints() -> None:
    """The same exception at the same place on another rank, node and step is the same failure."""
    one = _verdict("step 4", *["[rank3]: " + line for line in _TRACE], _EXIT)
    other = _verdict("step 9", *["[rank7]: " + line for line in _TRACE], _EXIT.replace("002: task 3", "009: task 7"))
    assert one.fingerprint == other.fingerprint


def test_two_lost_nodes_are_two_failures() -> None:
    """Hardware faults are the same only at the same place."""
    prints = {_verdict(facts=Facts(lost_nodes=(NodeName(node),))).fingerprint for node in ("node001", "node002")}
    assert len(prints) == 2


def test_unlabelled_output_of_several_ranks() -> None:
    """Unlabelled output with one traceback gives the frame, and the task that failed gives the rank."""
    lines = ["step 10 loss 0.2", *_TRACE[:2], "step 20 loss 0.1", *_TRACE[2:], _EXIT]
    verdict = _verdict(*lines)
    assert verdict.fingerprint == "python_exception|train.py:388:collate|"
    assert (verdict.blame.ranks, verdict.blame.nodes) == ((3,), ("node002",))
