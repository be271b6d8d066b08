"""The term: renewed as long as nobody else has the run."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from supervisor.daemon.lease import Lease, others_claim
from supervisor.daemon.surroundings import Surroundings
from supervisor.ledger.takeover import claim_takeover, note_takeover
from supervisor.ledger.writer import Writer
from supervisor.model.base import encode
from supervisor.model.ids import JobId, NodeName
from supervisor.model.takeover import Takeover
from supervisor.model.term import Term

HOST, OTHER = NodeName("n1"), NodeName("n2")
AROUND = Surroundings(job_id=JobId("7"), raw_job_id=JobId("7"), nodes=(HOST, OTHER), here=HOST, restarts=1)
CLAIM = Takeover(job_id=JobId("7"), restarts=1, node=OTHER, batch_host=HOST, at=1.0)
PATIENCE_S = 30.0


@pytest.fixture
def writer() -> Iterator[Writer]:
    """Closed at the end."""
    made = Writer()
    yield made
    made.close(PATIENCE_S)


async def _renewed(folder: Path, writer: Writer, *, at: float = 60.0, outlived: Term | None = None) -> Lease:
    times = iter((10.0, at, at))
    made = Lease(folder, writer, lambda: next(times), AROUND)
    made.outlived = outlived
    made.renew(generation=2, address="10.0.0.1:6818", held=(HOST, OTHER))
    assert await writer.flushed(PATIENCE_S)
    return made


async def test_agents_read_what_the_supervisor_writes(tmp_path: Path, writer: Writer) -> None:
    """Both sides name the fields alike; so many nodes besides this one have a vote."""
    made = await _renewed(tmp_path, writer)
    assert made.written_at == 60.0
    read = msgspec.json.decode((tmp_path / "term.json").read_bytes(), type=Term)
    assert (read.generation, read.renewed_at, read.batch_host, read.slurmd_address) == (2, 60.0, HOST, "10.0.0.1:6818")
    assert (read.voters, read.job_id, read.restarts) == (1, "7", 1)


async def test_a_run_that_an_agent_has_taken_over_is_not_renewed(tmp_path: Path, writer: Writer) -> None:
    """The claim is the point of no return, whatever has come of it yet."""
    claim_takeover(tmp_path, CLAIM)
    made = await _renewed(tmp_path, writer)
    assert "n2" in made.lost_to
    assert made.written_at == 10.0
    assert not (tmp_path / "term.json").exists()
    async with asyncio.timeout(PATIENCE_S):
        await made.keep(generation=2, address="", held=lambda: ())  # it ends by itself


async def test_a_takeover_that_came_to_nothing_is_no_loss(tmp_path: Path) -> None:
    """No other job could be had; and the claim on another start of the job is none on this one."""
    claim_takeover(tmp_path, CLAIM)
    note_takeover(tmp_path, msgspec.structs.replace(CLAIM, refused="sbatch: no"))
    claim_takeover(tmp_path, msgspec.structs.replace(CLAIM, restarts=0))
    assert others_claim(tmp_path, AROUND) == ""


@pytest.mark.parametrize(("job", "restarts"), [("8", 0), ("7", 2)])
async def test_the_term_of_a_later_job_stays(tmp_path: Path, writer: Writer, job: str, restarts: int) -> None:
    """Slurm has given this node up and started the run elsewhere: it is not ours any more."""
    later = encode(Term(generation=1, renewed_at=50.0, batch_host=OTHER, job_id=JobId(job), restarts=restarts))
    (tmp_path / "term.json").write_bytes(later)
    made = await _renewed(tmp_path, writer)
    assert made.lost_to == f"job {job} on n2 goes on with this run"
    assert (tmp_path / "term.json").read_bytes() == later


async def test_the_term_of_a_later_job_that_has_ended_is_replaced(tmp_path: Path, writer: Writer) -> None:
    """A person has started this job again; should the later one be started again too, that one has the run."""
    outlived = Term(generation=1, renewed_at=50.0, batch_host=OTHER, job_id=JobId("8"))
    (tmp_path / "term.json").write_bytes(encode(outlived))
    assert others_claim(tmp_path, AROUND, outlived=outlived) == ""
    made = await _renewed(tmp_path, writer, outlived=outlived)
    assert made.lost_to == ""
    again = msgspec.structs.replace(outlived, restarts=1, renewed_at=90.0)
    (tmp_path / "term.json").write_bytes(encode(again))
    assert "job 8" in others_claim(tmp_path, AROUND, outlived=outlived)


@pytest.mark.parametrize("text", ["", "{", '{"generation": 3}'])
async def test_an_older_or_broken_term_is_replaced(tmp_path: Path, writer: Writer, text: str) -> None:
    """The job before has left it, or a full disk has."""
    (tmp_path / "term.json").write_text(text)
    made = await _renewed(tmp_path, writer)
    assert made.lost_to == ""
    assert b'"renewed_at":60.0' in (tmp_path / "term.json").read_bytes()


async def test_a_folder_that_is_gone_costs_only_the_renewal(tmp_path: Path, writer: Writer) -> None:
    """What was reached last stays what it was."""
    (tmp_path / "folder").write_text("in its place")
    made = await _renewed(tmp_path / "folder", writer)
    assert (made.lost_to, made.written_at) == ("", 10.0)
