"""The stop of an attempt on this machine: what is proven, what is not, and that nothing stays frozen."""

import asyncio
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from supervisor.core.events import Stopped
from supervisor.core.instructions import StopAttempt
from supervisor.daemon.answers import Answers
from supervisor.daemon.hands.stop import stop
from supervisor.daemon.rank_lines import RankLines
from supervisor.daemon.until import until
from supervisor.daemon.world import World
from supervisor.errors import BrokerFailed, SlurmFailed
from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.wire import Stopped as NodeStopped
from supervisor.model.wire import StopRanks
from supervisor.settings import Settings
from supervisor.slurm.facts import StepFacts
from tests.daemon.scripts import WAIT_S, Scripts, is_frozen, is_gone

_HERE, _OTHER = NodeName("n1"), NodeName("n2")
_FIRST = AttemptNo(1)
_SCRIPT = "./srun launched\necho > next\nsleep 600\n"


class _World:
    """What `stop` uses, with a hub and a Slurm that do as told."""

    def __init__(self) -> None:
        self.settings = Settings(stop_grace_s=0.5)
        self.run = SimpleNamespace(run_id=f"run-{uuid.uuid4().hex[:8]}")
        self.around = SimpleNamespace(here=_HERE, job_id="9017", raw_job_id="9017", is_slurm=True, own_step="9017.7")
        self.answers = Answers()
        self.rank_lines = RankLines()
        self.script_pid = 0
        self.roster = SimpleNamespace(up=lambda: tuple(self.heard))
        self.heard: set[NodeName] = {_OTHER}
        self.is_startable = True
        """Whether an agent that is started there is heard."""
        self.started: list[NodeName] = []
        self.is_slurm_silent = False
        self.left: tuple[int, ...] = ()
        self.slow_s = 0.0
        self.deaf_to: set[str] = set()
        self.hub = self
        self.slurm = self
        self.replies = True
        self.is_broker_up = True
        self.scancels_needed = 1
        self.cancelled: list[str] = []
        self.commands: list[StopRanks] = []

    def clock(self) -> float:
        return 5.0

    async def command(self, node: NodeName, command: StopRanks, *, attempt: AttemptNo) -> None:
        assert (node, attempt) == (_OTHER, _FIRST)
        if not self.is_broker_up:
            raise BrokerFailed("no broker")
        self.commands.append(command)
        if self.replies and command.part not in self.deaf_to:
            answer = NodeStopped(node=node, ask=command.ask, left=self.left)
            asyncio.get_running_loop().call_later(self.slow_s, self.answers.arrived, answer)

    async def steps(self, _: str, *, deadline_s: float) -> tuple[StepFacts, ...]:
        assert deadline_s == self.settings.slurm_deadline_s
        if self.is_slurm_silent:
            raise SlurmFailed("no answer")
        living = ["9017.0"] if self.scancels_needed > 0 else []
        return (
            StepFacts(step_id="9017.batch", name="batch"),
            StepFacts(step_id="9017.9", name="supervise"),
            StepFacts(step_id="9017.7", name="bash"),  # the shell that `supervise run` was typed in
            *(StepFacts(step_id=step, name="python") for step in living),
        )

    async def cancel_steps(self, steps: list[str], *, deadline_s: float) -> None:
        assert deadline_s == self.settings.slurm_deadline_s
        self.cancelled += steps
        self.scancels_needed -= 1

    @property
    def marks(self) -> dict[str, str]:
        """What every process of the attempt carries."""
        return {"SUPERVISE_RUN_ID": self.run.run_id, "SUPERVISE_ATTEMPT": "1", "SLURM_JOB_ID": "9017"}

    def stop(self, *nodes: NodeName, lost: tuple[NodeName, ...] = ()) -> "asyncio.Task[Stopped]":
        order = StopAttempt(attempt=_FIRST, nodes=nodes, lost=lost)
        return asyncio.create_task(stop(cast("World", self), order, self.bring_back))

    async def bring_back(self, _: object, nodes: Sequence[NodeName], deadline_s: float) -> None:
        assert deadline_s > 0
        self.started += nodes
        if self.is_startable:
            self.heard.update(nodes)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> _World:
    """Node n1 is here, n2 answers at once, one step ends by one scancel; who is silent is not waited for long."""
    monkeypatch.setattr("supervisor.daemon.hands.stop._ANSWER_S", 0.5)
    return _World()


@pytest.fixture
def rank(world: _World) -> Iterator["subprocess.Popen[bytes]"]:
    """A task of the attempt on this node that ignores TERM."""
    text = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    env = {**world.marks, "SLURM_STEP_ID": "0"}
    with subprocess.Popen([sys.executable, "-I", "-c", text], env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


async def test_everything_is_gone_and_proven(world: _World, scripts: Scripts, rank: "subprocess.Popen[bytes]") -> None:
    """Tasks first, then the script, which does not run on; agents are asked twice, the user's step is cancelled."""
    script = await scripts.start(_SCRIPT, world.marks)
    world.script_pid = script.pid
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.unreachable, said.unkillable) == (True, (), ())
    assert rank.wait(WAIT_S) == -signal.SIGKILL
    assert is_gone(script)
    assert not scripts.has("next")
    assert [command.part for command in world.commands] == ["tasks", "all"]
    assert world.cancelled == ["9017.0"]


async def test_a_node_that_gives_no_answer_leaves_no_proof(world: _World, scripts: Scripts) -> None:
    """It is named, and the rest is ended all the same."""
    world.replies = False
    script = await scripts.start(_SCRIPT, world.marks)
    world.script_pid = script.pid
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.unreachable, said.text) == (False, (_OTHER,), "n2 gives no answer")
    assert is_gone(script)
    assert not scripts.has("next")


@pytest.mark.parametrize("is_heard", [True, False])
async def test_a_node_whose_ranks_take_their_time_is_waited_for(
    world: _World, monkeypatch: pytest.MonkeyPatch, *, is_heard: bool
) -> None:
    """Large processes end seconds after KILL: an agent that is heard has the time for that; one that dies has not."""
    monkeypatch.setattr("supervisor.daemon.hands.stop._ANSWER_S", 0.2)
    world.settings = Settings(stop_grace_s=0.2)
    world.slow_s, world.is_startable = 1.5, False
    stopping = world.stop(_HERE, _OTHER)
    assert await until(lambda: bool(world.commands), deadline_s=WAIT_S)
    world.heard = {_OTHER} if is_heard else set()
    said = await stopping
    assert (said.is_proven, said.unreachable) == ((True, ()) if is_heard else (False, (_OTHER,)))


async def test_a_node_without_an_agent_gets_one_and_proves_it(world: _World) -> None:
    """Only its agent had died: the node is healthy and stays in the job."""
    world.heard = set()
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.unreachable, said.text) == (True, (), "")
    assert world.started == [_OTHER]
    assert [command.part for command in world.commands] == ["tasks", "all"]


async def test_a_node_that_gets_no_agent_leaves_no_proof(world: _World) -> None:
    """Nobody is there to be asked."""
    world.heard, world.is_startable = set(), False
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.unreachable, said.text) == (False, (_OTHER,), "n2 gives no answer")
    assert world.started == [_OTHER]
    assert world.commands == []


async def test_an_agent_that_dies_while_it_is_asked_is_started_again(world: _World) -> None:
    """Its last will ends the wait for its answer; the new agent gives the proof."""
    world.deaf_to = {"tasks"}
    stopping = world.stop(_HERE, _OTHER)
    assert await until(lambda: bool(world.commands), deadline_s=WAIT_S)
    world.deaf_to, world.heard = set(), set()
    world.answers.give_up(_OTHER)
    assert (await stopping).is_proven
    assert world.started == [_OTHER]


@pytest.mark.parametrize(("lost", "is_proven"), [((), True), ((_OTHER,), False)])
async def test_a_silent_slurm_proves_nothing(world: _World, lost: tuple[NodeName, ...], *, is_proven: bool) -> None:
    """Then every node of the attempt must have answered."""
    world.is_slurm_silent = True
    said = await world.stop(_HERE, _OTHER, lost=lost)
    assert said.is_proven == is_proven
    assert "Slurm could not be asked for its steps" in said.text


async def test_a_node_that_answers_only_once_leaves_no_proof(world: _World) -> None:
    """Its tasks are gone; what was started there without a step was not looked for."""
    world.deaf_to = {"all"}
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.unreachable) == (False, (_OTHER,))


async def test_what_cannot_be_killed_is_named_and_not_tried_twice(world: _World) -> None:
    """A second full wait for a process stuck in the kernel would cost the whole answer."""
    world.left = (77,)
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.unkillable, said.unreachable) == (False, (_OTHER,), ())
    assert [command.part for command in world.commands] == ["tasks"]


async def test_no_proof_is_asked_of_a_lost_node(world: _World) -> None:
    """It is not even told, and what Slurm still lists for it does not count."""
    world.scancels_needed = 1000
    said = await world.stop(_HERE, _OTHER, lost=(_OTHER,))
    assert (said.is_proven, said.unreachable) == (True, (_OTHER,))
    assert world.commands == []


async def test_without_a_broker_nothing_is_proven(world: _World) -> None:
    """Nobody could be told."""
    world.is_broker_up = False
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.unreachable) == (False, (_OTHER,))


async def test_a_step_that_lives_on_is_no_proof(world: _World) -> None:
    """Slurm lists it after scancel and scancel again."""
    world.scancels_needed = 1000
    said = await world.stop(_HERE)
    assert (said.is_proven, said.text) == (False, "steps live on: 9017.0")
    assert len(world.cancelled) > 1


async def test_the_deadline_ends_a_stop_without_proof(world: _World, scripts: Scripts) -> None:
    """However long the graces are."""
    world.settings = Settings(stop_deadline_s=1.0)
    world.replies = False
    script = await scripts.start(_SCRIPT, world.marks)
    world.script_pid = script.pid
    said = await world.stop(_HERE, _OTHER)
    assert (said.is_proven, said.text) == (False, "not within 1 s")
    assert await until(lambda: not is_frozen(script), deadline_s=WAIT_S)


async def test_a_cancelled_stop_leaves_nothing_frozen(world: _World, scripts: Scripts) -> None:
    """The supervisor ends in the middle: the script gets TERM and goes on to its end, not to its next line."""
    world.replies = False
    script = await scripts.start(_SCRIPT, world.marks)
    world.script_pid = script.pid
    stopping = world.stop(_HERE, _OTHER)
    assert await until(lambda: is_frozen(script), deadline_s=WAIT_S)
    stopping.cancel()
    await asyncio.wait({stopping}, timeout=WAIT_S)
    assert stopping.cancelled()
    assert await until(lambda: is_gone(script), deadline_s=WAIT_S)
    assert not scripts.has("next")
