"""The agent at work, over a bus by hand and with real processes and pages."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.agent.lease import Lease
from supervisor.agent.pace import until_turn
from supervisor.agent.processes import Process, Scanner
from supervisor.agent.service import Agent, Senses
from supervisor.agent.watcher import Watcher
from supervisor.beat.pages import Pages
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import AttemptNo, JobId, NodeName, RunId
from supervisor.model.wire import Beats, Checked, CheckNode, Fenced, RankGone, SaveAndStop, Status, Stopped, StopRanks
from supervisor.selftest.tier0 import NodeCheck
from supervisor.telemetry.gpu.nvml import NvmlReader

HERE, THERE = NodeName("n2"), NodeName("n1")
BEAT_FOLDER = str(Path(__file__).parents[2] / "supervisor" / "beat")
SLEEP = "print('ready', flush=True)\nwhile True: time.sleep(60)\n"
BEATING = f"sys.path.append({BEAT_FOLDER!r})\nfrom supervise_beat import beat\nbeat(41, loss=0.5)\n{SLEEP}"

Spawn = Callable[..., subprocess.Popen[str]]
Work = Callable[..., Any]


@pytest.fixture
def page(folder: Path) -> Callable[[], bool]:
    """Whether the rank's page is there."""
    return (folder / "2-5").exists


@pytest.fixture
def work(
    link: Any, run_id: RunId, scanner: Scanner, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Work:
    """An agent that works inside the block, and has left behind it."""
    monkeypatch.setattr("supervisor.agent.service._LEAVE_S", 0.1)

    @asynccontextmanager
    async def running(**changes: Any) -> AsyncIterator[Any]:
        usual: dict[str, Any] = {"batch_host": THERE, "slurmd_address": "127.0.0.1:1", "run_dir": str(tmp_path)}
        config = AgentConfig(run_id=run_id, job_id=JobId("17"), nodes=(THERE, HERE), **{**usual, **changes})
        senses = Senses(
            watcher=Watcher(scanner),
            pages=Pages(folder),
            check=NodeCheck(gpus=NvmlReader(), environment={}, address="n2:6818"),
            lease=Lease(config),
        )
        leave = asyncio.Event()
        task = asyncio.create_task(Agent(config, HERE, link, senses, address="n2:6818").run(leave, pid=os.getpid()))
        try:
            yield task
        finally:
            leave.set()
            await asyncio.wait({task}, timeout=60)
        await task

    return running


async def test_it_introduces_itself_with_its_facts(work: Work, link: Any, tmp_path: Path) -> None:
    """The first status says that it is up, where it is, and what tier 0 compares; the last one says good-bye."""
    async with work(folders=(str(tmp_path), "/no/such")):
        up = await link.said(Status)
        assert (up.node, up.state, up.pid, up.address) == (HERE, "up", os.getpid(), "n2:6818")
        assert up.facts.mounts_missing == ("/no/such",)
    assert isinstance(link.sent[-1], Status)
    assert link.sent[-1].state == "down"


async def test_it_beats_without_ranks(work: Work, link: Any) -> None:
    """A node without processes says its second too: attempt 0."""
    async with work():
        beats = await link.said(Beats)
        assert (beats.node, beats.attempt, beats.processes, beats.ranks) == (HERE, 0, 0, ())


async def test_beats_carry_processes_and_ranks(work: Work, link: Any, spawn: Spawn, folder: Path) -> None:
    """Tasks are counted with and without beats; the batch script's tree is not; beats go under their attempt."""
    rank = spawn(BEATING, SUPERVISE_BEAT_DIR=str(folder), SLURM_PROCID="5")
    spawn()
    spawn(SLURM_STEP_ID=None)
    async with work():
        beats = await link.said(Beats, lambda beats: bool(beats.ranks))
        assert (beats.attempt, beats.processes) == (2, 2)
        (said,) = beats.ranks
        assert (said.rank, said.pid, said.step, said.loss, said.is_alive) == (5, rank.pid, 41, 0.5, True)
        assert link.attempts[link.sent.index(beats)] == 2


async def test_pages_of_an_older_attempt_are_not_told(work: Work, link: Any, spawn: Spawn, folder: Path) -> None:
    """A new attempt whose ranks have not beaten yet has no ranks, not its predecessor's."""
    spawn(BEATING, SUPERVISE_BEAT_DIR=str(folder), SLURM_PROCID="5").kill()
    spawn(SUPERVISE_ATTEMPT="3")
    async with work():
        beats = await link.said(Beats)
        assert (beats.attempt, beats.processes, beats.ranks) == (3, 1, ())


async def test_a_rank_that_ends_is_told_once(work: Work, link: Any, spawn: Spawn, folder: Path) -> None:
    """Its pid is gone: one event, with the step it had reached."""
    rank = spawn(BEATING, SUPERVISE_BEAT_DIR=str(folder), SLURM_PROCID="5")
    async with work():
        await link.said(Beats, lambda beats: bool(beats.ranks))
        rank.kill()
        gone = await link.said(RankGone)
        assert (gone.attempt, gone.rank, gone.pid, gone.step) == (2, 5, rank.pid, 41)
        seen = len(link.sent)
        async with asyncio.timeout(60):
            while not any(isinstance(message, Beats) for message in link.sent[seen:]):
                link._said.clear()
                await link._said.wait()
    assert sum(isinstance(message, RankGone) for message in link.sent) == 1


async def test_it_stops_ranks_and_answers(work: Work, link: Any, spawn: Spawn) -> None:
    """The command's own question comes back with the proof."""
    rank = spawn()
    async with work():
        link.tell(StopRanks(ask="q7", attempt=AttemptNo(2), grace_s=30.0))
        assert await link.said(Stopped) == Stopped(node=HERE, ask="q7")
    assert rank.wait(60) == -15


async def test_it_asks_ranks_to_save_and_stop(work: Work, link: Any, spawn: Spawn, folder: Path) -> None:
    """`beat()` of the running attempt returns True from then on."""
    heeding = f"sys.path.append({BEAT_FOLDER!r})\nfrom supervise_beat import beat\nprint('ready', flush=True)\n"
    rank = spawn(f"{heeding}while not beat(1): time.sleep(0.02)\n", SUPERVISE_BEAT_DIR=str(folder), SLURM_PROCID="5")
    async with work():
        await link.said(Beats, lambda beats: bool(beats.ranks))
        link.tell(SaveAndStop(ask="q9"))
        assert await asyncio.to_thread(rank.wait, 60) == 0


async def test_ranks_that_do_not_beat_are_asked_by_a_signal(work: Work, link: Any, spawn: Spawn) -> None:
    """Once: the question is repeated."""
    counting = (
        "import signal\ngot = []\nsignal.signal(signal.SIGUSR1, lambda *_: got.append(1))\nprint('ready', flush=True)\n"
    )
    rank = spawn(f"{counting}while not got: time.sleep(0.02)\ntime.sleep(1)\nsys.exit(len(got))\n", SLURM_STEP_ID="0")
    async with work():
        for number in range(3):
            link.tell(SaveAndStop(ask=f"q{number}", signal=10))
        assert await asyncio.to_thread(rank.wait, 60) == 1


async def test_it_checks_the_node_and_answers(work: Work, link: Any) -> None:
    """Tier 0 on request, with the peers that could not be reached."""
    async with work():
        link.tell(CheckNode(ask="q8", peers=("127.0.0.1:1",), deadline_s=30.0))
        checked = await link.said(Checked)
        assert (checked.ask, checked.address, checked.unreachable_peers) == ("q8", "n2:6818", ("127.0.0.1:1",))


async def test_a_command_that_fails_does_not_end_the_agent(
    work: Work, link: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be done stays unanswered and is reported; the next command is done."""
    original = NodeCheck.answer

    async def answer(self: NodeCheck, node: NodeName, question: CheckNode) -> Checked:
        if question.ask == "bad":
            raise RuntimeError("odd")
        return await original(self, node, question)

    monkeypatch.setattr(NodeCheck, "answer", answer)
    async with work():
        link.tell(CheckNode(ask="bad"))
        link.tell(CheckNode(ask="good", deadline_s=30.0))
        assert (await link.said(Checked)).ask == "good"
    assert "CheckNode bad: RuntimeError: odd" in capsys.readouterr().err


async def test_a_part_that_fails_is_begun_again(
    work: Work, link: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fault in reading the pages costs a second, not the node's sign of life."""
    original, calls = Pages.read, []

    def read(self: Pages, *, now: float) -> Any:
        calls.append(now)
        if len(calls) == 1:
            raise RuntimeError("odd")
        return original(self, now=now)

    monkeypatch.setattr(Pages, "read", read)
    async with work():
        await link.said(Beats)
    assert "beat: RuntimeError: odd" in capsys.readouterr().err


async def test_it_fences_when_nobody_is_heard(work: Work, link: Any, spawn: Spawn) -> None:
    """Bus, lease file and slurmd silent for the lease: the ranks are killed at once, and it is told."""
    rank = spawn("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEP)
    async with work(lease_s=1.0):
        fenced = await link.said(Fenced)
        assert (fenced.node, fenced.killed) == (HERE, 1)
    assert rank.wait(60) == -9


async def test_it_does_not_fence_on_the_batch_host(work: Work, link: Any, spawn: Spawn) -> None:
    """The same silence on the batch host ends nothing."""
    rank = spawn()
    async with work(lease_s=0.2, batch_host=HERE):
        for _ in range(3):
            link.sent.clear()
            await link.said(Beats)
        assert rank.poll() is None


async def test_one_sign_keeps_the_ranks(work: Work, link: Any, spawn: Spawn) -> None:
    """The batch host's slurmd alone is enough: three leases later the ranks live."""
    rank = spawn()
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with work(lease_s=1.0, slurmd_address=address):
            for _ in range(4):
                link.sent.clear()
                await link.said(Beats)
            assert rank.poll() is None


async def test_leaving_takes_the_pages_away_behind_the_last_rank(
    work: Work, spawn: Spawn, folder: Path, page: Callable[[], bool]
) -> None:
    """A node keeps nothing of a run that is over, but a rank that lives on keeps its page."""
    rank = spawn(BEATING, SUPERVISE_BEAT_DIR=str(folder), SLURM_PROCID="5")
    async with work():
        pass
    assert page()
    rank.kill()
    async with work():
        pass
    assert not page()


async def test_a_scan_that_hangs_does_not_hold_the_beat(scanner: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose environment cannot be read costs one late beat; from then on it is gone around."""
    let_go = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr("supervisor.agent.watcher._DEADLINE_S", 0.1)

    def scan(*, is_thorough: bool = False) -> tuple[Process, ...]:
        scanner.reading = 99
        asyncio.run_coroutine_threadsafe(let_go.wait(), loop).result()
        return ()

    monkeypatch.setattr(scanner, "scan", scan)
    assert await Watcher(scanner).glance() == ()
    assert scanner.unreadable == {99}
    let_go.set()


@pytest.mark.parametrize(
    ("node", "wall", "wait"), [("a", 10.0, 1.0), ("a", 10.25, 0.75), ("c", 10.25, 0.25), ("?", 10.5, 0.5)]
)
def test_nodes_share_the_second(node: str, wall: float, wait: float) -> None:
    """Each node has its own moment; one that was just now is the next second's."""
    names = [NodeName(name) for name in "abcd"]
    assert until_turn(wall, NodeName(node), names) == pytest.approx(wait)


def test_the_module_runs_isolated() -> None:
    """`python -I -m supervisor.agent` without a configuration says what it needs and ends with 2."""
    done = subprocess.run([sys.executable, "-I", "-m", "supervisor.agent"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the path of its configuration" in done.stderr


async def test_a_decisive_scan_that_hangs_says_so(scanner: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier, shallow scan saw is no answer to the question who is left."""
    let_go = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr("supervisor.agent.watcher._THOROUGH_DEADLINE_S", 0.1)
    hang = lambda *, is_thorough=False: asyncio.run_coroutine_threadsafe(let_go.wait(), loop).result()  # noqa: ARG005, E731  # as scan
    monkeypatch.setattr(scanner, "scan", hang)
    with pytest.raises(TimeoutError):
        await Watcher(scanner).look()
    let_go.set()


@pytest.mark.parametrize("is_orphaned", [True, False])
def test_an_orphan_leaves_without_a_word(
    *, is_orphaned: bool, link: Any, run_id: RunId, scanner: Scanner, folder: Path, spawn: Spawn
) -> None:
    """A successor waits for its node; beside a living supervisor it says good-bye, and its pages go last."""
    config = AgentConfig(run_id=run_id, job_id=JobId("17"), nodes=(THERE, HERE), batch_host=THERE)
    watcher, pages = Watcher(scanner), Pages(folder)
    spawn(BEATING, SUPERVISE_BEAT_DIR=str(folder), SLURM_PROCID="5").kill()
    check = NodeCheck(gpus=NvmlReader(), environment={}, address="")
    agent = Agent(config, HERE, link, Senses(watcher=watcher, pages=pages, check=check, lease=Lease(config)))
    agent._guard.is_orphaned = is_orphaned
    assert agent.left_at_once() is is_orphaned
    assert folder.exists() is not is_orphaned
