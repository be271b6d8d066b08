"""What a node's own files say: processes of a user, memory and disk in use, processes killed for want of memory."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from supervisor.hooks.job import clean
from supervisor.model.base import Fact
from supervisor.model.node import FullPlace, StrayProcess

_MOST_STRAY: Final = 20
_MOST_ENTRIES: Final = 20_000
_MEGABYTE: Final = 1_000_000
_MANAGER: Final = "systemd"
"""The user's own, which outlives sessions where lingering is on; it hangs below process 1."""


class Strays(Fact, frozen=True, kw_only=True):
    """Processes of one user."""

    stray: tuple[StrayProcess, ...] = ()
    count: int = 0
    has_other_job: bool = False
    """The user has another job on this node; which process belongs to which is not asked then."""


class Process(Fact, frozen=True, kw_only=True):
    """One process, as far as anybody may know it."""

    pid: int
    parent: int
    uid: int
    name: str
    state: str


def processes(proc: str = "/proc") -> Iterator[Process]:
    """All of this node. One that ends while it is looked at is left out."""
    for folder in Path(proc).iterdir():
        if folder.name.isdigit():
            try:
                # Not the folder's owner: a process can make that root by asking not to be dumped.
                yield _process(int(folder.name), (folder / "status").read_text(errors="replace"))
            except (OSError, KeyError, ValueError, IndexError):
                continue


def _process(pid: int, status: str) -> Process:
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return Process(
        pid=pid,
        parent=int(facts["PPid"]),
        uid=int(facts["Uid"].split()[0]),
        name=facts["Name"],
        state=facts["State"][0],
    )


def strays_of(uid: int, job_id: int, everything: list[Process], titles: dict[int, str]) -> Strays:
    """Processes of a user whose job has ended. `titles`: what each slurmstepd (root's) calls itself. Pure."""
    by_pid = {process.pid: process for process in everything}
    own = [each for each in everything if each.uid == uid and each.state not in {"Z", "X"}]
    steps = {pid for pid, title in titles.items() if not _is_step_of(title, job_id)}
    if any(steps & set(_ancestors(each, by_pid)) for each in own):
        return Strays(has_other_job=True)
    managers = {each.pid for each in own if each.name == _MANAGER and each.parent == 1}
    stray = [each for each in own if each.pid not in managers and each.parent not in managers]
    told = tuple(StrayProcess(pid=each.pid, name=clean(each.name, 16), state=each.state) for each in stray)
    return Strays(stray=told[:_MOST_STRAY], count=len(stray))


def _is_step_of(title: str, job_id: int) -> bool:
    """`slurmstepd: [81199.batch]`."""
    return title.partition("[")[2].partition(".")[0].strip("]") == str(job_id)


def _ancestors(process: Process, by_pid: dict[int, Process]) -> Iterator[int]:
    seen: set[int] = set()
    at: Process | None = process
    while at is not None and at.pid not in seen:
        seen.add(at.pid)
        yield at.parent
        at = by_pid.get(at.parent)


def read_strays(uid: int, job_id: int, proc: str = "/proc") -> Strays:
    """The same, read."""
    everything = list(processes(proc))
    titles = {}
    for each in everything:
        # Only root's process may say that it is Slurm's.
        if each.uid == 0 and each.name == "slurmstepd":
            try:
                titles[each.pid] = Path(proc, str(each.pid), "cmdline").read_bytes()[:200].decode(errors="replace")
            except OSError:
                continue
    return strays_of(uid, job_id, everything, titles)


def oom_kills(vmstat: str = "/proc/vmstat") -> int | None:
    """Processes killed for want of memory since the node booted; None where the kernel does not count them."""
    for line in Path(vmstat).read_text(encoding="ascii").splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return None


def boot_id() -> str:
    """Of this boot of the kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def uptime_s() -> float:
    """Since the node booted."""
    return float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])


def fullness(path: str) -> FullPlace:
    """How full a filesystem is; one that counts no blocks is empty."""
    facts = os.statvfs(path)
    share = 1 - facts.f_bavail / facts.f_blocks if facts.f_blocks else 0.0
    return FullPlace(path=path, used_share=round(share, 4))


def biggest_owner(place: FullPlace) -> FullPlace:
    """With who owns most of what lies at the top of it. Nothing is opened and no link followed."""
    by_uid: dict[int, int] = {}
    with os.scandir(place.path) as entries:
        for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                by_uid[found.st_uid] = by_uid.get(found.st_uid, 0) + found.st_blocks * 512
    if not by_uid:
        return place
    uid = max(by_uid, key=lambda each: by_uid[each])
    return FullPlace(path=place.path, used_share=place.used_share, owner_uid=uid, owner_mb=by_uid[uid] // _MEGABYTE)
