"""What probes, Slurm's states and exit codes prove."""

from collections.abc import Iterator
from typing import Final

from supervisor.diagnose.bundle import Facts
from supervisor.diagnose.findings import Finding

NODE_LOST: Final = "node_lost"
HUNG: Final = "hung"
_STATES: Final = {
    "TIMEOUT": ("walltime", 0.97),
    "DEADLINE": ("walltime", 0.9),
    "PREEMPTED": ("preemption", 0.97),
    "OUT_OF_MEMORY": ("host_oom", 0.9),
    "NODE_FAIL": ("node_unreachable", 0.85),
    "CANCELLED": ("user_cancel", 0.75),
    "COMPLETED": ("completed", 0.97),
}
_REASONS: Final = {"TimeLimit": ("walltime", 0.97)}
_SIGNALS: Final = {11: ("segfault", 0.6), 4: ("illegal_instruction", 0.6)}
_CODES: Final = {127: ("command_not_found", 0.6), 126: ("command_not_found", 0.5)}
_SHELL_SIGNAL: Final = 128
_LIVING: Final = ("", "RUNNING", "COMPLETING")
"""States in which Slurm has no opinion yet on how the job ended."""


def find(facts: Facts) -> Iterator[Finding]:
    """Findings of what is known beside logs. Signal KILL and most exit codes prove nothing."""
    for node in facts.lost_nodes:
        text = f"{node} does not answer, while others do"
        yield Finding(
            cause="node_unreachable",
            role="root",
            weight=0.95,
            source="facts.json",
            signature=NODE_LOST,
            text=text,
            node=node,
        )
    if facts.hung_s is not None:
        yield _finding(("deadlock", 0.6), HUNG, f"all ranks live and none has moved for {facts.hung_s:.0f} s")
    if facts.is_cancelled:
        yield _finding(("user_cancel", 0.96), "cancelled", "the job was cancelled")
    if facts.preempt_time:
        yield _finding(("preemption", 0.97), "preempt_time", "Slurm has set a time of preemption")
    yield from _of_slurm(facts)
    yield from _of_exit(facts)


def _of_slurm(facts: Facts) -> Iterator[Finding]:
    state = (facts.job_state.split() or [""])[0].rstrip("+")
    if state == "COMPLETED" and (facts.exit_code or facts.exit_signal):
        yield _finding(("completed", 0.5), "job_state", "job state COMPLETED, though its exit code is not 0")
    elif state in _STATES:
        yield _finding(_STATES[state], "job_state", f"job state {state}")
    if facts.job_reason in _REASONS:
        yield _finding(_REASONS[facts.job_reason], "job_reason", f"reason {facts.job_reason}")


def _of_exit(facts: Facts) -> Iterator[Finding]:
    code, signal = facts.exit_code, facts.exit_signal
    if code is not None and code > _SHELL_SIGNAL:
        signal, code = code - _SHELL_SIGNAL, None
    if code == 0 and facts.job_state in _LIVING:
        yield _finding(("completed", 0.95), "exit_code", "the script ended with 0")
    elif code in _CODES:
        yield _finding(_CODES[code], "exit_code", f"the script ended with {code}")
    elif signal in _SIGNALS:
        yield _finding(_SIGNALS[signal], "exit_signal", f"the script ended by signal {signal}")


def _finding(what: tuple[str, float], signature: str, text: str) -> Finding:
    cause, weight = what
    return Finding(cause=cause, role="root", weight=weight, source="facts.json", signature=signature, text=text)
