"""Bundles of older incidents in one file each: nothing of their evidence is lost."""

from pathlib import Path

import msgspec
import pytest

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.errors import PayloadRefused
from supervisor.ledger import bounds
from supervisor.ledger.bounds import Entry, Limits, enforce, plan
from supervisor.ledger.packing import pack
from supervisor.model.ids import JobId

_JOB = JobId("12")
_OOM = "\n\n[rank3]: torch.OutOfMemoryError: CUDA out of memory. \u2028\r\nlast\n"
_PARTS = {
    "job.log": _OOM,
    "ranks.log": "3: x\n",
    "facts.json": '{"collected_at":9.0}',
    "job.json": '{"nodes":["n1","n2"],"ranks":{"3":{"node":"n2"}}}',
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two incidents with four parts, a verdict and, the first one, a correction."""
    for number in (1, 2):
        folder = tmp_path / f"incidents/00{number}"
        folder.mkdir(parents=True)
        for name, text in _PARTS.items():
            (folder / name).write_bytes(text.encode())
        (folder / "verdict.json").write_text("{}")
    (tmp_path / "incidents/001/feedback.json").write_text("{}")
    return tmp_path


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_oldest_bundle_is_packed_before_any_goes(run: Path) -> None:
    """Verdict and correction stay beside it, the newest incident stays as it is."""
    enforce(run, _JOB, now=0.0, limits=Limits(files=8))
    assert _names(run / "incidents/001") == ["bundle.json", "feedback.json", "verdict.json"]
    assert _names(run / "incidents/002") == sorted([*_PARTS, "verdict.json"])


def test_a_packed_bundle_is_the_same_evidence(run: Path) -> None:
    """Lines, places and facts; so the verdict is the same."""
    before = read_bundle(run / "incidents/001")
    verdict = diagnose(before)
    enforce(run, _JOB, now=0.0, limits=Limits(files=8))
    found = read_bundle(run / "incidents/001")
    assert [(log.name, log.kind, log.rank, b"".join(log.data())) for log in found.logs] == [
        ("ranks/3.log", "ranks", 3, b"x\n"),
        ("job.log", "any", None, _OOM.encode()),
    ]
    assert (found.facts, found.places, found.nodes) == (before.facts, before.places, before.nodes)
    assert diagnose(found) == verdict
    assert verdict.cause == "cuda_oom"


def test_a_pack_that_was_broken_off_loses_nothing(run: Path) -> None:
    """Killed while the parts went: what is packed already stays, beside what is packed now."""
    whole = {name: text.encode() for name, text in _PARTS.items()}
    folder = run / "incidents/001"
    pack(folder, ("facts.json", "job.log"))
    enforce(run, _JOB, now=0.0, limits=Limits(files=8))
    assert _names(folder) == ["bundle.json", "feedback.json", "verdict.json"]
    found = msgspec.json.decode((folder / "bundle.json").read_bytes(), type=dict[str, str])
    assert {name: text.encode() for name, text in found.items()} == whole


def test_a_torn_pack_is_replaced(run: Path) -> None:
    """What cannot be read is no evidence, and holds nothing up."""
    (run / "incidents/001/bundle.json").write_text("{")
    enforce(run, _JOB, now=0.0, limits=Limits(files=9))
    assert set(msgspec.json.decode((run / "incidents/001/bundle.json").read_bytes())) == set(_PARTS)


def test_only_as_many_as_needed_are_packed() -> None:
    """Parts are good to read one by one."""
    entries = [Entry(path=f"incidents/00{number}/{name}", size_bytes=1) for number in (1, 2, 3) for name in _PARTS]
    assert plan(entries, _JOB, Limits(files=12)).pack == {}
    assert set(plan(entries, _JOB, Limits(files=11)).pack) == {"incidents/001"}
    assert set(plan(entries, _JOB, Limits(files=7)).pack) == {"incidents/001", "incidents/002"}
    assert plan(entries, _JOB, Limits(files=7)).remove == ()


def test_what_is_not_enough_goes(run: Path) -> None:
    """A bundle that would have to go at once is not packed before."""
    enforce(run, _JOB, now=0.0, limits=Limits(files=7))
    assert _names(run / "incidents/001") == ["feedback.json", "verdict.json"]


def test_a_large_bundle_is_not_packed() -> None:
    """It would have to be read whole."""
    entries = [Entry(path=f"incidents/00{number}/{name}", size_bytes=9_000_000) for number in (1, 2) for name in "ab"]
    assert plan(entries, _JOB, Limits(files=3)).pack == {}


def test_a_disk_that_takes_nothing_costs_no_part(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts stay as they are until the next time."""

    def refuses(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bounds, "pack", refuses)
    enforce(run, _JOB, now=0.0, limits=Limits(files=8))
    assert _names(run / "incidents/001") == sorted([*_PARTS, "feedback.json", "verdict.json"])


@pytest.mark.parametrize("text", ["{", "[]", '{"job.log": 3}', '{"../../x.log": "a"}', "{}"])
def test_a_packed_bundle_that_is_none(tmp_path: Path, text: str) -> None:
    """It is refused, and writes nowhere."""
    (tmp_path / "bundle.json").write_text(text)
    with pytest.raises(PayloadRefused):
        read_bundle(tmp_path)
    assert _names(tmp_path) == ["bundle.json"]
