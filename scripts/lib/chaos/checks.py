"""What must hold after all that: complaints in words, none if it does."""

import json
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

from story import slurm_calls
from story.run_folder import Json
from story.waiting import Late, wait_for

from chaos.arena import SAVE_EVERY, Arena
from chaos.faults import Done

_BEFORE_S = 1.0
"""The clocks of faults and incidents are the same machine's."""
_NOTICED_S = 45.0
"""The longest way to an incident is that of a node that nobody reaches: the lease."""
_ENDED_S = 90.0
_CALLS_OF_A_FAULT = 20
_CALLS_OF_A_START = 15
"""Of sbatch, srun and slurmstepd themselves."""


def complaints(arena: Arena, done: Sequence[Done], expected: str, *, seconds: float) -> Iterator[str]:
    """Everything that is not as it must be, after that many seconds."""
    yield from _load(arena, done, seconds)
    yield from _result(arena, expected)
    yield from _attempts(arena)
    yield from _verdicts(arena, done)
    yield from _unnoticed(arena, done)
    yield from _leavings(arena)


def _result(arena: Arena, expected: str) -> Iterator[str]:
    try:
        found = json.loads((arena.folder / "out" / "result.json").read_text())["sha256"]
    except (OSError, ValueError, KeyError) as exc:
        yield f"the run has no result ({exc})"
        return
    if found != expected:
        yield f"the result is {found[:12]}, undisturbed it is {expected[:12]}"


def _attempts(arena: Arena) -> Iterator[str]:
    """From the trainers' own log: no attempt wrote after a later one had begun, and none lost more than it had to."""
    lines = arena.step_lines
    for (step, attempt), (next_step, next_attempt) in pairwise(lines):
        if next_attempt < attempt:
            yield f"two live attempts: {next_attempt} made step {next_step} after {attempt} had made step {step}"
        elif next_attempt > attempt and step - next_step + 1 > 2 * SAVE_EVERY:
            # Two saves: the newest one may have been torn.
            yield f"attempt {next_attempt} began at step {next_step}, though {attempt} had come to {step}"


def _verdicts(arena: Arena, done: Sequence[Done]) -> Iterator[str]:
    for record in arena.run.incidents():
        verdict: Json = record["verdict"]
        if verdict["cls"] == "planned":
            continue
        wrong = set(verdict.get("exclude_nodes", ())) - arena.suspects
        if wrong:
            yield f"incident {record['incident']} excludes {', '.join(sorted(wrong))}, which nothing had happened to"
        near = [one for one in done if one.at - _BEFORE_S <= record["opened_at"]]
        allowed = set().union(*(one.kind.classes for one in near[-3:]))
        if verdict["cls"] not in allowed:
            names = ", ".join(one.kind.name for one in near[-3:])
            yield f"incident {record['incident']} is {verdict['cls']}/{verdict['cause']} after: {names or 'nothing'}"


def _unnoticed(arena: Arena, done: Sequence[Done]) -> Iterator[str]:
    """A fault that must interrupt, and that came to a run at rest, has a record that begins soon after it."""
    opened = [record["opened_at"] for record in arena.run.incidents()]
    breaks = [one for one in done if one.kind.classes]
    for before, one in pairwise([None, *breaks]):
        is_at_rest = before is None or one is None or one.at - before.at > _NOTICED_S
        if one is not None and is_at_rest and not any(-_BEFORE_S <= at - one.at <= _NOTICED_S for at in opened):
            yield f"nobody noticed: {one.kind.name}"


def _leavings(arena: Arena) -> Iterator[str]:
    """Nothing of the run is left in the queue or on any node."""
    queue = ["squeue", "--me", "-h", "-o", "%A"]
    try:
        wait_for(lambda: not arena.bed.run(queue, check=False).stdout.split(), "the queue is empty", _ENDED_S)
    except Late as exc:
        yield str(exc)
    ends = time.monotonic() + _ENDED_S
    for words in ("train.py", "supervisor.daemon", "agent-", "mosquitto"):
        while (left := arena.pids(words)) and time.monotonic() < ends:
            time.sleep(1)
        if left:
            yield f"{len(left)} processes of {words} are left"


def calls(arena: Arena) -> int:
    """All calls to slurmctld by the run: the user's own srun and sbatch, and ours."""
    return slurm_calls.of_users(arena.bed) - arena.calls_before


def _load(arena: Arena, done: Sequence[Done], seconds: float) -> Iterator[str]:
    """A minute has one call and a fault twenty; each job and attempt costs what it costs without us, too."""
    own = _CALLS_OF_A_START * (arena.run.attempts + len(arena.run.jobs()))
    allowed = int(seconds / 60) + _CALLS_OF_A_FAULT * len(done) + own
    if (made := calls(arena)) > allowed:
        yield f"{made} calls to slurmctld, {allowed} are allowed"
