"""The archive that proves a report."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.errors import UsageError
from supervisor.ledger.site.history import SiteHistory
from supervisor.ledger.site.names import run_key
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Class, Evidence, Verdict
from supervisor.redact.text import redacted
from supervisor.report.archive import pack as packing
from supervisor.report.archive.files import How, files
from supervisor.report.archive.pack import FOLDER, pack
from supervisor.report.archive.proof import NO_FOLDER, NO_ROOM, by_key, proof
from supervisor.report.archive.records import careful_records
from supervisor.report.archive.write import write_new
from supervisor.report.fleet.make import report_of
from supervisor.report.fleet.model import Cost, FleetReport, Interruption
from supervisor.report.fleet.window import Asked

_RUN = RunId("secret-project-k3")
_AT = 1_796_000_000.1234
_HOW = How(commands=("supervise report --since 7d",), versions={"supervise": "0.1.0"})


def _record(number: int = 1, *, at: float = _AT, lines: int = 1, text: str = "Xid 48") -> IncidentRecord:
    evidence = tuple(
        Evidence(source=f"ranks/{at}.log:7", role="root", signature="xid_48", text=f"{text} {at}")
        for at in range(lines)
    )
    verdict = Verdict(cls=Class.HARDWARE, cause="gpu_lost", confidence=0.9, summary="a GPU is gone", evidence=evidence)
    return IncidentRecord(
        run_id=_RUN,
        job_id=JobId("17"),
        incident=IncidentNo(number),
        attempt=AttemptNo(1),
        opened_at=at,
        evidence_at=at,
        verdict=verdict,
        action="relaunch",
    )


def _row(at: float = round(_AT, 3)) -> Interruption:
    return Interruption(
        at=at, cluster="c1", job="17", run=run_key(_RUN), user="u", partition="p", node_count=2, gpus_per_node=8,
        cls="hardware", cause="gpu_lost", confidence=0.9, nodes=("n1",), gpus=(), action="relaunch", isolation="node",
        detect_s=1.0, isolate_s=0.1, recovery_s=3.0, steps_lost=0, cost=Cost(gpu_h=1.0),
    )  # fmt: skip


def _report(*rows: Interruption) -> FleetReport:
    made = report_of(SiteHistory(), Asked(until=_AT + 60), source="ledger", place="/srv/ledger")
    return replace(made, rows=rows, interruptions=len(rows))


def _told(report: FleetReport, records: list[IncidentRecord], **more: Any) -> list[dict[str, Any]]:
    lines = proof(report, by_key(records), redacted=redacted, **more).splitlines()
    return [json.loads(line) for line in lines]


def _members(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_the_same_files_give_the_same_bytes() -> None:
    """Neither the order of the files nor the time or the user shows in an archive."""
    one, other = pack({"b": b"2", "a": b"1"}), pack({"a": b"1", "b": b"2"})
    assert one == other
    members = _members(one)
    assert list(members) == [f"{FOLDER}/{name}" for name in ("MANIFEST", "a", "b")]
    assert {(each.mode, each.mtime, each.uid, each.uname, each.type) for each in members.values()} == {
        (0o600, 0, 0, "", tarfile.REGTYPE)
    }
    assert gzip.decompress(one)  # and no time in the gzip header either
    assert one[4:8] == b"\0\0\0\0"


def test_the_manifest_names_every_other_file_with_its_digest() -> None:
    """`sha256sum -c MANIFEST` proves that nothing was changed."""
    with tarfile.open(fileobj=io.BytesIO(pack({"b": b"2", "a": b"1"}))) as tar:
        manifest = tar.extractfile(f"{FOLDER}/MANIFEST")
        assert manifest is not None
        lines = manifest.read().decode().splitlines()
    assert lines == [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in (("a", b"1"), ("b", b"2"))]


def test_too_much_evidence_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive has a bound."""
    monkeypatch.setattr(packing, "LARGEST_BYTES", 10)
    with pytest.raises(UsageError, match="--since"):
        pack({"a": b"x" * 11})


def test_the_archive_holds_figures_page_rows_proof_and_how() -> None:
    """Whoever gets the archive needs nothing else."""
    made = files(_report(_row()), how=_HOW, figures=b'{"a":1}', proof=b"{}\n")
    assert sorted(made) == ["README", "figures.json", "how.json", "interruptions.csv", "proof.jsonl", "report.html"]
    how = json.loads(made["how.json"])
    assert how["commands"] == ["supervise report --since 7d"]
    assert how["versions"] == {"supervise": "0.1.0"}
    assert (how["source"], how["place"], how["since"], how["until"]) == ("ledger", "/srv/ledger", None, _AT + 60)
    assert (how["interruptions"], how["interruptions_here"]) == (1, 1)
    documented = (Path(__file__).resolve().parents[3] / "docs" / "report-page.md").read_text(encoding="utf-8")
    for name in {*made, "MANIFEST"}:
        assert name == "README" or name in made["README"].decode()
        assert f"| `{name}` |" in documented


def test_each_interruption_has_its_ids_and_lines() -> None:
    """A row finds its record by run and moment; the run's name, which begins with the job's, is not told."""
    [told] = _told(_report(_row()), [_record(3)])
    assert (told["job"], told["run"], told["incident"]) == ("17", run_key(_RUN), 3)
    assert told["lines"] == [
        {"source": "ranks/0.log:7", "role": "root", "signature": "xid_48", "at": None, "text": "Xid 48 0"}
    ]
    assert _RUN not in json.dumps(told)


def test_without_a_run_folder_the_ids_are_told_and_why_there_are_no_lines() -> None:
    """A reader sees only what he may read, and is told so."""
    [told] = _told(_report(_row()), [])
    assert (told["lines"], told["why_none"], told["job"]) == ([], NO_FOLDER, "17")


def test_lines_can_be_withheld() -> None:
    """Where names are not to be told, lines of a log are not, either."""
    [told] = _told(_report(_row()), [_record()], withheld="users are pseudonyms")
    assert (told["lines"], told["why_none"]) == ([], "users are pseudonyms")


def test_secrets_are_taken_out_before_a_line_is_cut() -> None:
    """A token that begins before the cut and ends behind it is gone, too."""
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4h"  # invented
    [told] = _told(_report(_row()), [_record(text="x" * 1980 + f" HF_TOKEN={token}")])
    assert "hf_" not in told["lines"][0]["text"]
    assert len(told["lines"][0]["text"]) <= 2000


def test_lines_are_bounded_and_what_is_missing_is_counted() -> None:
    """One loud interruption does not fill the archive."""
    [told] = _told(_report(_row()), [_record(lines=45)])
    assert (len(told["lines"]), told["more"]) == (40, 5)


def test_when_the_room_is_used_up_the_rest_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """All interruptions together have a bound, and the ids of the rest are still told."""
    monkeypatch.setattr("supervisor.report.archive.proof._TOTAL", 5)
    told = _told(_report(_row(), _row(round(_AT + 1, 3))), [_record(), _record(2, at=_AT + 1)])
    assert told[0]["lines"]
    assert (told[1]["lines"], told[1]["why_none"]) == ([], NO_ROOM)


def _folder(place: Path) -> Path:
    for number in (1, 2):
        incident = place / "incidents" / f"{number:03d}"
        incident.mkdir(parents=True)
        (incident / "verdict.json").write_bytes(msgspec.json.encode(_record(number)))
    return place


def test_records_are_read_from_folders_and_from_the_packed_file(tmp_path: Path) -> None:
    """The newest of two with one number is the folder's."""
    folder = _folder(tmp_path)
    old = replace_text(_record(1), "old")
    (folder / "incidents.jsonl").write_bytes(msgspec.json.encode(old) + b"\n{torn\n" + msgspec.json.encode(_record(9)))
    found = careful_records(folder)
    assert [record.incident for record in found] == [1, 2, 9]
    assert found[0].action == "relaunch"


def replace_text(record: IncidentRecord, action: str) -> IncidentRecord:
    return msgspec.structs.replace(record, action=action)


@pytest.mark.parametrize("name", ["", "incidents", "incidents/001", "incidents/001/verdict.json", "incidents.jsonl"])
def test_no_link_is_followed(tmp_path: Path, name: str) -> None:
    """Whoever owns a run folder cannot make an admin's archive hold another file."""
    true = _folder(tmp_path / "true")
    (true / "incidents.jsonl").write_bytes(msgspec.json.encode(_record(7)))
    mine = tmp_path / "mine"
    if name:
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).symlink_to(true / name)
    else:
        mine.symlink_to(true)
    assert careful_records(mine) == []


def test_pipes_and_giants_are_passed_by(tmp_path: Path) -> None:
    """Nothing in a folder can make the reader wait or fill its memory."""
    folder = _folder(tmp_path)
    os.mkfifo(folder / "incidents.jsonl")
    (folder / "incidents" / "002" / "verdict.json").write_bytes(b" " * ((4 << 20) + 1))
    (folder / "incidents" / "file").write_bytes(b"")
    assert [record.incident for record in careful_records(folder)] == [1]


def test_a_folder_that_is_gone_has_no_records(tmp_path: Path) -> None:
    """It may have been removed meanwhile."""
    assert careful_records(tmp_path / "gone") == []


def test_the_archive_is_the_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask says."""
    before = os.umask(0)
    try:
        write_new(tmp_path / "a.tar.gz", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("is_link", [True, False])
def test_nothing_is_written_over(tmp_path: Path, *, is_link: bool) -> None:
    """Neither a file nor what a link points to, not even where nothing is."""
    target, aim = tmp_path / "a.tar.gz", tmp_path / "aim"
    if is_link:
        target.symlink_to(aim)
    else:
        target.write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        write_new(target, b"new")
    assert not aim.exists()
    assert is_link or target.read_bytes() == b"old"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With the reason."""
    with pytest.raises(UsageError, match="No such file"):
        write_new(tmp_path / "none" / "a.tar.gz", b"x")


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an archive proves nothing."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        write_new(tmp_path / "a.tar.gz", b"x")
    assert list(tmp_path.iterdir()) == []
