"""What an ended job has left behind on its node. Pure."""

from collections.abc import Iterator

from supervisor.hooks.job import Job
from supervisor.hooks.reading import Reading
from supervisor.hooks.settings import HookSettings
from supervisor.model.node import FullPlace, GpuHolder, Leftovers, NodeFinding
from supervisor.telemetry.gpu.state import GpuState, NodeGpus


def leftovers(reading: Reading, before: Reading | None, job: Job, settings: HookSettings) -> Leftovers:
    """Of the job; where its user has another job on the node, what that may hold is not counted."""
    strays = reading.strays
    return Leftovers(
        stray=None if strays is None else strays.stray,
        stray_count=strays.count if strays else 0,
        gpu_memory=_gpu_memory(reading, before.gpus if before else None, job, settings),
        full=full_places(reading, settings),
    )


def full_places(reading: Reading, settings: HookSettings) -> tuple[FullPlace, ...] | None:
    """Those that are full; None where none could be looked at."""
    if reading.places is None:
        return None
    return tuple(place for place in reading.places if place.used_share >= settings.full_share)


def _gpu_memory(
    reading: Reading, before: NodeGpus | None, job: Job, settings: HookSettings
) -> tuple[GpuHolder, ...] | None:
    if reading.gpus is None:
        return None
    found: list[GpuHolder] = []
    for index, gpu in reading.gpus.gpus.items():
        found += _held(gpu, reading, job)
        if gpu.processes == () and _is_jobs(gpu, job):
            was = before.gpus.get(index) if before else None
            found += _leaked(gpu, was, settings)
    return tuple(found)


def _is_jobs(gpu: GpuState, job: Job) -> bool:
    return job.gpus is not None and gpu.minor in job.gpus


def _held(gpu: GpuState, reading: Reading, job: Job) -> Iterator[GpuHolder]:
    """By processes. Where Slurm does not say whose the device is, only the job's own user counts."""
    for process in gpu.processes or ():
        uid = reading.holders.get(str(process.pid))
        is_own = uid is not None and uid == job.uid
        if is_own and reading.strays is not None and reading.strays.has_other_job:
            continue
        if is_own or _is_jobs(gpu, job):
            yield GpuHolder(gpu=gpu.uuid, mib=process.used_mib, pid=process.pid, uid=uid)


def _leaked(gpu: GpuState, was: GpuState | None, settings: HookSettings) -> Iterator[GpuHolder]:
    """By nobody: the driver did not get back what it gave."""
    if was is None or was.uuid != gpu.uuid or was.mem_used_mib is None or gpu.mem_used_mib is None:
        return
    if was.processes == () and gpu.mem_used_mib - was.mem_used_mib > settings.leaked_gpu_mib:
        yield GpuHolder(gpu=gpu.uuid, mib=gpu.mem_used_mib - was.mem_used_mib)


def of_leftovers(left: Leftovers) -> Iterator[NodeFinding]:
    """Which rules they break."""
    if stuck := [each for each in left.stray or () if each.state == "D"]:
        text = f"process {stuck[0].pid} ({stuck[0].name}) of the job's user cannot be killed (state D)"
        yield NodeFinding(level="suspect", rule="stuck_process", cause="node_misconfigured", text=text)
    elif left.stray_count:
        text = f"processes of the job's user that live on: {left.stray_count}, first {_first(left)}"
        yield NodeFinding(level="watch", rule="stray_process", text=text)
    for holder in left.gpu_memory or ():
        by = f"process {holder.pid} of uid {holder.uid}" if holder.pid else "no process that the driver knows"
        text = f"{holder.mib or 'some'} MiB held by {by}"
        yield NodeFinding(level="suspect", rule="gpu_memory_held", cause="gpu_occupied", gpu=holder.gpu, text=text)


def _first(left: Leftovers) -> str:
    return f"{left.stray[0].pid} ({left.stray[0].name})" if left.stray else ""


def of_places(places: tuple[FullPlace, ...] | None, settings: HookSettings) -> Iterator[NodeFinding]:
    """A full /dev/shm or /tmp fails the next job."""
    for place in places or ():
        owner = "" if place.owner_uid is None else f", {place.owner_mb} MB of it of uid {place.owner_uid}"
        text = f"{place.path} is {place.used_share:.0%} full{owner}"
        rule, cause = ("shm_full", "shm_exhausted") if place.path == settings.shm else ("tmp_full", "no_space_left")
        yield NodeFinding(level="suspect", rule=rule, cause=cause, text=text)
