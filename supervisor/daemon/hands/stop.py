"""Stops an attempt with proof.

The order is measured: a killed srun holds its step's resources for 2.3 s more, so the tasks end first while the script
is frozen (it must not run its next line) and srun lives to see them end; then the script's own tree; then the proof.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Literal

import msgspec

from supervisor.agent.processes import Scanner, send_signal
from supervisor.agent.stop import KILL_WAIT_S, stop_ranks
from supervisor.agent.watcher import Watcher
from supervisor.core.events import Stopped
from supervisor.core.instructions import StopAttempt
from supervisor.core.proof import Sweep, in_words, is_proven
from supervisor.daemon.answers import Answer
from supervisor.daemon.script_tree import ScriptTree
from supervisor.daemon.world import World
from supervisor.errors import BrokerFailed, NoSlurm, SlurmFailed
from supervisor.model.ids import NodeName
from supervisor.model.wire import Stopped as NodeStopped
from supervisor.model.wire import StopRanks
from supervisor.slurm.commands import AGENT_STEP

_LAUNCHERS_S = 1.5
"""For sruns to end once their tasks have."""
_LAUNCHERS_LOST_S = 0.2
"""The same with a lost node: srun waits for what never comes."""
_AGENT_S = 6.0
"""For an agent that is missing to be started and heard: without one its node cannot prove anything."""
_ANSWER_S = 4.0
"""For a node's answer, beyond the grace, where its agent is not heard any more."""
_SLOW_ANSWER_S = KILL_WAIT_S + 2.0
"""The same where the agent is heard: it waits for processes that take their time to end."""
_STEPS_S = 3.0
"""For Slurm to forget steps whose tasks are gone."""
_STEPS_LOST_S = 1.0
"""With a lost node that stays in the job: Slurm keeps its step until it notices."""
_STEPS_READ_S = 10.0
"""Where sattach has read them: slurmstepd holds a step for 2.3 s for each group of its tasks that ended together."""
_POLL_S = 0.1
_PAUSE_S = 0.8

_Part = Literal["tasks", "all"]
BringBack = Callable[[World, Sequence[NodeName], float], Awaitable[None]]
"""Starts the agents that these nodes miss and returns when all are heard, or after so many seconds."""


async def stop(world: World, order: StopAttempt, bring_back: BringBack) -> Stopped:
    """Everything of the attempt is gone on every reachable node, or the answer says where it is not."""
    try:
        async with asyncio.timeout(world.settings.stop_deadline_s):
            return await _Stop(world, order, bring_back).run()
    except TimeoutError:
        return Stopped(
            at=world.clock(),
            attempt=order.attempt,
            is_proven=False,
            unreachable=order.lost,
            text=f"not within {world.settings.stop_deadline_s:.0f} s",
        )


class _Stop:
    """One stop, from the freeze to the proof."""

    def __init__(self, world: World, order: StopAttempt, bring_back: BringBack) -> None:
        self._world = world
        self._order = order
        self._bring_back = bring_back
        self._here = world.around.here
        self._asked = [name for name in order.nodes if name not in order.lost]
        self._watcher = Watcher(Scanner(run_id=world.run.run_id, job_id=world.around.raw_job_id))

    async def run(self) -> Stopped:
        tree = ScriptTree(self._world.script_pid)
        tree.freeze()
        try:
            await self._world.rank_lines.end()
            answers = await self._end_processes("tasks", {*self._asked, self._here})
            await tree.launchers_gone(_LAUNCHERS_LOST_S if self._order.lost else _LAUNCHERS_S)
        finally:
            # Whatever happens here, a frozen script never stays behind: it goes on, to its end.
            tree.thaw_and_terminate()
        await tree.end(self._world.settings.stop_grace_s)
        # Whoever was silent, or could not end its tasks, has had its time.
        stuck = {name: answer for name, answer in answers.items() if answer.left}
        answers = stuck | await self._end_processes("all", answers.keys() - stuck.keys())
        return self._judged(answers, await self._end_steps())

    async def _end_processes(self, part: _Part, nodes: Collection[NodeName]) -> dict[NodeName, NodeStopped]:
        """Answers by node; the batch host is swept by this process itself, with or without an agent there."""
        command = StopRanks(
            ask=uuid.uuid4().hex,
            attempt=self._order.attempt,
            grace_s=self._world.settings.stop_grace_s,
            part=part,
        )
        others = set(nodes) - {self._here}
        here, there = await asyncio.gather(
            self._end_here(command, is_wanted=self._here in nodes), self._end_elsewhere(command, sorted(others))
        )
        return here | there

    async def _end_here(self, command: StopRanks, *, is_wanted: bool) -> dict[NodeName, NodeStopped]:
        if not is_wanted:
            return {}
        return {self._here: await stop_ranks(command, node=self._here, scan=self._watcher.look, send=send_signal)}

    async def _end_elsewhere(self, command: StopRanks, others: Sequence[NodeName]) -> dict[NodeName, NodeStopped]:
        """A node whose agent is missing, or dies meanwhile, gets a new one first: the node itself may be healthy."""
        heard = self._heard(others)
        answers, late = await asyncio.gather(
            self._asked_of(command, heard),
            self._asked_after_start(command, [name for name in others if name not in heard]),
        )
        died = [name for name in heard if name not in answers and not self._heard([name])]
        return answers | late | await self._asked_after_start(command, died)

    def _heard(self, nodes: Sequence[NodeName]) -> list[NodeName]:
        up = set(self._world.roster.up())
        return [name for name in nodes if name in up]

    async def _asked_after_start(self, command: StopRanks, nodes: Sequence[NodeName]) -> dict[NodeName, NodeStopped]:
        if not nodes:
            return {}
        await self._bring_back(self._world, nodes, _AGENT_S)
        return await self._asked_of(msgspec.structs.replace(command, ask=uuid.uuid4().hex), self._heard(nodes))

    async def _asked_of(self, command: StopRanks, others: Sequence[NodeName]) -> dict[NodeName, NodeStopped]:
        if not others:
            return {}
        self._world.answers.expect(command.ask, others)
        for name in others:
            try:
                await self._world.hub.command(name, command, attempt=self._order.attempt)
            except BrokerFailed:
                break  # nobody will answer: no proof, and the machine decides what that means
        answers = await self._collected(command)
        return {name: answer for name, answer in answers.items() if isinstance(answer, NodeStopped)}

    async def _collected(self, command: StopRanks) -> dict[NodeName, Answer]:
        """What comes in time; a node that is heard has more of it, one that is not is not waited for long."""
        collecting = asyncio.ensure_future(
            self._world.answers.collect(command.ask, deadline_s=command.grace_s + _SLOW_ANSWER_S)
        )
        try:
            await asyncio.wait({collecting}, timeout=command.grace_s + _ANSWER_S)
            for name in set(self._asked) - set(self._world.roster.up()):
                self._world.answers.give_up(name)
            return await collecting
        finally:
            collecting.cancel()

    async def _end_steps(self) -> list[str] | None:
        """Steps of the user's that live on after a scancel; None: Slurm could not be asked.

        Cancelled again and again: a step that hangs on a dead node ends only once the node has left the job.
        """
        ends = asyncio.get_running_loop().time() + self._steps_s()
        pause = _POLL_S
        while True:
            try:
                steps = await self._users_steps()
                if not steps or asyncio.get_running_loop().time() > ends:
                    return steps
                await self._world.slurm.cancel_steps(steps, deadline_s=self._world.settings.slurm_deadline_s)
            except (SlurmFailed, NoSlurm):
                return None
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PAUSE_S)

    def _steps_s(self) -> float:
        if self._order.lost:
            return _STEPS_LOST_S
        return _STEPS_READ_S if self._world.rank_lines.has_read else _STEPS_S

    async def _users_steps(self) -> list[str]:
        if not self._world.around.is_slurm:
            return []
        found = await self._world.slurm.steps(
            self._world.around.job_id, deadline_s=self._world.settings.slurm_deadline_s
        )
        ours = self._world.around.own_step
        return [step.step_id for step in found if step.is_launched and step.name != AGENT_STEP and step.step_id != ours]

    def _judged(self, answers: dict[NodeName, NodeStopped], steps: list[str] | None) -> Stopped:
        sweep = Sweep(
            left=tuple(sorted(name for name, answer in answers.items() if answer.left)),
            silent=tuple(sorted(name for name in self._asked if name not in answers)),
            lost=self._order.lost,
            steps=None if steps is None else tuple(steps),
        )
        return Stopped(
            at=self._world.clock(),
            attempt=self._order.attempt,
            is_proven=is_proven(sweep),
            unkillable=sweep.left,
            unreachable=tuple(sorted({*sweep.silent, *sweep.lost})),
            text=in_words(sweep),
        )
