"""`supervise report --html` and `--evidence`, as an admin types them."""

import io
import json
import os
import tarfile
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner, Result

from supervisor.cli.main import cli
from supervisor.errors import UsageError
from supervisor.ledger.find_run import IndexLine, note_run
from supervisor.ledger.site.from_record import site_incident
from supervisor.ledger.site.names import run_key
from supervisor.model.ids import JobId, NodeName, RunId
from supervisor.model.records import IncidentRecord
from supervisor.model.site import SiteJob, SiteUse
from supervisor.model.verdict import Evidence
from supervisor.report.archive.proof import NO_FOLDER
from tests.ledger.site.made import lay
from tests.report import makers

_SECRET = "swordfish"
_HOSTILE = "<b onclick='x'>&"


@pytest.fixture
def record() -> IncidentRecord:
    """An hour ago a node was lost; its log line has a password in it."""
    found = makers.lost_node(opened_at=time.time() - 3600, evidence_at=time.time() - 3602)
    said = Evidence(source="job.log:7", role="root", signature="x", text=f"node003 is lost --password {_SECRET}")
    verdict = msgspec.structs.replace(found.verdict, evidence=(said,))
    return msgspec.structs.replace(found, verdict=verdict, nodes_before=makers.NODES)


@pytest.fixture
def ledger(tmp_path: Path, record: IncidentRecord) -> Path:
    """Two jobs: one whose run folder can be there, and one of somebody else with a hostile name."""
    root = tmp_path / "ledger"
    for job, run, user in (("17", run_key(record.run_id), ""), ("18", "f" * 12, "")):
        at = time.time() - 7200
        lines = (
            SiteJob(at=at, cluster="c1", job=JobId(job), run=run, user=user, nodes=makers.NODES, partition=_HOSTILE),
            msgspec.structs.replace(site_incident(record, run), job=JobId(job), nodes=(NodeName("node003"),)),
            SiteUse(at=at + 7000, job=JobId(job), run=run, held_node_s=28_000.0, computing_node_s=27_000.0, step=9),
        )
        lay(root, f"c1/{time.strftime('%Y-%m', time.gmtime(at))}/{job}-{run}.jsonl", *lines)
    return root


def _make(folder: Path, *records: IncidentRecord) -> None:
    run = makers.run_file(created_at=time.time() - 7200)
    makers.make(folder, *records, run=run, status=makers.status(updated_at=time.time()))


def _type(*words: str) -> Result:
    return CliRunner().invoke(cli, ["report", *words], catch_exceptions=False)


def _files(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        opened = {member.name.partition("/")[2]: tar.extractfile(member) for member in tar.getmembers()}
        return {name: file.read() for name, file in opened.items() if isinstance(file, io.BufferedReader)}


def _proof(path: Path) -> dict[str, dict[str, Any]]:
    return {told["job"]: told for told in map(json.loads, _files(path)["proof.jsonl"].splitlines())}


def test_the_page_goes_to_stdout(work: Path, ledger: Path) -> None:
    """With the conclusion of the report, its interruptions, and every name as a name."""
    said = _type("--ledger", str(ledger), "--since", "1d", "--html").stdout
    page = ET.fromstring(said.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  # our own page
    assert page.findtext("body/header/div/h1", "").startswith("OK: 2 interruptions in 2 jobs")
    words = "".join(page.itertext())
    assert "node_unreachable" in words
    assert _HOSTILE in words
    assert not list(page.iter("b"))


def test_a_redacted_page_keeps_its_looks(work: Path, ledger: Path) -> None:
    """The redactor goes over the figures; the digest that lets the style sheet in looks like a key and stays."""
    words = ("--ledger", str(ledger), "--since", "1d", "--html")
    heads = [_type(*words, *more).stdout.partition("<title>")[0] for more in ((), ("--redact",))]
    assert "sha256-" in heads[1]
    assert heads[0] == heads[1]


def test_the_evidence_is_written_beside_the_answer(work: Path, ledger: Path, record: IncidentRecord) -> None:
    """Figures, page, rows, how it was made, and the log lines of the runs whose folder is known here, redacted."""
    _make(work / ".supervise" / record.run_id, record)
    said = _type("--ledger", str(ledger), "--since", "1d", "--evidence", "proof.tar.gz")
    assert said.stdout.startswith("OK: 2 interruptions")
    assert "evidence of 2 interruptions is in proof.tar.gz" in said.stderr
    path = work / "proof.tar.gz"
    assert path.stat().st_mode & 0o777 == 0o600
    files = _files(path)
    assert json.loads(files["figures.json"])["interruptions"] == 2
    assert files["report.html"].startswith(b"<!DOCTYPE html>")
    assert len(files["interruptions.csv"].splitlines()) == 3
    [command] = json.loads(files["how.json"])["commands"]
    assert command.startswith(f"supervise report --from ledger --users name --ledger {ledger} --since 20")
    assert "--until 20" in command
    proof = _proof(path)
    assert [line["text"] for line in proof["17"]["lines"]] == ["node003 is lost --password ***"]
    assert (proof["18"]["lines"], proof["18"]["why_none"]) == ([], NO_FOLDER)
    assert _SECRET.encode() not in b"".join(files.values())


def test_the_command_of_the_evidence_makes_the_same_figures_again(work: Path, ledger: Path) -> None:
    """It names its times, not how long ago they were."""
    _type("--ledger", str(ledger), "--since", "1d", "--evidence", "one.tar.gz")
    one = _files(work / "one.tar.gz")
    [command] = json.loads(one["how.json"])["commands"]
    _type(*command.split()[2:], "--evidence", "two.tar.gz")
    assert _files(work / "two.tar.gz") == one
    assert (work / "two.tar.gz").read_bytes() == (work / "one.tar.gz").read_bytes()


def test_where_users_are_not_named_no_line_of_a_log_is_told(work: Path, ledger: Path, record: IncidentRecord) -> None:
    """Lines hold paths and names."""
    _make(work / ".supervise" / record.run_id, record)
    _type("--ledger", str(ledger), "--users", "none", "--evidence", "proof.tar.gz")
    proof = _proof(work / "proof.tar.gz")
    assert proof["17"]["lines"] == []
    assert "not named" in proof["17"]["why_none"]


def test_own_runs_are_proven_without_a_ledger(work: Path, record: IncidentRecord) -> None:
    """Then rows name the run itself."""
    _make(work / ".supervise" / record.run_id, record)
    _type("--from", "runs", "--evidence", "proof.tar.gz")
    assert [line["text"] for line in _proof(work / "proof.tar.gz")["17"]["lines"]] == ["node003 is lost --password ***"]


def test_tasks_of_arrays_are_looked_for_beside_the_array(
    work: Path, ledger: Path, record: IncidentRecord, tmp_path: Path
) -> None:
    """Only the array itself is in the user's index."""
    array = tmp_path / "elsewhere" / "arr"
    _make(array)
    _make(array.with_name("arr-3"), record)
    note_run(IndexLine(run_id=RunId("arr"), folder=str(array)), os.environ)
    _type("--ledger", str(ledger), "--evidence", "proof.tar.gz")
    assert _proof(work / "proof.tar.gz")["17"]["lines"]


def test_evidence_is_never_written_over(work: Path, ledger: Path) -> None:
    """The first one stays, and the message says what to do."""
    (work / "proof.tar.gz").write_bytes(b"first")
    with pytest.raises(UsageError, match="exists already"):
        _type("--ledger", str(ledger), "--evidence", "proof.tar.gz")
    assert (work / "proof.tar.gz").read_bytes() == b"first"


def test_with_json_the_answer_stays_short(work: Path, ledger: Path) -> None:
    """Evidence holds all rows; the answer as many as ever, and both are whole."""
    said = _type("--ledger", str(ledger), "--json", "--evidence", "proof.tar.gz")
    assert json.loads(said.stdout)["interruptions"] == 2
