"""What the supervisor writes of a bundle is read back as the same bundle."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from supervisor.diagnose.bundle import Bundle, Facts, Log, Place
from supervisor.diagnose.bundle_files import files_of
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.model.ids import NodeName, Rank
from tests.diagnose.corpus import Incident, incidents

_AT = 1_790_000_000.0
_N1, _N2 = NodeName("node001"), NodeName("node002")


def _written(bundle: Bundle, folder: Path) -> Path:
    for name, content in files_of(bundle).items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    "facts",
    [
        Facts(),
        Facts(exit_code=0),
        Facts(exit_code=137, job_state="FAILED", job_reason="NonZeroExitCode"),
        Facts(exit_signal=9, lost_nodes=(_N1,), preempt_time=3.5, is_cancelled=True, collected_at=_AT),
    ],
)
def test_facts_places_and_beats_come_back(tmp_path: Path, facts: Facts) -> None:
    """Slurm's word in slurm.json, our own in facts.json, where ranks ran in job.json."""
    bundle = Bundle(
        logs=(Log(name="job.log", lines=("a", "", "b\u2028c")),),
        facts=facts,
        nodes=(_N1, _N2),
        places={Rank(0): Place(node=_N1, local_rank=0, gpu=0), Rank(1): Place(node=_N2, local_rank=0)},
        beats=({"node": "node001", "ranks": [{"rank": 0}]},),
    )
    found = read_bundle(_written(bundle, tmp_path))
    assert (found.facts, found.nodes, found.places, found.beats) == (
        facts, bundle.nodes, bundle.places, bundle.beats,
    )  # fmt: skip
    assert [(log.name, log.kind, b"".join(log.data())) for log in found.logs] == [
        (log.name, log.kind, b"".join(log.data())) for log in bundle.logs
    ]


def test_what_is_not_known_has_no_file(tmp_path: Path) -> None:
    """A run folder has room for few."""
    assert files_of(Bundle()) == {}
    assert set(files_of(Bundle(facts=Facts(exit_code=1)))) == {"slurm.json"}
    assert tmp_path.is_dir()


def test_a_line_without_date_means_the_day_it_was_gathered(tmp_path: Path) -> None:
    """Also when the folder is copied months later: the files' own times say nothing."""
    lines = ("Nov 30 23:59:58 node001 kernel: x", "04:33:12 srun: error: node002: task 3: Out Of Memory")
    bundle = Bundle(logs=(Log(name="job.log", lines=lines),), facts=Facts(collected_at=_AT))
    assert diagnose(read_bundle(_written(bundle, tmp_path))) == diagnose(bundle)


def _recorded() -> Iterator[Incident]:
    yield from incidents("tuned")


@pytest.mark.parametrize("incident", list(_recorded()), ids=lambda one: one.name)
def test_the_verdict_on_a_recorded_incident_is_the_same(incident: Incident, tmp_path: Path) -> None:
    """Judged from memory as the supervisor does, and from the folder that it has written."""
    known = read_bundle(incident.write(_new(tmp_path / "recorded")))
    lines = [line for log in known.logs for line in b"".join(log.data()).decode(errors="replace").split("\n")]
    bundle = Bundle(
        logs=(Log(name="job.log", lines=tuple(line.rpartition("\r")[2] for line in lines)),),
        facts=msgspec.structs.replace(known.facts, collected_at=_AT),
        nodes=known.nodes,
        places=known.places,
        beats=known.beats,
    )
    assert diagnose(read_bundle(_written(bundle, _new(tmp_path / "kept")))) == diagnose(bundle)


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder
