"""Asks Slurm whether a resubmission could start at all: `sbatch --test-only`, which submits nothing.

Counting the nodes of a partition says nothing about constraints, GPUs, memory or reservations; Slurm knows them all.
Busy nodes do not matter to it: it then names a later time.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.slurm.process import Answer, CallCount, run
from supervisor.slurm.sbatch_options import parse
from supervisor.slurm.successor import Successor

# Recorded on 22.05, 24.11 and 26.05: tests/data/slurm/*/test_only.txt.
_STARTS: Final = " to start at "
_TOO_FEW: Final = "Requested node configuration is not available"
"""Not enough nodes that fit: excluded, down, drained and reserved ones aside, now and for as long as that lasts."""

Ask = Callable[[Successor], Awaitable[bool | None]]


def is_startable(answer: Answer) -> bool | None:
    """Whether the tested job would start some day; None where the answer is about something else. Pure."""
    if answer.code == 0 and _STARTS in answer.stderr:
        return True
    return False if answer.code != 0 and _TOO_FEW in answer.stderr else None


def question(wish: Successor) -> list[str] | None:
    """The resubmission as a mere question, which reads its script from stdin; None where its script cannot be told."""
    at = wish.argv.index("sbatch") + 1
    command = parse(wish.argv[at:])
    return None if command.unknown else [*wish.argv[:at], "--test-only", *command.without(())]


async def first_startable(wishes: Sequence[Successor], ask: Ask) -> int:
    """Which of these is the first that could start. Each asks for no more than the one before it.

    0 where Slurm does not tell, and where none of them could start: then it is not for what they differ in.
    """
    last = len(wishes) - 1
    if last < 1 or await ask(wishes[0]) is not False or await ask(wishes[last]) is not True:
        return 0
    refused, starts = 0, last
    while starts - refused > 1:
        middle = (refused + starts) // 2
        answer = await ask(wishes[middle])
        if answer is None:
            break
        refused, starts = (refused, middle) if answer else (middle, starts)
    return starts


def asking(script: bytes, *, deadline_s: float, count: CallCount | None = None) -> Ask:
    """Who asks sbatch. `script`: for wishes that do not change it; `deadline_s`: for all questions together."""
    end = time.monotonic() + deadline_s

    async def ask(wish: Successor) -> bool | None:
        argv = question(wish)
        left_s = end - time.monotonic()
        if argv is None or left_s <= 0:
            return None
        text = next(iter(wish.files.values()), script)
        try:
            answer = await run(
                argv, deadline_s=left_s, env=wish.environment, cwd=Path(wish.cwd), feed=text, count=count
            )
        except (SlurmFailed, NoSlurm):
            return None
        return is_startable(answer)

    return ask
