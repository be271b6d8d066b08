"""What an incident leaves in the run folder, and the verdict on it."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from supervisor.core.events import Diagnosed, SlurmReported
from supervisor.core.instructions import Collect
from supervisor.daemon.evidence import gathered
from supervisor.daemon.hands import collect as hand
from supervisor.daemon.output import Output
from supervisor.daemon.roster import Roster
from supervisor.daemon.step_files import StepFiles
from supervisor.daemon.world import World
from supervisor.diagnose.bundle import Bundle, Facts, Log, Place
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.scan.one_log import reading_catalogue
from supervisor.ledger.bounds import Limits
from supervisor.ledger.writer import Writer
from supervisor.model.facts import JobFacts
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, Rank
from supervisor.model.verdict import Verdict
from supervisor.model.wire import Beats, NodeFacts, RankBeat, Status
from supervisor.settings import Settings

_NODES = (NodeName("node001"), NodeName("node002"))
_FIRST = AttemptNo(1)
_NOW = 1000.0
_OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
_ORDER = Collect(incident=IncidentNo(1), attempt=_FIRST, code=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two nodes with two ranks each; a job that writes errors into a file of their own."""
    paths = [tmp_path / "job-7.out", tmp_path / "job-7.err"]
    for path in paths:
        path.write_text("")
    output = Output(paths=paths, keep_lines=50, span_s=3600.0)
    output.begin(_FIRST)
    roster = Roster(silence_s=2.0, expected_s=20.0)
    roster.expect(_NODES, _NOW - 60)
    roster.begin(_FIRST)
    with closing(Writer()) as writer:
        made = SimpleNamespace(
            step_files=StepFiles(),
            folder=tmp_path / "run",
            writer=writer,
            roster=roster,
            output=output,
            settings=Settings(),
            signatures=reading_catalogue(),
            clock=lambda: _NOW,
            post=[].append,
        )
        yield cast("World", made)


def _beat(world: World, node: NodeName, *ranks: int, age_s: float = 4.0, **changes: Any) -> None:
    beats = [
        RankBeat(
            rank=Rank(rank), pid=rank, step=25, phase="step", count=9, age_s=age_s, **{"is_alive": True, **changes}
        )
        for rank in ranks
    ]
    world.roster.beats(Beats(node=node, at=_NOW, attempt=_FIRST, ranks=tuple(beats)), _NOW - 1)


async def _said(world: World, out: str, err: str = "") -> None:
    for path, text in zip(world.output.paths, (out, err), strict=True):
        with path.open("a") as file:
            file.write(text)
    await world.output.read(_NOW - 2)


async def _collected(world: World, monkeypatch: pytest.MonkeyPatch, job: JobFacts | None = None) -> Diagnosed:
    async def answer(*_: object) -> SlurmReported:
        return SlurmReported(at=_NOW, job=job)

    monkeypatch.setattr(hand, "ask_slurm", answer)
    found = await hand.collect(world, _ORDER)
    assert await world.writer.flushed(5.0)
    return found


def _folder(world: World) -> Path:
    return world.folder / "incidents/001"


async def test_the_folder_gives_the_same_verdict(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`supervise diagnose` of what was kept says what the supervisor said, evidence and fingerprint included."""
    _beat(world, _NODES[0], 0, 1)
    _beat(world, _NODES[1], 2, 3)
    await _said(world, f"step 1\n{_OOM}\n", "srun: error: node002: task 3: Exited with exit code 1\n")
    found = await _collected(world, monkeypatch, JobFacts(job_id=JobId("7"), state="FAILED", reason="NonZeroExitCode"))
    assert (found.verdict.cause, found.verdict.blame.ranks, found.verdict.blame.nodes) == (
        "cuda_oom",
        (3,),
        ("node002",),
    )
    assert diagnose(read_bundle(_folder(world))) == found.verdict
    assert sorted(path.name for path in _folder(world).iterdir()) == [
        "beats.json", "facts.json", "job.err", "job.json", "job.log", "slurm.json",
    ]  # fmt: skip


async def test_what_was_gathered_is_read_back_as_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places, beats, facts and lines alike."""
    _beat(world, _NODES[0], 0, 1)
    _beat(world, _NODES[1], 2, 3, is_alive=False)
    await _said(world, "step 1\n")
    await _collected(world, monkeypatch)
    known, found = gathered(world, _ORDER, None), read_bundle(_folder(world))
    assert (found.nodes, found.places, found.beats, found.facts) == (
        known.nodes,
        known.places,
        known.beats,
        known.facts,
    )
    assert found.places[Rank(3)] == Place(node=_NODES[1], local_rank=1)
    assert found.beats[1]["ranks"][0]["age_s"] == 5.0


async def test_a_rank_that_vanished_is_blamed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the output: the beats alone tell whose process is gone."""
    _beat(world, _NODES[0], 0, 1)
    _beat(world, _NODES[1], 2, is_alive=False)
    _beat(world, _NODES[1], 3)
    found = await _collected(world, monkeypatch)
    assert (found.verdict.cause, found.verdict.blame.ranks, found.verdict.blame.nodes) == (
        "unattributed",
        (2,),
        ("node002",),
    )


async def test_a_gpu_is_told_only_where_each_rank_has_one(world: World) -> None:
    """As many ranks on a node as GPUs: then the local number is the GPU's."""
    world.roster.status(Status(node=_NODES[0], state="up", facts=NodeFacts(gpu_count=2)), _NOW)
    world.roster.status(Status(node=_NODES[1], state="up", facts=NodeFacts(gpu_count=0)), _NOW)
    _beat(world, _NODES[0], 0, 1)
    _beat(world, _NODES[1], 2, 3)
    places = gathered(world, _ORDER, None).places
    assert (places[Rank(1)].gpu, places[Rank(3)].gpu) == (1, None)


async def test_numbers_on_a_node_need_all_ranks(world: World) -> None:
    """Rank 2 has not told of itself: rank 3 may be the first or the second one of its node."""
    _beat(world, _NODES[0], 0, 1)
    _beat(world, _NODES[1], 3)
    assert gathered(world, _ORDER, None).places[Rank(3)] == Place(node=_NODES[1])


async def test_what_was_overcome_long_ago_is_no_evidence(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window spans an hour before the last line and the last step, beside the last lines."""
    monkeypatch.setattr(world, "settings", Settings(evidence_span_s=100.0))
    with world.output.paths[0].open("a") as file:
        file.write(f"{_OOM}\n" + 60 * "noise\n")
    await world.output.read(_NOW - 500)
    await _said(world, 3 * "noise\n")
    assert (await _collected(world, monkeypatch)).verdict.cause == "unattributed"


async def test_a_diagnosis_that_does_not_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the deadline the verdict is unattributed with that reason; the evidence is kept, and the loop was not held."""
    monkeypatch.setattr(world, "settings", Settings(collect_deadline_s=0.2))
    monkeypatch.setattr(hand, "diagnose", lambda *_: time.sleep(3.0))
    await _said(world, f"{_OOM}\n")
    began = time.monotonic()
    verdict = (await _collected(world, monkeypatch)).verdict
    assert time.monotonic() - began < 2.0
    assert (verdict.cause, verdict.confidence) == ("unattributed", 0.0)
    assert "did not end within 0.2 s" in verdict.summary
    assert diagnose(read_bundle(_folder(world))).cause == "cuda_oom"


async def test_a_diagnosis_that_breaks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer at once, not the end of the stage's time; the evidence is kept."""

    def breaks(*_: object) -> Verdict:
        raise RecursionError("a bundle that nobody has thought of")

    monkeypatch.setattr(hand, "diagnose", breaks)
    await _said(world, f"{_OOM}\n")
    verdict = (await _collected(world, monkeypatch)).verdict
    assert (verdict.cause, verdict.confidence) == ("unattributed", 0.0)
    assert "the diagnosis broke" in verdict.summary
    assert (_folder(world) / "job.log").read_text() == f"{_OOM}\n"


async def test_the_last_lines_of_a_flood_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chatty library wrote 40 MB in the second before the crash, which stands at the end."""
    monkeypatch.setattr(world, "settings", Settings(collect_deadline_s=12.0))
    monkeypatch.setattr(hand, "_LAST_LINES_S", 1.2)  # four times the usual: the machine may be busy with other tests
    with world.output.paths[0].open("a") as file:
        file.write(400_000 * f"{99 * 'x'}\n" + f"{_OOM}\n")
    assert (await _collected(world, monkeypatch)).verdict.cause == "cuda_oom"


def test_an_incident_of_many_ranks_leaves_few_files(tmp_path: Path) -> None:
    """128 ranks have one file, and what is read from the folder is what the verdict was made from."""
    ranks = tuple(
        Log(name=f"ranks/{rank}.log", lines=(f"rank {rank}", "0: gone"), kind="ranks", rank=Rank(rank))
        for rank in range(128)
    )
    bundle = Bundle(logs=(*ranks, Log(name="job.log", lines=("srun: error",))), facts=Facts(lost_nodes=_NODES))
    _kept(tmp_path, bundle)
    folder = tmp_path / "incidents/001"
    assert sorted(path.name for path in folder.iterdir()) == ["facts.json", "job.log", "ranks.log"]
    assert len(list(tmp_path.rglob("*"))) < Limits().files / 2
    found = {log.name: (log.rank, b"".join(log.data())) for log in read_bundle(folder).logs}
    assert found == {log.name: (log.rank, b"".join(log.data())) for log in bundle.logs}
    assert "3: rank 3\n3: 0: gone\n" in (folder / "ranks.log").read_text()


def test_without_ranks_there_is_no_file_of_them(tmp_path: Path) -> None:
    """The usual case: lines get their rank by content."""
    _kept(tmp_path, Bundle(logs=(Log(name="job.log", lines=("srun: error",)),)))
    assert not (tmp_path / "incidents/001/ranks.log").exists()


def _kept(folder: Path, bundle: Bundle) -> None:
    with closing(Writer()) as writer:
        hand._keep(cast("World", SimpleNamespace(folder=folder, writer=writer)), _ORDER, bundle)


def test_the_verdict_of_a_cut_diagnosis_is_honest() -> None:
    """It may be tried once more, as any interruption that nobody can explain."""
    verdict: Verdict = hand._not_judged("x")
    assert (str(verdict.cls), str(verdict.retry), verdict.unread) == ("unknown", "once", ("x",))
