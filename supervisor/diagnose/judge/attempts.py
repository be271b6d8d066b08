"""A file that several attempts were appended to: the last one counts."""

from collections import defaultdict
from collections.abc import Iterable

from supervisor.diagnose.findings import Finding


def last_attempt(findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Findings of the last attempt, and those of earlier ones. What is no line belongs to the last."""
    by_log: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_log[finding.order[0]].append(finding)
    now: list[Finding] = []
    before: list[Finding] = []
    for index, group in by_log.items():
        begin = _begin(group) if index >= 0 else 0
        for one in group:
            (before if one.order[1] < begin else now).append(one)
    return now, before


def _begin(group: list[Finding]) -> int:
    """The line at which the last attempt begins: after something had ended, something began anew."""
    begin, has_ended, has_failed, is_reported = 0, False, False, False
    for one in sorted(group, key=lambda each: each.order):
        if one.signature == "lsf_report_end":
            is_reported = True
        elif is_reported or (one.has("began") and (has_ended or (has_failed and one.signature == "attempt_heading"))):
            begin, has_ended, has_failed, is_reported = one.order[1], False, False, False
        elif one.code or one.signal or one.has("finished") or one.signature.startswith(("slurm_", "condor_")):
            has_ended = True
        elif one.role == "root":
            has_failed = True
    return begin
