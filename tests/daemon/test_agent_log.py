"""`agent.log` while the supervisor lives."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.daemon import agent_log
from supervisor.ledger.writer import Writer


async def test_a_flood_of_agents_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at again and again: the file and its older part never hold much more than twice the limit."""
    monkeypatch.setattr(agent_log, "LIMIT_BYTES", 1000)
    path = tmp_path / agent_log.NAME
    with closing(Writer()) as writer:
        keeping = asyncio.create_task(agent_log.keep_bounded(tmp_path, writer, every_s=0.001))
        for number in range(30):
            with path.open("ab") as file:
                file.write(f"{number} {'x' * 1500}\n".encode())
            await asyncio.sleep(0.01)
            assert await writer.flushed(30)
            assert path.stat().st_size < 3000
        keeping.cancel()
        await asyncio.wait({keeping})
    assert (tmp_path / "agent.log.1").stat().st_size == 1000
    assert writer.failed == 0
