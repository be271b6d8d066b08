"""The supervisor is killed at any moment of a story: the next one brings it to the same end, by what the log holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from supervisor.core.events import Event, KeeperReported, Submitted
from supervisor.core.instructions import Instruction, LaunchAttempt, Submit
from supervisor.ledger.event_log import last_at, read_events
from supervisor.model.base import encode_readable
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId
from supervisor.settings import Settings
from tests.core.facts import node, whole
from tests.core.harness import World

When = Literal["before it is written", "before anything is done", "after the first deed", "after all deeds"]
_WHEN: tuple[When, ...] = (
    "before it is written",
    "before anything is done",
    "after the first deed",
    "after all deeds",
)


class Killed(Exception):
    """The supervisor is no more."""


@dataclass
class Mortal(World):
    """A world whose supervisor is killed at one event; what it had ordered by then is done, and nobody heard of it."""

    dies_at: int = 0
    when: When = "before it is written"
    heard: int = 0
    cuts: list[int] = field(default_factory=list)
    """Events that were written."""
    is_dead: bool = False
    code: int | None = None
    step: int = 0
    jobs: list[JobId] = field(default_factory=list)
    """That sbatch has made."""
    set_back_s: float = 0.0
    """The clock of this node, while no supervisor lives."""

    def send(self, event: Event) -> None:
        """As ever, until the last one."""
        if self.is_dead:
            return
        self.heard += 1
        is_last = self.heard == self.dies_at
        if is_last and self.when == "before it is written":
            raise self._killed()
        written, ordered = len(self.log), len(self.done)
        super().send(event)
        if len(self.log) > written:
            self.cuts.append(self.heard)
            self.unheard = None if isinstance(event, Submitted) else self.unheard
        if is_last:
            raise self._killed(self.done[ordered:])

    def exit(self, code: int | None = 1, *, signal: int | None = None, ranks_fail: bool = True) -> "World":
        """The keeper remembers the code."""
        self.code = code
        return super().exit(code, signal=signal, ranks_fail=ranks_fail)

    def progress(self, step: int) -> "World":
        """Ranks that live go on from there."""
        self.step = step
        return super().progress(step)

    def keeper_report(self, **changes: Any) -> KeeperReported:  # fields of KeeperReported
        """With the code of the script that has ended."""
        return super().keeper_report(**{"code": None if self.live or not self.last_attempt else self.code, **changes})

    def revive(self, path: Path) -> None:
        """The next supervisor reads what is on disk, half a line at the end of it, and sees what there is to see."""
        if not self.log:
            self.is_dead = False
            self.begin()
            return
        lines = [encode_readable(event) for event in self.log]
        torn = encode_readable(self.log[0])[:40]
        path.write_bytes(b"\n".join([*lines, torn]))
        self.log, self.is_dead = list(read_events(path)), False
        self.at = max(self.at - self.set_back_s, last_at(path))  # as `steady_clock` does
        self.restart()
        self.hush(*sorted(self.dead & set(self.state.held)))
        if self.live and self.state.attempt is not None and self.state.attempt.number == self.live:
            self.ranks()
            self.progress(self.step)

    def _killed(self, ordered: Sequence[Instruction] = ()) -> Killed:
        """Hands that were at work do their deed, and nobody hears of it; the others never begin."""
        self.is_dead = True
        deeds = {"after the first deed": ordered[:1], "after all deeds": ordered}.get(self.when, ())
        del self.done[len(self.done) - len(ordered) + len(deeds) :]
        for order in list(self.pending) if self.when == "after all deeds" else deeds:
            self._answered(order)
        return Killed()

    def _submitted(self, order: Submit) -> Submitted:
        """A hand that does not know what was sent before looks first for a job that was made already."""
        if self.unheard is not None:
            job, self.unheard = self.unheard, None
            return Submitted(at=self.at, outcome="accepted", job_id=job)
        answer = super()._submitted(order)
        if answer.job_id is not None:
            self.jobs.append(answer.job_id)
            self.unheard = answer.job_id
        return answer


Step = Callable[[Mortal], object]


def _over(world: Mortal) -> None:
    world.slurm = JobFacts(job_id=JobId("17"), state="COMPLETING", reason="TimeLimit")
    world.term()


def _cancelled(world: Mortal) -> None:
    world.slurm = JobFacts(job_id=JobId("17"), state="COMPLETING")
    world.term()


def _exit(code: int) -> Step:
    return lambda world: world.exit(code) if world.live else None


def _at(step: int) -> Step:
    return lambda world: world.ranks().progress(step) if world.live else None


def _kill(number: int) -> Step:
    return lambda world: world.kill(node(number))


def _node_and_script(world: Mortal) -> None:
    world.dead.add(node(2))
    world.exit(1)


_STORIES: dict[str, tuple[dict[str, Any], list[Step]]] = {
    "a node dies, a spare takes its place": ({"spares": 1}, [_at(5), _kill(3), _at(9), _exit(0)]),
    "the script crashes once": ({}, [_at(5), _exit(139), _at(9), _exit(0)]),
    "a node dies and there is no room": ({"nodes": 4}, [_at(5), _kill(3), _kill(2), _kill(4)]),
    "the time limit": ({}, [_at(5), _over, _exit(1)]),
    "a cancel amid a recovery": ({"spares": 1}, [_at(5), _kill(3), _cancelled, _exit(1)]),
    "two at once": ({"spares": 1}, [_at(5), _node_and_script, _at(9), _exit(0)]),
}


def _world(name: str, **more: Any) -> Mortal:  # fields of Mortal
    options = dict(_STORIES[name][0])
    known = Settings(checkpoint="/ck", min_nodes=options.pop("nodes", 0))
    return Mortal(count=4, settings=known, choice=whole(5), **options, **more)


def _told(world: Mortal, steps: Sequence[Step], path: Path) -> Mortal:
    """The story; whatever step the supervisor is killed in, what has happened to the world has happened."""
    for step in [lambda world: world.begin(), *steps]:
        for act in (step, lambda world: world.run(20)):
            if world.finish is not None:
                return world
            try:
                act(world)
            except Killed:
                if world.finish is None:
                    world.revive(path)
                    world.run(20)
    return world


def _end(world: Mortal) -> tuple[Any, ...]:
    """What anybody outside can tell."""
    last = world.given(LaunchAttempt)[-1]
    ended = world.finish and (world.finish.code, world.finish.handed_over)
    return ended, world.state.stage, world.last_attempt, last.resume_from, len(world.jobs)


@pytest.mark.parametrize("when", _WHEN)
@pytest.mark.parametrize("name", _STORIES)
def test_it_ends_as_if_nobody_had_been_killed(name: str, when: When, tmp_path: Path) -> None:
    """After each event of the log: no second launch, no second job, the same end."""
    _check(name, tmp_path, when=when)


@pytest.mark.parametrize("name", _STORIES)
def test_a_clock_that_is_set_back_meanwhile_holds_nothing_up(name: str, tmp_path: Path) -> None:
    """What was to happen a second later does not wait until that hour has come again."""
    _check(name, tmp_path, when="before anything is done", set_back_s=3600.0)


def _check(name: str, folder: Path, **more: Any) -> None:  # fields of Mortal
    steps = _STORIES[name][1]
    whole_story = _told(_world(name), steps, folder / "events.jsonl")
    for cut in whole_story.cuts:
        world = _told(_world(name, dies_at=cut, **more), steps, folder / "events.jsonl")
        assert _end(world) == _end(whole_story), (cut, world.log[-1])
        assert len({order.attempt for order in world.launches}) == world.last_attempt
