"""`replay` and `feedback` as a user and a script see them: a wrong verdict, a person's word, a better rule."""

import json
import stat
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from supervisor.cli import diagnose, feedback, replay, why
from supervisor.cli.main import cli
from supervisor.errors import NoSuchRun, RunFolderUnusable, UsageError
from supervisor.ledger.bounds import Entry, Limits, plan
from supervisor.ledger.feedback import read_feedback
from supervisor.ledger.records import incident_folder
from supervisor.model.base import encode
from supervisor.model.ids import IncidentNo, JobId, NodeName, Rank
from supervisor.model.verdict import Blame, Class, Verdict
from tests.report import makers

_OOM = "srun: error: node002: task 12: Exited with exit code 1\n[rank12]: torch.OutOfMemoryError: CUDA out of memory.\n"
_LICENCE = """
[[signature]]
id = "our_licence"
role = "root"
literals = ["flexlm said no"]
pattern = 'flexlm said no'
cause = "license_unavailable"
weight = 0.95
source = "our own"
"""


def _run(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def _json(command: click.Command, *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_run(command, "--json", *arguments).stdout)
    return answer


@pytest.fixture
def run(work: Path) -> Path:
    """Two incidents: a lost node, whose evidence is gone, and one that is judged as it was."""
    folder = makers.make(
        work / ".supervise" / "llama-abc12", makers.lost_node(), makers.own_bug(), status=makers.status()
    )
    (incident_folder(folder, IncidentNo(2)) / "job.log").write_text(_OOM)
    return folder


def _judge_otherwise(run: Path) -> None:
    """The second incident's verdict of then is one that today's rules do not give."""
    then = Verdict(cls=Class.UNKNOWN, cause="unattributed", confidence=0.0, summary="no evidence")
    path = incident_folder(run, IncidentNo(2)) / "verdict.json"
    path.write_bytes(encode(makers.own_bug(verdict=then)))


def test_all_as_before(run: Path) -> None:
    """Exit code 0; an incident whose evidence was not kept is told, and counts as neither."""
    result = _run(replay.command, "17")
    assert result.exit_code == 0
    assert result.stdout.startswith("1 incident replayed with the rules of supervise ")
    assert "all judged as before" in result.stdout.splitlines()[0]
    assert "then, now  software/cuda_oom  rank 12 on node002" in result.stdout
    assert "1  not replayed: its evidence was not kept" in result.stdout


def test_another_verdict(run: Path) -> None:
    """Exit code 1; then and now stand one below the other, and what differs is named."""
    _judge_otherwise(run)
    result = _run(replay.command, "17", "2")
    assert result.exit_code == 1
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["2", "then", "unknown/unattributed", "-", "0.00"] in rows
    assert any(row[:2] == ["now", "software/cuda_oom"] for row in rows)
    assert "2  differs in class, cause, blame; now: GPU memory ran out" in result.stdout


def test_only_another_blame_differs(run: Path) -> None:
    """Class, cause and blame count; confidence and words do not."""
    verdict = Verdict(
        cls=Class.SOFTWARE,
        cause="cuda_oom",
        confidence=0.1,
        summary="x",
        blame=Blame(nodes=(NodeName("node002"),), ranks=(Rank(3),)),
    )
    path = incident_folder(run, IncidentNo(2)) / "verdict.json"
    path.write_bytes(encode(makers.own_bug(verdict=verdict)))
    answer = _json(replay.command, "17")
    (one,) = [one for one in answer["incidents"] if one["incident"] == 2]
    assert (one["is_equal"], one["differs"]) == (False, ["blame"])


def test_a_script_reads_every_incident(run: Path) -> None:
    """One object, with the head that every answer has."""
    answer = _json(replay.command, "llama-abc12")
    assert (answer["schema"], answer["job_id"], answer["run_id"], answer["blockers"]) == (1, "17", "llama-abc12", [])
    gone, kept = answer["incidents"]
    assert (gone["now"], gone["is_equal"], gone["why_not"]) == (None, None, "its evidence was not kept")
    assert (kept["then"]["class"], kept["now"]["class"], kept["is_equal"]) == ("software", "software", True)
    assert kept["now"]["blame"]["ranks"] == [12]
    assert (kept["corrected"], kept["agrees"]) == (None, None)


def test_todays_rules_include_the_sites_packs(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack that was written after the incident is judged by it."""
    (incident_folder(run, IncidentNo(2)) / "job.log").write_text("flexlm said no\n")
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs/site.toml").write_text(_LICENCE)
    assert "license_unavailable" not in _run(replay.command, "17").stdout
    assert "license_unavailable" in _run(replay.command, "17", "--packs", str(tmp_path / "packs")).stdout
    monkeypatch.setenv("SUPERVISE_PACKS", str(tmp_path / "packs"))
    assert "license_unavailable" in _run(replay.command, "17").stdout


def test_evidence_that_cannot_be_read(run: Path) -> None:
    """It is told, with the others answered."""
    folder = incident_folder(run, IncidentNo(1))
    (folder / "job.json").write_text("{")
    result = _run(replay.command, "17")
    assert result.exit_code == 0
    assert "1  not replayed: " in result.stdout
    assert "holds no evidence" in result.stdout


def test_a_run_without_incidents(work: Path) -> None:
    """There is nothing to replay, and that is no difference."""
    makers.make(work / ".supervise" / "llama-abc12", status=makers.status())
    result = _run(replay.command, "17")
    assert (result.exit_code, result.stdout.strip()) == (
        0,
        "Nothing to replay: no incident of this run has kept its evidence.",
    )


@pytest.mark.parametrize("command", [replay.command, feedback.command])
def test_an_unknown_incident_names_those_there_are(run: Path, command: click.Command) -> None:
    """The caller turns this into exit code 2, an unknown run into 4."""
    more = ["--cause", "cuda_oom"] if command is feedback.command else []
    with pytest.raises(UsageError, match="has no incident 9; it has 1, 2"):
        _run(command, "17", "9", *more)
    with pytest.raises(NoSuchRun):
        _run(command, "18", *more)


def test_a_correction_is_kept_beside_the_verdict(run: Path) -> None:
    """For nobody else to read, with its schema; the verdict stays as it was; `why` shows it."""
    before = (incident_folder(run, IncidentNo(2)) / "verdict.json").read_bytes()
    result = _run(feedback.command, "17", "2", "--cause", "host_oom", "--node", "node002", "--note", "40 workers")
    assert result.exit_code == 0
    told = "corrected by a person: software/host_oom on node002 (40 workers)"
    assert result.stdout.startswith(f"Incident 2 of run llama-abc12 {told}; the verdict was software/cuda_oom.")
    path = incident_folder(run, IncidentNo(2)) / "feedback.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = json.loads(path.read_bytes())
    assert {name: kept[name] for name in ("cause", "cls", "nodes", "note", "was")} == {
        "cause": "host_oom", "cls": "software", "nodes": ["node002"], "note": "40 workers", "was": "software/cuda_oom",
    }  # fmt: skip
    assert kept["version"]
    assert (incident_folder(run, IncidentNo(2)) / "verdict.json").read_bytes() == before
    assert f"    {told}" in _run(why.command, "17").stdout.splitlines()
    assert _json(why.command, "17")["incidents"][1]["corrected"]["cause"] == "host_oom"


def test_without_a_number_the_last_incident_is_meant(run: Path) -> None:
    """And a later correction replaces an earlier one."""
    _run(feedback.command, "17", "--cause", "host_oom")
    _run(feedback.command, "17", "--cause", "software/shm_exhausted")
    found = read_feedback(run)
    assert {number: one.cause for number, one in found.items()} == {2: "shm_exhausted"}
    assert "Incident 2 of run llama-abc12 confirmed by a" in _run(feedback.command, "17", "--cause", "cuda_oom").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cause", "cuda_ooom"], "did you mean cuda_oom"),
        (["--cause", "qqqq"], r"all of them: supervise feedback --cause '\?'"),
        (["--cause", "cuda_oom", "--class", "hardware"], "is of class software, not hardware"),
        (["--cause", "hardware/cuda_oom"], "is of class software, not hardware"),
        (["--cause", "cuda_oom", "--class", "weather"], "is no class; there are hardware, network"),
        (["--cause", "cuda_oom", "--node", "node009"], "node009 was not in the job at incident 2: node001"),
        ([], "supervise feedback 81234 --cause cuda_oom"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Path, words: list[str], says: str) -> None:
    """With what to type instead; nothing is kept."""
    record = makers.own_bug(nodes_before=makers.NODES)
    (incident_folder(run, IncidentNo(2)) / "verdict.json").write_bytes(encode(record))
    with pytest.raises(UsageError, match=says):
        _run(feedback.command, "17", *words)
    assert read_feedback(run) == {}


def test_the_causes_are_listed_without_a_run() -> None:
    """One a line, as `--cause` takes it, with what it says; for a script as objects."""
    lines = _run(feedback.command, "--cause", "?").stdout.splitlines()
    assert any(line.split(maxsplit=1) == ["software/cuda_oom", "GPU memory ran out"] for line in lines)
    answer = _json(feedback.command, "--cause", "?")
    assert {"class": "software", "cause": "cuda_oom", "says": "GPU memory ran out"} in answer["causes"]
    assert len(answer["causes"]) == len(lines) - 1


def test_dry_run_keeps_nothing(run: Path) -> None:
    """It says what would be kept; also where the option stands in front."""
    for words in (
        ["feedback", "17", "--cause", "host_oom", "--dry-run"],
        ["--dry-run", "feedback", "17", "--cause", "host_oom"],
    ):
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert "would be corrected by a person: software/host_oom" in result.stdout
    assert read_feedback(run) == {}
    assert _json(feedback.command, "17", "--cause", "host_oom", "--dry-run")["is_kept"] is False


def test_a_folder_that_cannot_be_written(run: Path) -> None:
    """One sentence, and no half file."""
    path = incident_folder(run, IncidentNo(2)) / "feedback.json"
    path.mkdir()
    (path / "x").touch()
    with pytest.raises(RunFolderUnusable, match="nothing was changed"):
        _run(feedback.command, "17", "--cause", "host_oom")
    assert not [one for one in path.parent.iterdir() if one.name.startswith(".")]


def test_replay_tells_whether_the_rules_agree_with_the_person(run: Path) -> None:
    """The regression case: wrong then, corrected, and right once the rules are."""
    _judge_otherwise(run)
    _run(feedback.command, "17", "2", "--cause", "host_oom")
    answer = _json(replay.command, "17", "2")
    assert answer["incidents"][0]["agrees"] is False
    (blocker,) = answer["blockers"]
    assert blocker.startswith("incident 2: today's rules do not agree with the person; a signature of your own")
    assert "today's rules do NOT agree" in _run(replay.command, "17", "2").stdout
    _run(feedback.command, "17", "2", "--cause", "cuda_oom", "--node", "node002")
    assert _json(replay.command, "17", "2")["incidents"][0]["agrees"] is True
    _run(feedback.command, "17", "2", "--cause", "cuda_oom", "--node", "node003")
    assert _json(replay.command, "17", "2")["incidents"][0]["agrees"] is False


def test_corrections_are_listed(run: Path) -> None:
    """All that are known here, or those of one run."""
    assert _run(feedback.command, "--list").stdout == "No corrections known here.\n"
    _run(feedback.command, "17", "2", "--cause", "host_oom", "--note", "40 workers")
    for words in ([], ["17"]):
        lines = _run(feedback.command, "--list", *words).stdout.splitlines()
        assert lines[0] == "1 correction known here."
        assert lines[2].split() == [
            "llama-abc12", "2", "software/cuda_oom", "software/host_oom", "-", "40", "workers",
        ]  # fmt: skip
    (one,) = _json(feedback.command, "--list")["corrections"]
    assert (one["run_id"], one["incident"], one["class"], one["cause"]) == ("llama-abc12", 2, "software", "host_oom")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": 99, "at": 1, "version": "9", "cause": "x", "cls": "data"}']
)
def test_a_correction_that_cannot_be_read_is_none(run: Path, text: str) -> None:
    """Torn, of another shape, or of a newer schema: `why` works as if it were not there."""
    (incident_folder(run, IncidentNo(2)) / "feedback.json").write_text(text)
    assert read_feedback(run) == {}
    assert "corrected" not in _run(why.command, "17").stdout


def test_diagnose_says_how_to_correct_it(run: Path, tmp_path: Path) -> None:
    """For a run folder and for an incident's; not for a log of which no run is known."""
    for path in (run, run / "incidents/002"):
        last = _run(diagnose.command, str(path)).stdout.splitlines()[-1]
        assert last == "Wrong? supervise feedback 17 2 --cause …   (stays on this site)"
    log = tmp_path / "slurm-1.out"
    log.write_text(_OOM)
    assert "Wrong?" not in _run(diagnose.command, str(log)).stdout


def test_an_incident_without_evidence_leads_to_what_was_seen(run: Path) -> None:
    """A cancel keeps its record alone: there is nothing to judge, and `why` tells of it."""
    last = incident_folder(run, IncidentNo(3))
    last.mkdir()
    (last / "verdict.json").write_bytes(encode(makers.ended("user_cancel", incident=IncidentNo(3))))
    result = _run(diagnose.command, str(run))
    assert result.exit_code == 1
    assert result.stderr.endswith("; what the supervisor saw: supervise why 17\n")


def test_corrected_evidence_goes_last() -> None:
    """Where the folder gets too big: a correction stays, and what it corrects is judged again after each change."""
    names = ("job.log", "verdict.json")
    entries = [Entry(path=f"incidents/00{number}/{name}", size_bytes=1) for number in (1, 2, 3) for name in names]
    entries.append(Entry(path="incidents/001/feedback.json", size_bytes=1))
    found = plan(entries, JobId("1"), Limits(files=5))
    assert found.remove == ("incidents/002/job.log", "incidents/001/job.log")
    assert "incidents/001/feedback.json" not in plan(entries, JobId("1"), Limits(files=0)).remove
