"""One look at a node: what may hang, asked beside each other and each within the deadline."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import msgspec

from supervisor.hooks import host, kernel_signs, told
from supervisor.hooks.bounded import Answer, gather
from supervisor.hooks.host import Strays
from supervisor.hooks.job import Job, clean
from supervisor.hooks.kernel_signs import KernelSign
from supervisor.hooks.settings import HookSettings
from supervisor.model.base import Fact
from supervisor.model.node import FullPlace, Told
from supervisor.telemetry import kernel_log
from supervisor.telemetry.gpu import nvml_state
from supervisor.telemetry.gpu.state import NodeGpus
from supervisor.telemetry.kernel_log import KernelLine

_T = TypeVar("_T")
_NO_NUMBER: Final = -1


class Marks(Fact, frozen=True, kw_only=True):
    """Where a later look goes on."""

    boot_id: str = ""
    kernel_number: int = _NO_NUMBER
    oom_kills: int | None = None


class KernelSpan(Fact, frozen=True, kw_only=True):
    """The kernel's log after a mark."""

    signs: tuple[KernelSign, ...] = ()
    last: int = _NO_NUMBER
    is_cut: bool = False
    """Lines right after the mark are gone."""


class Reading(Fact, frozen=True, kw_only=True):
    """All that was read. None is what gave no answer, or is not there: `unread` tells the first from the second."""

    at: float
    marks: Marks = Marks()
    uptime_s: float | None = None
    gpus: NodeGpus | None = None
    """Without anything in it where there is no NVML."""
    kernel: KernelSpan | None = None
    places: tuple[FullPlace, ...] | None = None
    strays: Strays | None = None
    holders: dict[str, int] = msgspec.field(default_factory=dict)
    """Pid that computes on a GPU: its uid."""
    told: tuple[Told, ...] = ()
    unread: tuple[str, ...] = ()

    def also_unread(self, complaints: tuple[str, ...]) -> "Reading":
        """The same, with what else could not be read."""
        return msgspec.structs.replace(self, unread=(*complaints, *self.unread))


Look = Callable[[Marks], Reading]
"""One look at the node, from where the look before has ended."""


class _Basics(Fact, frozen=True, kw_only=True):
    boot_id: str
    uptime_s: float
    oom_kills: int | None


class _Gpus(Fact, frozen=True, kw_only=True):
    """NVML's word, and who the processes are that it names."""

    gpus: NodeGpus
    holders: dict[str, int] = msgspec.field(default_factory=dict)


def read(before: Marks, *, settings: HookSettings, job: Job, deadline_s: float, with_strays: bool) -> Reading:
    """A `Look`; what gives no answer within the deadline is told in `unread`."""
    now = time.time()
    calls: dict[str, Callable[[], bytes]] = {
        "basics": lambda: msgspec.json.encode(_basics()),
        "gpus": lambda: msgspec.json.encode(_gpus()),
        "kernel log": lambda: msgspec.json.encode(_kernel(settings.kernel_log, before)),
        "other checks": lambda: msgspec.json.encode(told.read_told(settings, node=job.node, now=now)),
        # One each: a dead mount on one path must not hide the other.
        **{path: _place_call(path, settings.full_share) for path in (settings.shm, settings.tmp)},
    }
    if with_strays and job.uid:
        uid = job.uid
        calls["processes"] = lambda: msgspec.json.encode(host.read_strays(uid, job.job_id))
    answers = gather(calls, deadline_s=deadline_s)
    return _reading(answers, now, (settings.shm, settings.tmp))


def _reading(answers: dict[str, Answer], now: float, paths: tuple[str, ...]) -> Reading:
    basics, gpus = _decoded(answers, "basics", _Basics), _decoded(answers, "gpus", _Gpus)
    kernel = _decoded(answers, "kernel log", KernelSpan)
    places = [place for path in paths if (place := _decoded(answers, path, FullPlace))]
    return Reading(
        at=now,
        marks=Marks(
            boot_id=basics.boot_id if basics else "",
            kernel_number=kernel.last if kernel else _NO_NUMBER,
            oom_kills=basics.oom_kills if basics else None,
        ),
        uptime_s=basics.uptime_s if basics else None,
        gpus=gpus.gpus if gpus else None,
        holders=gpus.holders if gpus else {},
        kernel=kernel,
        places=tuple(places) if places else None,
        strays=_decoded(answers, "processes", Strays),
        told=_decoded(answers, "other checks", tuple[Told, ...]) or (),
        unread=tuple(
            clean(f"{name}: {answer.complaint}", 200) for name, answer in answers.items() if answer.value is None
        ),
    )


def _decoded(answers: dict[str, Answer], name: str, kind: type[_T]) -> _T | None:
    answer = answers.get(name)
    if answer is None or answer.value is None:
        return None
    return msgspec.json.decode(answer.value, type=kind)


def _place_call(path: str, full_share: float) -> Callable[[], bytes]:
    def call() -> bytes:
        place = host.fullness(path)
        return msgspec.json.encode(host.biggest_owner(place) if place.used_share >= full_share else place)

    return call


def _basics() -> _Basics:
    return _Basics(boot_id=host.boot_id(), uptime_s=host.uptime_s(), oom_kills=host.oom_kills())


def _gpus() -> _Gpus:
    gpus = nvml_state.sample() or NodeGpus()
    pids = {process.pid for gpu in gpus.gpus.values() for process in gpu.processes or ()}
    if not pids:
        return _Gpus(gpus=gpus)
    return _Gpus(gpus=gpus, holders={str(each.pid): each.uid for each in host.processes() if each.pid in pids})


def _kernel(path: str, before: Marks) -> KernelSpan:
    first = last = _NO_NUMBER

    def lines() -> Iterator[KernelLine]:
        nonlocal first, last
        for line in kernel_log.lines(path):
            first, last = line.number if first == _NO_NUMBER else first, line.number
            yield line

    after = _mark(before)
    found = kernel_signs.signs(lines(), after=sys.maxsize if after is None else after)
    return KernelSpan(signs=found, last=last, is_cut=after is None or first > after + 1)


def _mark(before: Marks) -> int | None:
    """The number after which all is new. None: nobody knows, and an Xid of last month, long mended, must not count."""
    if before.boot_id and before.boot_id != host.boot_id():
        return _NO_NUMBER  # numbers from before a reboot mean nothing: all of this boot is new
    return before.kernel_number if before.boot_id and before.kernel_number >= 0 else None
