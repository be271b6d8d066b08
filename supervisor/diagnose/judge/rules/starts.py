"""Ranks that never came together: started in a wrong number, at other addresses, with other versions, or not at all."""

import re
from dataclasses import replace
from itertools import islice
from typing import Final

from supervisor.diagnose.findings import failures
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import last_lines
from supervisor.diagnose.judge.rules.absent import MOST_LINES, complainers, complaints, explain, is_only_waiting

_WEIGHT: Final = 0.56
_SURER: Final = 0.64
_START_CODES: Final = {2: "python_exception", 126: "command_not_found", 127: "command_not_found"}
"""Usage, and the shell's words for a command that cannot be run: no network makes a program end with these."""
_SOUGHT: Final = re.compile(r"\bto connect to (\([\w.:%-]{1,80}, \d{1,5}\))")
_JOINED: Final = re.compile(r"\b(\d{1,7})/(\d{1,7}) clients joined")
_STARTED: Final = re.compile(
    r"(?:\bsrun [^\n]{0,60}?-n ?|\bmpi(?:run|exec)[^\n]{0,60}? -n?p? ?|(?i:(?<![a-z])ntasks|\bnum_processes|"
    r"\bworld[_ ]size|\btasks|\bnproc_per_node|\bnnodes|\bnodes|\bMEMBER: \d{1,6}/)\w{0,10}[=: ]{0,3})(\d{1,7})\b"
)
_NCCL: Final = "NCCL version"
_VERSION: Final = re.compile(r"\b(NCCL version|torch|Open MPI|UCX|jax|libfabric)[ =:v]{1,3}(\d{1,3}(?:\.\d{1,3}){1,3})")


def ended_by_itself(case: Case) -> None:
    """The peer that ranks complain of is where a task had failed, or one that never began: its code tells that."""
    if not is_only_waiting(case):
        return
    there = complainers(case)
    told = " ".join(one.text for one in complaints(case))
    failed = {one.rank for one in failures(case.findings)}
    for one in failures(case.findings):
        if not one.code or one.rank is None or one.rank in there:
            continue
        is_named = len(failed) == 1 and bool(one.node and re.search(rf"(?<![\w-]){re.escape(one.node)}(?![\w-])", told))
        if is_named or one.code in _START_CODES:
            cause = _START_CODES.get(one.code, "python_exception")
            explain(case, replace(one, role="root", cause=cause, weight=_WEIGHT))
            return


def fewer_were_started(case: Case) -> None:
    """All that were started have joined, and the program waits for more: its number of ranks is set wrongly."""
    told = case.known("rendezvous_clients_missing")
    match = next((found for one in told if (found := _JOINED.search(one.text))), None)
    if match is None or not is_only_waiting(case):
        return
    numbers = {number for log in case.scanned for line in log.end for number in _STARTED.findall(line)}
    if match[1] in numbers and match[1] != match[2]:
        case.change(told, cause="collective_mismatch", weight=_SURER)


def other_addresses(case: Case) -> None:
    """Ranks look for their first one at different addresses or ports: it cannot be at all of them."""
    told = case.of("rendezvous_unreachable")
    sought = {found[1] for one in told if (found := _SOUGHT.search(one.text))}
    if len(sought) > 1 and is_only_waiting(case):
        case.change(told, cause="python_exception", weight=_SURER)


def two_versions(case: Case) -> None:
    """Ranks of one job that could not talk to each other run two versions of what they talk with."""
    if case.made_progress or not is_only_waiting(case):
        return
    seen: dict[str, tuple[str, str]] = {}
    for one in islice(last_lines(case), MOST_LINES):
        for what, version in _VERSION.findall(one.text):
            writer = one.text[: one.text.index(what)]
            first = seen.setdefault(what, (version, writer))
            if first[0] != version and (what == _NCCL or first[1] != writer):
                explain(case, replace(one, role="root", cause="library_version_incompat", weight=_SURER))
                return
