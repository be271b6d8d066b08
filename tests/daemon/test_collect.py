"""What an incident leaves in the run folder."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from supervisor.core.instructions import Collect
from supervisor.daemon.hands import collect as hand
from supervisor.daemon.world import World
from supervisor.diagnose.bundle import Bundle, Facts, Log
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.ledger.bounds import Limits
from supervisor.ledger.writer import Writer
from supervisor.model.ids import AttemptNo, IncidentNo, Rank
from supervisor.model.wire import RankBeat


def test_an_incident_of_many_ranks_leaves_few_files(tmp_path: Path) -> None:
    """128 ranks have one file, and what is read from the folder is what the verdict was made from."""
    ranks = tuple(
        Log(name=f"ranks/{rank}.log", lines=(f"rank {rank}", "0: gone"), kind="ranks", rank=Rank(rank))
        for rank in range(128)
    )
    bundle = Bundle(logs=(*ranks, Log(name="slurm.log", lines=("srun: error",))), facts=Facts(exit_code=1))
    _kept(tmp_path, bundle)
    folder = tmp_path / "incidents/001"
    assert sorted(path.name for path in folder.iterdir()) == ["beats.json", "facts.json", "ranks.log", "slurm.log"]
    assert len(list(tmp_path.rglob("*"))) < Limits().files / 2
    found = {log.name: (log.rank, b"".join(log.data())) for log in read_bundle(folder).logs}
    assert found == {log.name: (log.rank, b"".join(log.data())) for log in bundle.logs}
    assert "3: rank 3\n3: 0: gone\n" in (folder / "ranks.log").read_text()


def test_without_ranks_there_is_no_file_of_them(tmp_path: Path) -> None:
    """The usual case: lines get their rank by content."""
    _kept(tmp_path, Bundle(logs=(Log(name="slurm.log", lines=("srun: error",)),)))
    assert not (tmp_path / "incidents/001/ranks.log").exists()


def _kept(folder: Path, bundle: Bundle) -> None:
    none: list[tuple[str, RankBeat, float]] = []
    with closing(Writer()) as writer:
        world = SimpleNamespace(
            folder=folder, writer=writer, roster=SimpleNamespace(ranks=lambda: none), clock=lambda: 1.0
        )
        order = Collect(incident=IncidentNo(1), attempt=AttemptNo(1))
        hand._keep(cast("World", world), order, bundle)
