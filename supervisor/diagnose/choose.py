"""Which finding is the root: planned beats noise, an earlier fault beats planned, the first fault beats later ones."""

from collections.abc import Sequence
from typing import Final

from supervisor.diagnose.findings import Finding, failures
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_VAGUE: Final = "node_unreachable"
_CLOSE: Final = 0.12
"""Findings whose weights differ by less are equally good: then the earliest counts."""


def choose(findings: Sequence[Finding]) -> Finding | None:
    """The root among all findings; None where none shows a cause."""
    roots = [one for one in findings if one.role == "root" and one.cause]
    planned = [one for one in roots if cause(one.cause).cls is Class.PLANNED]
    faults = [one for one in roots if cause(one.cause).cls is not Class.PLANNED]
    if planned and not _fault_came_first(list(findings), planned, faults):
        return max(planned, key=lambda one: one.weight)
    if faults:
        return first_of_best(faults)
    echoes = [one for one in findings if one.role == "echo" and one.cause]
    return max(echoes, key=lambda one: one.weight) if echoes else None


def first_of_best(faults: list[Finding]) -> Finding:
    """The earliest of those that are nearly as sure as the surest."""
    best = max(one.weight for one in faults)
    close = [one for one in faults if one.weight >= best - _CLOSE]
    if any(one.cause == _VAGUE for one in close):
        # A lost node is what is seen from outside; what its own hardware said before tells why.
        close = [one for one in close if one.cause != _VAGUE and cause(one.cause).cls is Class.HARDWARE] or close
    if all(one.time is not None for one in close):
        return min(close, key=lambda one: (one.time, one.order))
    # Facts stand before logs: a node that a probe found dead explains what its ranks' peers say.
    return min(close, key=lambda one: (one.source != "facts.json", one.order))


def _fault_came_first(findings: list[Finding], planned: list[Finding], faults: list[Finding]) -> bool:
    """A task had failed, and a fault was seen, before the planned end began. A completed job has no fault."""
    if any(one.cause == "completed" for one in planned):
        return False
    lines = [one for one in planned if one.order != (0, 0)]
    if any(one.signature == "cancelled" for one in planned) or not faults:
        return False
    failed = list(failures(findings))
    if not lines:
        # Only a state tells of the plan. CANCELLED after a task had failed: somebody tidied up.
        return bool(failed) and all(one.cause == "user_cancel" for one in planned)
    return any(_is_before(fault, plan) for fault in faults for plan in lines) and any(
        _is_before(failure, plan) for failure in failed for plan in lines
    )


def _is_before(one: Finding, other: Finding) -> bool:
    """By their times where both have one, else by their lines in the same log; unknown is not before."""
    if one.time is not None and other.time is not None:
        return one.time < other.time
    return one.order[0] == other.order[0] and one.order < other.order
