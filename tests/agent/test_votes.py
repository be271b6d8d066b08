"""Votes on the shared filesystem: one file per agent, about one renewal of the term."""

import asyncio
import threading
from pathlib import Path

import pytest

from supervisor.agent.votes import Votes
from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import JobId, NodeName, RunId
from supervisor.model.term import Term

TERM = Term(generation=1, renewed_at=17.25, batch_host=NodeName("n1"), voters=2)
SECOND, THIRD = NodeName("n2"), NodeName("n3")


def _votes(folder: Path, node: NodeName, *, job: str = "1", restarts: int = 0) -> Votes:
    config = AgentConfig(
        run_id=RunId("r"), job_id=JobId(job), restarts=restarts, batch_host=NodeName("n1"), run_dir=str(folder)
    )
    return Votes(config, node)


async def test_agents_see_each_others_votes(tmp_path: Path) -> None:
    """Each its own included."""
    second, third = _votes(tmp_path, SECOND), _votes(tmp_path, THIRD)
    assert await second.of(TERM) == frozenset()
    assert await second.cast(TERM)
    assert await third.cast(TERM)
    assert await second.of(TERM) == await third.of(TERM) == {SECOND, THIRD}


async def test_a_vote_is_withdrawn_once_somebody_is_heard(tmp_path: Path) -> None:
    """Also for one who has counted it already."""
    second, third = _votes(tmp_path, SECOND), _votes(tmp_path, THIRD)
    await second.cast(TERM)
    assert await third.of(TERM) == {SECOND}
    await second.withdraw()
    assert await third.of(TERM) == frozenset()


@pytest.mark.parametrize(
    "term",
    [
        Term(generation=1, renewed_at=22.25, batch_host=NodeName("n1")),
        Term(generation=2, renewed_at=17.25, batch_host=NodeName("n1")),
    ],
)
async def test_a_vote_about_another_renewal_counts_for_nothing(tmp_path: Path, term: Term) -> None:
    """A term that was renewed since, or another supervisor's, makes it void whatever the clocks say."""
    second = _votes(tmp_path, SECOND)
    await second.cast(TERM)
    assert await second.of(term) == frozenset()


@pytest.mark.parametrize(("job", "restarts"), [("2", 0), ("1", 1)])
async def test_a_vote_of_another_job_counts_for_nothing(tmp_path: Path, job: str, restarts: int) -> None:
    """Nor one from before Slurm has started the job again."""
    await _votes(tmp_path, SECOND).cast(TERM)
    assert await _votes(tmp_path, THIRD, job=job, restarts=restarts).of(TERM) == frozenset()


@pytest.mark.parametrize("text", ["", "{", '{"node": "n9"}'])
async def test_what_is_no_vote_is_passed_over(tmp_path: Path, text: str) -> None:
    """Torn, empty, or in another's name."""
    second = _votes(tmp_path, SECOND)
    await second.cast(TERM)
    (tmp_path / "votes" / "n3.json").write_text(text or (tmp_path / "votes" / "n2.json").read_text())
    assert await second.of(TERM) == {SECOND}


async def test_a_vote_that_cannot_be_written_is_not_cast(tmp_path: Path) -> None:
    """Who has no shared filesystem has no say: the successor could not run from it either."""
    (tmp_path / "votes").write_text("no folder")
    assert not await _votes(tmp_path, SECOND).cast(TERM)


async def test_a_filesystem_that_hangs_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead mount holds one thread, not one more at each look."""
    let_go, asked = threading.Event(), []

    def hang(self: Path, data: bytes) -> int:
        asked.append(self)
        let_go.wait()
        return len(data)

    monkeypatch.setattr("supervisor.agent.votes._DEADLINE_S", 0.1)
    monkeypatch.setattr(Path, "write_bytes", hang)
    votes = _votes(tmp_path, SECOND)
    try:
        for _ in range(3):
            assert not await votes.cast(TERM)
        assert len(asked) == 1
    finally:
        let_go.set()
        await asyncio.sleep(0)
