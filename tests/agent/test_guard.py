"""The agent's part in a takeover, with real files, a real command and no network."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from supervisor.agent.guard import Guard
from supervisor.agent.lease import Lease
from supervisor.agent.processes import Scanner
from supervisor.agent.watcher import Watcher
from supervisor.daemon.take_over import Outcome
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import JobId, NodeName, RunId

NODES = tuple(NodeName(f"n{number}") for number in range(1, 5))
HOST, SECOND, THIRD, FOURTH = NODES
LEASE = 0.6
PATIENCE_S = 60.0

Guards = Callable[..., Any]


@pytest.fixture
def guards(link: Any, run_id: RunId, scanner: Scanner, tmp_path: Path) -> Guards:
    """Agents that hear nobody, each with the command that notes who has called it and ends with a code."""

    @asynccontextmanager
    async def watching(*nodes: NodeName, code: int = 0) -> AsyncIterator[list[Guard]]:
        script = tmp_path / "take_over"
        script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> {tmp_path}/calls\nexit {code:d}\n')
        script.chmod(0o755)
        config = AgentConfig(
            run_id=run_id,
            job_id=JobId("17"),
            nodes=NODES,
            batch_host=HOST,
            slurmd_address="127.0.0.1:1",
            run_dir=str(tmp_path),
            lease_s=LEASE,
            take_over=(str(script),),
        )
        made = [Guard(config, node, link, Lease(config), Watcher(scanner)) for node in nodes]
        async with link:
            tasks = [asyncio.create_task(guard.run()) for guard in made]
            try:
                yield made
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)

    return watching


def _term(folder: Path, *, renewed_at: float = 5.0, voters: int = 3) -> None:
    (folder / "term.json").write_text(
        json.dumps({"generation": 1, "renewed_at": renewed_at, "batch_host": HOST, "voters": voters})
    )


def _calls(folder: Path) -> list[dict[str, Any]]:
    path = folder / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def _until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110 - files of another process
            await asyncio.sleep(0.05)


async def test_the_first_of_a_majority_takes_over(guards: Guards, tmp_path: Path) -> None:
    """Two of three have voted: the first one of the job's order acts, and tells what it knows."""
    _term(tmp_path)
    began = time.monotonic()
    async with guards(SECOND, THIRD) as (second, _):
        await _until(lambda: _calls(tmp_path))
        assert second.is_orphaned
    assert time.monotonic() - began >= 2 * LEASE
    call = _calls(tmp_path)[0]
    assert (call["here"], call["batch_host"], call["renewed_at"]) == (SECOND, HOST, 5.0)
    assert (call["why"], call["votes"], call["job_id"]) == ("majority", [SECOND, THIRD], "17")


async def test_a_minority_only_asks_for_slurms_word(guards: Guards, tmp_path: Path) -> None:
    """One of three."""
    _term(tmp_path)
    async with guards(SECOND):
        await _until(lambda: _calls(tmp_path))
    assert _calls(tmp_path)[0]["why"] == "alone"


async def test_a_term_that_is_renewed_keeps_everybody_quiet(guards: Guards, tmp_path: Path) -> None:
    """Only the broker is lost: neither votes nor takeovers, however long."""

    async def renew() -> None:
        renewed_at = 5.0
        while True:
            renewed_at += 1.0
            _term(tmp_path, renewed_at=renewed_at)
            await asyncio.sleep(0.1)

    _term(tmp_path)
    renewing = asyncio.create_task(renew())
    async with guards(SECOND, THIRD) as both:
        await asyncio.sleep(5 * LEASE)
        assert not any(guard.is_orphaned for guard in both)
    renewing.cancel()
    assert _calls(tmp_path) == []
    assert not (tmp_path / "votes").exists()


async def test_a_slurmd_that_answers_keeps_everybody_quiet(guards: Guards, tmp_path: Path) -> None:
    """The batch host lives: its supervisor may have been killed, and the keeper starts another one."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    _term(tmp_path)
    text = json.loads((tmp_path / "term.json").read_text())
    (tmp_path / "term.json").write_text(json.dumps({**text, "slurmd_address": address}))
    async with server, guards(SECOND, THIRD) as both:
        await asyncio.sleep(5 * LEASE)
        assert not any(guard.is_orphaned for guard in both)
    assert _calls(tmp_path) == []


async def test_a_word_of_somebody_takes_the_vote_back(guards: Guards, tmp_path: Path) -> None:
    """The supervisor renews its term again before a majority was there."""
    _term(tmp_path)
    async with guards(FOURTH):
        await _until((tmp_path / "votes" / "n4.json").exists)
        _term(tmp_path, renewed_at=9.0)
        await _until(lambda: not (tmp_path / "votes" / "n4.json").exists())


async def test_who_is_told_that_it_is_over_tries_no_more(
    guards: Guards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Observe mode, or Slurm has ended the job."""
    monkeypatch.setattr("supervisor.agent.guard._FIRST_AGAIN_S", 0.05)
    _term(tmp_path, voters=1)
    async with guards(SECOND, code=Outcome.OVER):
        await _until(lambda: _calls(tmp_path))
        await asyncio.sleep(1.0)
    assert len(_calls(tmp_path)) == 1


@pytest.mark.parametrize("code", [Outcome.LATER, 1])
async def test_a_takeover_that_could_not_be_done_is_tried_again(
    guards: Guards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Slurmctld was away; or Python ended with its usual code, since a file could not be read at that moment."""
    monkeypatch.setattr("supervisor.agent.guard._FIRST_AGAIN_S", 0.05)
    _term(tmp_path, voters=1)
    async with guards(SECOND, code=code):
        await _until(lambda: len(_calls(tmp_path)) > 1)


async def test_slurmd_is_asked_only_where_the_term_says_nothing(
    guards: Guards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A supervisor that is late by a moment must not bring connections of thousands of agents to its node's slurmd."""
    asked: list[int] = []

    async def is_slurmd_there(*_: object, **__: object) -> bool:
        asked.append(1)
        return False

    monkeypatch.setattr(Lease, "is_slurmd_there", is_slurmd_there)
    _term(tmp_path, renewed_at=time.time() - 0.5)
    async with guards(HOST) as (guard,):
        asked.clear()
        heard_at = time.monotonic()
        sign_at = await guard._sign_at(is_first=True)
        assert heard_at - 1.0 < sign_at < heard_at
        assert asked == []
        assert await guard._sign_at(is_first=False) is None
        assert asked == [1]


async def test_a_guard_that_is_begun_anew_tries_again(
    guards: Guards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its takeover was cancelled with it: that is no answer, and must not end the guard for good."""
    tries: list[int] = []

    async def carried_out(*_: object) -> None:
        tries.append(1)
        await asyncio.sleep(PATIENCE_S)

    monkeypatch.setattr("supervisor.agent.guard._carried_out", carried_out)
    monkeypatch.setattr("supervisor.agent.guard._FIRST_AGAIN_S", 0.05)
    _term(tmp_path, voters=1)
    async with guards(SECOND) as (guard,):
        await _until(lambda: tries)
    again = asyncio.create_task(guard.run())
    await _until(lambda: len(tries) > 1 or again.done())
    assert not again.done()
    again.cancel()
    await asyncio.wait({again})


async def test_an_agent_leaves_though_its_takeover_cannot_be_killed(
    guards: Guards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for a dead filesystem does not even die."""
    is_done = asyncio.Event()

    async def carried_out(*_: object) -> None:
        while not is_done.is_set():
            with suppress(asyncio.CancelledError):
                await is_done.wait()

    monkeypatch.setattr("supervisor.agent.guard._carried_out", carried_out)
    monkeypatch.setattr("supervisor.agent.guard._DIES_S", 0.1)
    _term(tmp_path, voters=1)
    async with asyncio.timeout(PATIENCE_S):
        async with guards(SECOND) as (guard,):
            await _until(lambda: guard._tries.task)
    is_done.set()


async def test_without_a_term_nobody_takes_over(guards: Guards, tmp_path: Path) -> None:
    """No supervisor has ever begun, or the shared filesystem is away: then nobody has a say."""
    async with guards(SECOND, THIRD) as (second, _):
        await _until(lambda: second.is_orphaned)
        await asyncio.sleep(3 * LEASE)
    assert _calls(tmp_path) == []
