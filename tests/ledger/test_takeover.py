"""The claim on a job whose batch host is dead."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from supervisor.ledger.takeover import claim_takeover, note_takeover, read_takeover, takeovers
from supervisor.model.ids import JobId, NodeName
from supervisor.model.takeover import Takeover


def _takeover(node: str, *, restarts: int = 0, at: float = 1.0) -> Takeover:
    return Takeover(job_id=JobId("7"), restarts=restarts, node=NodeName(node), batch_host=NodeName("n1"), at=at)


def test_of_all_agents_at_once_one_has_it(tmp_path: Path) -> None:
    """Each of them thinks that its turn has come: who reads the claim afterwards reads one name."""
    agents = [f"n{number}" for number in range(2, 34)]
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda node: claim_takeover(tmp_path, _takeover(node)), agents))
    assert won.count(True) == 1
    found = read_takeover(tmp_path, JobId("7"), 0)
    assert found is not None
    assert found.node == agents[won.index(True)]


def test_each_start_of_a_job_has_its_own(tmp_path: Path) -> None:
    """Slurm has started the job again, and its batch host dies again."""
    assert claim_takeover(tmp_path, _takeover("n2"))
    assert claim_takeover(tmp_path, _takeover("n3", restarts=1, at=2.0))
    assert [each.node for each in takeovers(tmp_path)] == ["n2", "n3"]


def test_the_claimant_notes_how_far_it_has_come(tmp_path: Path) -> None:
    """The successor's number, for agents that come later and for the successor itself."""
    claim_takeover(tmp_path, _takeover("n2"))
    note_takeover(tmp_path, msgspec.structs.replace(_takeover("n2"), successor=JobId("8")))
    found = read_takeover(tmp_path, JobId("7"), 0)
    assert found is not None
    assert found.successor == "8"


def test_no_claim_is_none_and_an_unreadable_one_is_an_error(tmp_path: Path) -> None:
    """Who cannot read it must not act as if nobody had claimed."""
    assert read_takeover(tmp_path, JobId("7"), 0) is None
    (tmp_path / "takeovers").mkdir()
    (tmp_path / "takeovers" / "7.0.json").write_text("{")
    with pytest.raises(OSError, match="cannot be read"):
        read_takeover(tmp_path, JobId("7"), 0)
    assert takeovers(tmp_path) == []
