"""What the system's own words mean in the last lines of a program that no signature knows."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.scan.labels import split_label, writer_of
from supervisor.diagnose.scan.one_log import Scanned
from supervisor.diagnose.scan.progress import progress_of

_WEIGHT: Final = 0.6


@dataclass(frozen=True, slots=True)
class _Meaning:
    cause: str
    words: re.Pattern[str]


_MEANINGS: Final = (
    _Meaning(
        "dns_failure", re.compile(r"\b[Uu]nknown host\b|\bName or service not known\b|\bCould not resolve host\b")
    ),
    _Meaning(
        "fabric_packet_loss",
        re.compile(r"\bpacket loss\W{1,3}(?:[1-9]|0\.0*[1-9])[\d.]* ?%|\b[1-9][\d.]* ?% packet loss\b"),
    ),
    _Meaning(
        "remote_service_unreachable",
        re.compile(r"\b(?:[Ss]erver|https?:|url|URL|port \d|endpoint|database)\b.*\b[Cc]onnection timed out\b"),
    ),
    _Meaning(
        "host_oom",
        re.compile(r"\bCannot allocate memory\b|\b(?i:memory (?:is )?exhausted|not enough memory|out of memory)\b"),
    ),
    _Meaning(
        "process_limit", re.compile(r"\b(?:fork|clone|pthread_create|thread)\b.*\bResource temporarily unavailable\b")
    ),
    _Meaning(
        "shared_fs_outage",
        re.compile(
            r"\bTransport endpoint is not connected\b|\bCannot send after transport endpoint\b|"
            r"\bStale (?:NFS )?file handle\b|\bRemote I/O error\b|\bHost is down\b|"
            r"\bforrtl: (?:Connection timed out|Input/output error)"
        ),
    ),
    _Meaning(
        "license_unavailable",
        re.compile(
            r"(?i:licen[sc]e)\b.*\b(?i:fail\w{0,3}|error|unable|denied|down|expired|not (?:found|available)|refused|"
            r"could not|no more)\b|(?i:\b(?:could not|cannot|failed to|unable to)\b.*\blicen[sc]e\b)"
        ),
    ),
    _Meaning(
        "permission_denied", re.compile(r"\bPermission denied\b|\bOperation not permitted\b|\bRead-only file system\b")
    ),
    _Meaning("fabric_misconfigured", re.compile(r"\bNo route to host\b|\bNetwork is unreachable\b")),
    _Meaning(
        "file_not_found",
        re.compile(
            r"\bNo such file or directory\b|\b(?:[Cc]ould not|[Cc]annot|[Uu]nable to) (?:find|locate|open) (?:the )?"
            r"(?:\w{2,16} )?(?:file|directory|folder)\b|\b[Ff]ile\b.{0,60}\b(?:doesn't|does not) exist\b|"
            r"^[\w./-]{1,200}\.[A-Za-z]\w{1,6} (?:is |was )?not found\b"
        ),
    ),
)
_HARMLESS: Final = re.compile(
    r"\b(?:WARN(?:ING)?|INFO|DEBUG)\b|\b[Ww]arning\b|skipping|gnoring|gnored|retrying|fall(?:s|ing) back|^\+ |"
    r"dlerror|^W (?:tensorflow|external)/|\binstead$|"
    r"\brm: |\bfind: |\bstty: |\bbashrc\b|\bprofile\b",
)


def told_by_the_system(case: Case) -> None:
    """No root, and the last line that passes on an error of the system: that one."""
    if case.roots() or any(one.cause for one in case.findings if one.role == "echo"):
        return
    judged = {one.text for one in case.findings if one.cause}  # as caught, or printed by a finalizer
    for index, log in enumerate(case.scanned):
        if log.log.kind != "kernel" and (found := _last(log, index, judged)):
            case.findings.append(found)
            return


def _last(log: Scanned, index: int, judged: Collection[str]) -> Finding | None:
    for at in range(len(log.end) - 1, -1, -1):
        line = log.end[at]
        cause = "" if line in judged or _HARMLESS.search(line) else _meaning(line)
        if cause and not _went_on(log.end[at + 1 :]):
            number = log.end_at[at]
            writer = writer_of(line)
            return Finding(
                signature="system_in_words",
                role="root",
                cause=cause,
                weight=_WEIGHT,
                source=f"{log.log.name}:{number}",
                text=line,
                order=(index, number),
                rank=writer.rank if writer.rank is not None else log.log.rank,
                node=writer.node or log.log.node,
            )
    return None


def _meaning(line: str) -> str:
    return next((one.cause for one in _MEANINGS if one.words.search(line)), "")


def _went_on(later: Sequence[str]) -> bool:
    return any(progress_of(0, split_label(one)[1]) for one in later)
