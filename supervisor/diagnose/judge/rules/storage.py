"""Storage: silent, answering wrongly, full, or locally broken are five different things (edge rule 1)."""

import re
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case

_NEAR_S: Final = 900.0
_RACES: Final = frozenset({"jit_cache_race", "cache_lock_race"})
_SURE: Final = 0.8
_SILENT: Final = re.compile(
    r"curl: \((?:28|7|56|35)\)|i/o timeout|TLS handshake timeout|connection timed out", re.IGNORECASE
)
_ANSWERED: Final = re.compile(r"\b(?:401|403|404)\b|unauthorized|denied|manifest unknown|not found", re.IGNORECASE)
_IO: Final = re.compile(
    r"file write failed|unexpected pos|Input/output error|Stale file handle|Errno (?:5|11|103|107|108|110|112|116)\b|"
    r"Transport endpoint|Cannot send after transport|Read-only file system|Connection timed out",
    re.IGNORECASE,
)
_EIO: Final = re.compile(r"Input/output error|Errno 5\b|Read-only file system|Errno 30\b")
_CACHE: Final = re.compile(
    r"cache|\.lock\b|/locks?/|\.triton|torchinductor|torch_extensions|indices-|\.incomplete", re.IGNORECASE
)
_LOCAL: Final = re.compile(
    r"/(?:local|scratch/local|localscratch|tmp|nvme\d*|mnt/nvme|raid|ssd|lscratch)\b", re.IGNORECASE
)
_OF_RECORDS: Final = frozenset({"malformed_record", "corrupt_sample", "empty_batch"})
_DATA: Final = frozenset(
    {"corrupt_shard", "corrupt_sample", "malformed_record", "checkpoint_corrupt", "file_not_found"}
)


def lost_server(case: Case) -> None:
    """I/O errors of ranks while the kernel lost the file server: no answer is network, whatever programs call it."""
    silent = [
        one
        for one in case.findings
        if one.cause == "shared_fs_outage" or (one.has("silent_storage") and one.cause not in _RACES)
    ]
    failed = [one for one in case.findings if _IO.search(one.text) and not one.source.startswith("kernel/")]
    if any(one.weight >= _SURE for one in case.of("no_space_left", "quota_exceeded")):
        case.change(lambda one: one.role == "root" and one.cause == "shared_fs_outage", role="echo")
        return
    near = [one for one in silent if not failed or any(_is_near(one, each) for each in failed)]
    if not near or (not failed and not case.of("shared_fs_outage")):
        return
    for one in near[:1]:
        case.change(lambda each, one=one: each is one, role="root", cause="shared_fs_outage", weight=0.92)  # type: ignore[misc]
    case.change(
        lambda one: one.role == "root" and one.cause != "shared_fs_outage" and bool(_IO.search(one.text)), role="echo"
    )


def silent_registry(case: Case) -> None:
    """An image that could not be had because the registry gave no answer: its silence is the cause (edge rule 1)."""
    pulls = case.of("container_pull_failed")
    silent = [one for one in case.findings if one.cause == "remote_service_unreachable" or _SILENT.search(one.text)]
    if pulls and silent and not any(_ANSWERED.search(one.text) for one in case.findings):
        case.change(pulls, role="echo")
        first = silent[0]
        case.change(lambda one: one is first, role="root", cause="remote_service_unreachable", weight=0.88, scope="job")


def local_disk(case: Case) -> None:
    """A local disk that died explains what the loader says of its files: that is no damaged data."""
    dead = case.of("local_disk_failure")
    if not dead:
        return
    nodes = {case.node_of(one) for one in dead}
    case.change(
        lambda one: (
            one.role == "root"
            and (one.cause in _DATA or bool(_IO.search(one.text)))
            and one.cause != "local_disk_failure"
            and case.node_of(one) in nodes | {None}
        ),
        role="echo",
    )


def own_disk(case: Case) -> None:
    """An I/O error on a path of the node's own disk: no file server was asked."""
    told = [one for one in case.of("shared_fs_outage") if _EIO.search(one.text) and is_local_path(one.file or one.text)]
    if told and not any(one.source.startswith("kernel/") for one in case.of("shared_fs_outage")):
        case.change(told, cause="local_disk_failure", weight=0.8)


def damaged_file(case: Case) -> None:
    """A file whose bytes are found to be wrong explains what its reader says of a record in it."""
    for damaged in case.of("corrupt_shard", "checkpoint_corrupt"):
        case.change(
            lambda one, damaged=damaged: (  # type: ignore[misc]
                one.role == "root"
                and one.cause in _OF_RECORDS
                and one.order[0] == damaged.order[0]
                and one.order > damaged.order
            ),
            role="echo",
        )


def stale_cache(case: Case) -> None:
    """A stale handle only under a cache or lock path, while no file server was lost: a peer removed the file."""
    stale = [one for one in case.findings if _is_stale(one)]
    if not stale or case.of("shared_fs_outage") or not all(_CACHE.search(one.text) for one in stale):
        return
    case.change(stale, role="root", cause="cache_lock_race", weight=0.86)


def is_local_path(path: str) -> bool:
    """The path lies on a node's own disk, by the usual names."""
    return bool(_LOCAL.search(path))


def is_cache(path: str) -> bool:
    """The path lies in a cache or is a lock's, by the usual names."""
    return bool(_CACHE.search(path))


def _is_stale(one: Finding) -> bool:
    return "Stale file handle" in one.text or "Errno 116" in one.text or "ESTALE" in one.text


def _is_near(one: Finding, other: Finding) -> bool:
    return one.time is None or other.time is None or abs(one.time - other.time) <= _NEAR_S
