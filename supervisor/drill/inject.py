"""Makes one fault: by a step of its own on the node (`hit`), or by an order to the drill's own trainer."""

import asyncio
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from supervisor.drill import hit
from supervisor.drill.kinds import Kind
from supervisor.drill.record import Injection
from supervisor.drill.trainer import write_whole
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm import commands
from supervisor.slurm.process import Answer, CallCount, run

_STEP_S: Final = 30.0
"""For Slurm to start a step and the step to find its process."""
_ORDER_S: Final = 30.0
_LOOK_S: Final = 0.1
_MEMORY_MB: Final = 128


class NotMade(Exception):
    """The fault could not be made; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Starts steps within a job."""

    env: Mapping[str, str]
    count: CallCount

    async def hit(self, kind: Kind, job: JobId, node: NodeName, wait_s: float) -> Injection:
        """Hit one process on this node, and wait for another in its place where one must come. Raises `NotMade`."""
        answer = await self._run(job, node, [kind.name, job, f"{wait_s:g}"], _STEP_S + wait_s)
        for line in reversed(answer.stdout.splitlines()):
            with suppress(msgspec.MsgspecError):
                return msgspec.json.decode(line, type=Injection)
        if answer.code == hit.NOBODY:
            raise NotMade(f"no process of its kind was found on {node}")
        raise NotMade(f"the step on {node} ended with exit code {answer.code}: {_words(answer)}")

    async def undo(self, injection: Injection, job: JobId) -> None:
        """Let a process go on that was stopped, if it still is there."""
        with suppress(NotMade):
            await self._run(job, injection.node, ["undo", job, str(injection.pid)], _STEP_S)

    async def _run(self, job: JobId, node: NodeName, words: list[str], deadline_s: float) -> Answer:
        program = [sys.executable, "-I", "-m", "supervisor.drill.hit", *words]
        step = commands.task_on(job, node, program, name="supervise-drill", memory_mb=_MEMORY_MB)
        env = commands.clean_environment(self.env, job=job)
        try:
            return await run(step, deadline_s=deadline_s, env=env, count=self.count)
        except (SlurmFailed, NoSlurm) as exc:
            raise NotMade(str(exc)) from exc


async def order(kind: Kind, number: int, folder: Path) -> Injection:
    """Let the trainer in this folder have the fault, and tell when it had it. Raises `NotMade`."""
    done = folder / f"done-{number}.json"
    try:
        done.unlink(missing_ok=True)
        write_whole(folder / "order.json", {"number": number, "kind": kind.name, "rank": kind.rank})
    except OSError as exc:
        raise NotMade(f"{folder} cannot be written: {exc.strerror}") from exc
    ends = time.monotonic() + _ORDER_S
    while time.monotonic() < ends:
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(done.read_bytes(), type=Injection)
        await asyncio.sleep(_LOOK_S)
    raise NotMade(f"the trainer did not take the order within {_ORDER_S:.0f} s")


def _words(answer: Answer) -> str:
    return " ".join((answer.stderr or answer.stdout).split())[:200] or "no message"
