"""The signs that do not come over the bus."""

import asyncio
import json
import threading
from pathlib import Path

from supervisor.agent.lease import Lease
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import JobId, NodeName, RunId

PATIENCE_S = 30.0


def _config(tmp_path: Path, **changes: str) -> AgentConfig:
    usual = {"run_dir": str(tmp_path), "slurmd_address": "127.0.0.1:1", **changes}
    return AgentConfig(run_id=RunId("r"), job_id=JobId("1"), batch_host=NodeName("n1"), **usual)  # type: ignore[arg-type]  # by name


def _write(tmp_path: Path, **term: object) -> None:
    (tmp_path / "term.json").write_text(json.dumps({"generation": 1, "batch_host": "n1", "later": [1], **term}))


async def test_a_changed_file_is_a_sign_and_an_unchanged_one_is_none(tmp_path: Path) -> None:
    """Only what has been rewritten since the last question says that somebody lives."""
    lease = Lease(_config(tmp_path))
    for renewed_at in (1.0, 6.0):
        _write(tmp_path, renewed_at=renewed_at)
        assert await lease.is_renewed(deadline_s=PATIENCE_S)
        assert not await lease.is_renewed(deadline_s=PATIENCE_S)


async def test_a_term_of_another_job_is_no_sign(tmp_path: Path) -> None:
    """A successor supervises the run: nobody supervises this job any more."""
    lease = Lease(_config(tmp_path))
    _write(tmp_path, renewed_at=1.0, job_id="1")
    assert await lease.is_renewed(deadline_s=PATIENCE_S)
    _write(tmp_path, renewed_at=2.0, job_id="2")
    assert not await lease.is_renewed(deadline_s=PATIENCE_S)
    assert lease.term is not None
    assert lease.term.renewed_at == 1.0


async def test_a_missing_or_broken_file_is_no_sign(tmp_path: Path) -> None:
    """Unreadable is not renewed, and no error either."""
    lease = Lease(_config(tmp_path))
    assert not await lease.is_renewed(deadline_s=PATIENCE_S)
    (tmp_path / "term.json").write_text('{"generation": ')
    assert not await lease.is_renewed(deadline_s=PATIENCE_S)


async def test_a_filesystem_that_hangs_is_no_sign_and_asked_once(tmp_path: Path) -> None:
    """A dead mount holds one thread, not one more at each look."""
    let_go, asked = threading.Event(), []

    def read(path: Path) -> bytes:
        asked.append(path)
        let_go.wait()
        return b"{}"

    lease = Lease(_config(tmp_path), read=read)
    try:
        for _ in range(3):
            assert not await lease.is_renewed(deadline_s=0.1)
        assert len(asked) == 1
    finally:
        let_go.set()


async def test_the_slurmd_of_the_batch_host_is_asked(tmp_path: Path) -> None:
    """A connection that is accepted is a sign; a newer address in the file goes first."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    lease = Lease(_config(tmp_path))
    async with server:
        assert not await lease.is_slurmd_there(deadline_s=PATIENCE_S)
        _write(tmp_path, slurmd_address=address)
        await lease.is_renewed(deadline_s=PATIENCE_S)
        assert await lease.is_slurmd_there(deadline_s=PATIENCE_S)


async def test_the_batch_host_follows_a_takeover(tmp_path: Path) -> None:
    """Who supervises now is what the file says."""
    lease = Lease(_config(tmp_path))
    assert lease.batch_host == "n1"
    _write(tmp_path, batch_host="n3")
    await lease.is_renewed(deadline_s=PATIENCE_S)
    assert lease.batch_host == "n3"
