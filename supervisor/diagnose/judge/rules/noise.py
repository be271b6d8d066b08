"""What looks like a cause and is none: caught exceptions, other jobs' nodes, processes that were told to end."""

import re
from collections import defaultdict
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case, short
from supervisor.diagnose.taxonomy import cause
from supervisor.model.ids import Rank
from supervisor.model.verdict import Class

_TOLD_S: Final = 1.0
_CAUGHT: Final = re.compile(
    r"\bcaught\b(?! (?:signal|collective|exception in|error: [^\n]{0,40}\bsignal \d))|\(caught|, skipp(?:ed|ing)\b|"
    r"\bskipping (?:it|this|config|bad|broken|corrupt\w{0,4}|shard|sample|file|batch|record)\b|"
    r"\b(?:retry|attempt) (\d{1,3})(?:/| of )(?!\1\b)\d|: going to /\S{1,60} instead|"
    r"\btrying (?:batch|again|a smaller|with)|"
    r"\bfall(?:s|ing)? back\b|\(ignored\)|\bignoring\b|\bwill retry\b|\bretrying\b",
    re.IGNORECASE,
)
_BESIDE: Final = 40
"""Lines between a failure and the word that it was caught."""
_BEFORE_S: Final = 600.0
_START: Final = frozenset(
    {
        "command_not_found",
        "permission_denied",
        "import_error",
        "file_not_found",
        "fabric_misconfigured",
        "library_version_incompat",
        "invalid_account",
        "license_unavailable",
        "port_in_use",
        "container_pull_failed",
        "node_misconfigured",
        "dns_failure",
        "credentials_expired",
        "compile_failure",
    }
)
"""Causes that keep a program from starting."""
_WARNED: Final = re.compile(r":\d{1,6}: \w{0,40}Warning: ")
"""Python's own form of a warning: the program goes on after it."""
_OF_LIBRARY: Final = re.compile(r"(?:site|dist)-packages/|/(?:PIL|torch|torchvision|transformers)/")
"""A library warns of what it meets every day; the program's own code of what it may fail of."""
_OF_DEVICES: Final = ("cuda_", "gpu_", "driver_", "nvlink_", "device_")
"""Causes that a warning about a device may explain."""
_SHELL: Final = re.compile(
    r"^slurmstepd: error: Unable to create TMPDIR |"
    r"^(?:cp|mv|rm|ls|ln|cat|cd|mkdir|rmdir|chmod|chown|find|df|du|head|tail|touch|which|stat|source|readlink): |"
    r"^(?:/bin/)?(?:ba|z|k)?sh: [^\n]{0,200}: No such file or directory$"
)
_NEXT_COMMANDS: Final = 3
"""So many lines below show that it did not end there."""
_GOES_ON: Final = frozenset({"module_not_found", "conda_not_ready"})
"""After these a script goes on with its next command."""
_MUCH_LATER: Final = 300
"""Lines."""


def caught(case: Case) -> None:
    """An exception after which its writer went on working was caught (three reports of progress follow it)."""
    case.change(
        lambda one: one.went_on and one.role == "root" and one.scope != "job" and not _is_device(one), role="context"
    )


def said_caught(case: Case) -> None:
    """The line itself says that the failure was caught: skipped, retried, with something else in its place."""
    case.change(
        lambda one: (
            one.role == "root"
            and not _is_device(one)
            and one.scope == "own"
            and cause(one.cause).cls is not Class.PLANNED
            and bool(_CAUGHT.search(one.text))
        ),
        role="context",
    )


def recovered(case: Case) -> None:
    """GPU memory ran out, the program said that it goes on without that batch, and failed later with something else."""
    for told in case.known("cuda_oom_caught"):
        case.change(lambda one, told=told: _is_recovered(one, told), role="context")  # type: ignore[misc]


def _is_recovered(one: Finding, told: Finding) -> bool:
    is_beside = one.order[0] == told.order[0] and one.rank == told.rank
    return is_beside and one.cause == "cuda_oom" and 0 <= told.order[1] - one.order[1] <= _BESIDE


def survived(case: Case) -> None:
    """What would have kept the program from starting did not: the same writer made steps afterwards."""

    def is_past(one: Finding) -> bool:
        if one.signature in _GOES_ON and (case.made_progress or _is_far_behind(one, case)):  # also by another log
            return True
        return one.role == "root" and one.cause in _START and one.is_line and _worked_after(one, case)

    case.change(is_past, role="context")


def warned(case: Case) -> None:
    """A warning of Python ends nothing. What it says of a device may show why work with the device fails below."""
    told = [one for one in case.roots() if one.is_line and _WARNED.search(one.text)]
    ended = [one for one in case.faults() if one not in told and not one.cause.startswith(_OF_DEVICES)]

    def is_over(one: Finding) -> bool:
        return not one.cause.startswith(_OF_DEVICES) or any(_is_below(each, one) for each in ended)

    over = [one for one in told if is_over(one)]
    case.change([one for one in over if _OF_LIBRARY.search(one.text)], role="context", cause="")
    case.change(over, role="context")


def probed(case: Case) -> None:
    """A library tried whether it can link with another one, and told what the linker said: it goes on without it."""
    tried = {(one.order[0], one.order[1] + below) for one in case.known("linker_probe") for below in range(3)}
    case.change(lambda one: one.cause == "compile_failure" and one.order in tried, role="context", cause="")


def shell_went_on(case: Case) -> None:
    """A command of the job's script found nothing to copy, list or remove, and the script went on with others."""
    last = [one.lines for one in case.scanned]
    case.change(
        lambda one: (
            one.role == "root"
            and one.is_line
            and bool(_SHELL.search(one.text))
            and last[one.order[0]] - one.order[1] > _NEXT_COMMANDS
        ),
        role="context",
    )


def _is_below(one: Finding, other: Finding) -> bool:
    return one.order[0] == other.order[0] and one.order > other.order


def _worked_after(one: Finding, case: Case) -> bool:
    """Its writer's last report of progress comes after it. Other ranks may still report when one has failed."""
    scanned = case.scanned[one.order[0]]
    is_mixed = one.rank is not None and scanned.log.rank is None
    own = [each.line for each in scanned.progress if not is_mixed or each.rank == one.rank]
    return bool(own) and own[-1] > one.order[1]


def _is_far_behind(one: Finding, case: Case) -> bool:
    """So much was written after it that something ran all the same."""
    return one.is_line and case.scanned[one.order[0]].lines - one.order[1] >= _MUCH_LATER


def steps_came(case: Case) -> None:
    """A step that had waited for its resources was created afterwards."""
    came = case.known("srun_step_came")
    if came:
        last = max(one.order for one in came)
        case.change(lambda one: one.signature == "srun_step_waits" and one.order < last, role="context")


def old_kernel_lines(case: Case) -> None:
    """What a kernel said long before the job's first line, or before its last boot, is history."""
    starts = [one.first for one in case.scanned if one.log.kind != "kernel" and one.first]
    known = [stamp.seconds for stamp in starts if not stamp.lacks]
    begin = min(known) - _BEFORE_S if known else None
    boots = {one.order[0]: one.order for one in case.findings if one.signature == "kernel_boot"}

    def is_old(one: Finding) -> bool:
        if one.role != "root" or not one.source.startswith("kernel/") or one.cause == "gpu_repeat_fault":
            return False
        is_booted = (
            one.order[0] in boots and one.order < boots[one.order[0]] and _has_life_after(case, boots[one.order[0]])
        )
        return is_booted or (begin is not None and one.time is not None and one.time < begin)

    case.change(is_old, role="context")


def _has_life_after(case: Case, boot: tuple[int, int]) -> bool:
    """The job ran after that boot: its ranks wrote later than it."""
    at = next((one.time for one in case.findings if one.order == boot), None)
    return at is not None and any(
        one.time is not None and one.time > at + _BEFORE_S
        for one in case.findings
        if not one.source.startswith("kernel/")
    )


def foreign_nodes(case: Case) -> None:
    """What a node outside the job says is another job's."""
    own = {short(node) for node in case.bundle.nodes}
    if not own:
        return
    case.change(
        lambda one: one.role == "root" and one.source.startswith("kernel/") and short(one.node) not in own,
        role="context",
    )


def torn_down(case: Case) -> None:
    """What a rank says after it was told to end (SIGTERM, closing signal) follows from that."""
    told: dict[tuple[Rank | None, int], list[Finding]] = defaultdict(list)
    for one in case.marked("teardown"):
        if one.time is not None and one.rank is not None:
            told[one.rank, one.order[0]].append(one)
    case.change(lambda one: any(_follows(one, each) for each in told.get((one.rank, one.order[0]), ())), role="echo")


def _follows(one: Finding, told: Finding) -> bool:
    if one.role != "root" or _is_device(one):
        return False
    return one.order > told.order and one.time is not None and told.time is not None and one.time >= told.time - _TOLD_S


def _is_device(one: Finding) -> bool:
    return one.source.startswith(("kernel/", "nvml/", "rdma/"))
