"""Jobs and nodes read through pyslurm, where the installed one was built for the running Slurm.

A release of pyslurm fits exactly one major.minor of Slurm; with another one it is never imported. Up to 22.05 it speaks
in dicts, later in objects. Whatever it cannot answer, or not in time, is asked on the command line.
"""

import asyncio
import importlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from importlib import metadata
from threading import Thread
from typing import Any, Final, TypeVar

from supervisor.errors import SlurmFailed
from supervisor.model.facts import JobFacts, NodeState
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.client import Slurm
from supervisor.slurm.hostlist import expand
from supervisor.slurm.parse import parse_release, parse_state, parse_time

PATIENCE_S: Final = 1.0
"""For one answer of the library, which has no deadline of its own; the rest of the caller's is the command line's."""
Answer = TypeVar("Answer")


def installed_pyslurm() -> str | None:
    """The version of pyslurm that is installed, without importing it."""
    try:
        return metadata.version("pyslurm")
    except metadata.PackageNotFoundError:
        return None


class PyslurmSlurm(Slurm):
    """`Slurm`, but jobs and nodes are read in this process where that is possible."""

    def __init__(
        self,
        *,
        installed: Callable[[], str | None] = installed_pyslurm,
        load: Callable[[str], Any] = importlib.import_module,  # Any: pyslurm publishes no types
        **command_line: Any,  # Any: passed to `Slurm` as it is
    ) -> None:
        super().__init__(**command_line)
        self._installed = installed
        self._load = load
        self._is_usable: bool | None = None

    async def job(self, job: JobId, *, deadline_s: float) -> JobFacts:
        """The job as Slurm sees it now; a task of an array or part of a heterogeneous job by command line."""
        began = self._now()
        if job.isdigit():
            found = await self._read_here(lambda library: read_job(library, job), deadline_s)
            if found is not None:
                return found
        return await super().job(job, deadline_s=deadline_s - (self._now() - began))

    async def nodes(self, names: Iterable[NodeName], *, deadline_s: float) -> tuple[NodeState, ...]:
        """The state of these nodes."""
        began, wanted = self._now(), tuple(names)
        found = await self._read_here(lambda library: read_nodes(library, wanted), deadline_s) if wanted else ()
        if found is not None:
            return found
        return await super().nodes(wanted, deadline_s=deadline_s - (self._now() - began))

    async def _read_here(self, read: Callable[[Any], Answer | None], deadline_s: float) -> Answer | None:
        """The library's answer; None where there is no fitting one, or it had none to give."""
        if self._is_usable is None:
            self._is_usable = await self._fits(deadline_s)
        if not self._is_usable:
            return None
        self.calls.by_program["pyslurm"] += 1
        try:
            async with asyncio.timeout(min(PATIENCE_S, deadline_s)):
                return await asyncio.wrap_future(_in_thread(lambda: read(self._load("pyslurm"))))
        except TimeoutError:
            self._is_usable = False  # a thread that hangs in C cannot be stopped: no second one
        except Exception:  # noqa: BLE001  # the whole library is one component, and the command line stands behind it
            self.calls.failed += 1
        return None

    async def _fits(self, deadline_s: float) -> bool:
        version = self._installed()
        if version is None:
            return False
        try:
            running = (await self.config(deadline_s=deadline_s)).version
        except SlurmFailed:
            return False
        return parse_release(version) == parse_release(running)


def read_job(library: Any, job: JobId) -> JobFacts | None:
    """The job by either interface of pyslurm; None for what it tells in another form than Slurm's commands do.

    That is a task of an array, a part of a heterogeneous job and, by the newer interface, a job with a dependency.
    """
    if hasattr(library, "Job"):
        loaded = library.Job.load(int(job))
        is_plain = not (loaded.array_id or loaded.heterogeneous_id or loaded.dependencies)
        return _from_object(loaded) if is_plain else None
    records = library.job().find_id(job)
    alone = len(records) == 1 and not records[0].get("array_job_id") and not records[0].get("het_job_id")
    return _from_dict(records[0]) if alone else None


def read_nodes(library: Any, names: Iterable[NodeName]) -> tuple[NodeState, ...]:
    """The nodes by either interface of pyslurm; an unknown name raises the library's own error."""
    if hasattr(library, "Node"):
        loaded = [(name, library.Node.load(name)) for name in names]
        return tuple(parse_state(name, node.state, node.reason or "") for name, node in loaded)
    records = [(name, library.node().get_node(name)[name]) for name in names]
    return tuple(parse_state(name, record["state"], record["reason"] or "") for name, record in records)


def _from_dict(record: Mapping[str, Any]) -> JobFacts:
    return JobFacts(
        job_id=JobId(str(record["job_id"])),
        state=record["job_state"],
        reason=record["state_reason"] or "None",
        nodes=expand(record["nodes"] or ""),
        batch_host=_name(record["batch_host"]),
        restarts=record["restart_cnt"],
        start_time=_time(record["start_time"]),
        end_time=_time(record["end_time"]),
        preempt_time=parse_time(record.get("preempt_time") or ""),
        time_limit_s=_minutes(record["time_limit"]),
        partition=record["partition"] or "",
        qos=record.get("qos") or "",
        requeue=record["requeue"],
        std_out=record["std_out"] or "",
        std_err=record["std_err"] or record["std_out"] or "",
        dependency=record["dependency"] or "",
        comment=record["comment"] or "",
        exclude=",".join(record["exc_nodes"] or ()),
        required=",".join(record["req_nodes"] or ()),
    )


def _from_object(job: Any) -> JobFacts:
    return JobFacts(
        job_id=JobId(str(job.id)),
        state=job.state,
        reason=job.state_reason or "None",
        nodes=expand(job.allocated_nodes or ""),
        batch_host=_name(job.batch_host),
        restarts=job.requeue_count,
        start_time=_time(job.start_time),
        end_time=_time(job.end_time),
        preempt_time=_time(job.preempt_time),
        time_limit_s=_minutes(job.time_limit),
        partition=job.partition or "",
        qos=job.qos or "",
        requeue=job.is_requeueable,
        std_out=job.standard_output or "",
        std_err=job.standard_error or job.standard_output or "",
        comment=job.comment or "",
        exclude=job.excluded_nodes or "",
        required=job.required_nodes or "",
    )


def _name(text: str | None) -> NodeName | None:
    return NodeName(text) if text else None


def _time(at: int | None) -> float | None:
    """Epoch seconds; 0 is how Slurm says that there is no such time."""
    return float(at) if at else None


def _minutes(limit: int | str | None) -> float | None:
    """Seconds of a limit in minutes; a word such as UNLIMITED is none."""
    return limit * 60.0 if isinstance(limit, int) else None


def _in_thread(call: Callable[[], Answer]) -> "Future[Answer]":
    """The call's answer from a thread that does not hold up the end of this process."""
    answer: Future[Answer] = Future()
    answer.set_running_or_notify_cancel()

    def work() -> None:
        try:
            answer.set_result(call())
        except Exception as exc:  # noqa: BLE001  # handed to whoever waits
            answer.set_exception(exc)

    Thread(target=work, name="pyslurm", daemon=True).start()
    return answer
