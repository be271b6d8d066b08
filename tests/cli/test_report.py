"""`supervise report` as a user and a script see it."""

import csv
import getpass
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from supervisor.cli import report
from supervisor.cli.main import cli
from supervisor.errors import SlurmFailed, UsageError
from supervisor.ledger.site.make import make_root
from supervisor.ledger.site.names import cluster_folder, file_name, month_of
from supervisor.model.base import encode
from supervisor.model.ids import JobId, RunId
from tests.report import makers
from tests.report.fleet.made import history, incident
from tests.slurm_submit.fakes import FakeSlurm

_NOW = time.time()
_ME = getpass.getuser()


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(report.command, arguments, catch_exceptions=False)


def _json(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_run("--json", *arguments).stdout)
    assert set(answer) >= {"schema", "version", "conclusion", "blockers"}
    return answer


@pytest.fixture
def base(work: Path) -> Path:
    """Where the runs of this folder lie."""
    return work / ".supervise"


@pytest.fixture
def ledger(work: Path, tmp_path: Path) -> Path:
    """With one job of two interruptions, written by its user."""
    root = tmp_path / "ledger"
    make_root(root, -1)
    write(root, user=_ME)
    return root


def write(root: Path, *, user: str, job: str = "17") -> Path:
    """A job's file."""
    made = history(
        incident(1, at=_NOW - 7200.0), incident(2, at=_NOW - 3600.0, cause="nic_failure"),
        days=1.0, ended_at=_NOW - 60.0, user=user, job=JobId(job),
    )  # fmt: skip
    assert made.use is not None
    month = root / cluster_folder("c1") / month_of(made.job.at)
    month.mkdir(parents=True, exist_ok=True)
    path = month / file_name(JobId(job), "r1")
    path.write_bytes(b"".join(encode(line) + b"\n" for line in (made.job, *made.incidents, made.use)))
    return path


def test_a_users_own_runs_are_reported_where_no_ledger_is_set(base: Path) -> None:
    """`--since` takes a span or a date."""
    records = makers.lost_node(opened_at=_NOW - 3600)
    makers.make(base / "llama-abc12", records, run=makers.run_file(created_at=_NOW - 7200), status=makers.status())
    everything = _json("--until", "2999-01-01")
    assert (everything["source"], everything["interruptions"]) == ("runs", 1)
    assert everything["speed"]["recovery"] == {"known": 1, "median_s": 1.8, "p90_s": 1.8, "max_s": 1.8}
    assert _run().stdout.startswith("OK: 1 interruption in 1 run, all handled without a person.\n")
    for since, number in (("2h", 1), ("30m", 0), ("2020-01-01", 1)):
        assert _json("--since", since)["interruptions"] == number


def test_runs_that_need_a_person_are_named(base: Path) -> None:
    """Once each, however often they were stopped; a cancelled one is none of them."""
    over = makers.status(stage="finished", exit_code=1, conclusion="stopped: twice", updated_at=_NOW - 60)
    bug = makers.own_bug(opened_at=_NOW - 100)
    run = makers.run_file(created_at=_NOW - 999)
    makers.make(base / "llama-abc12", makers.lost_node(opened_at=_NOW - 200), bug, run=run, status=over)
    gone = makers.status(stage="finished", exit_signal=15, job_id=JobId("8"), run_id=RunId("old-ccccc"))
    cancel = makers.ended("user_cancel", job_id=JobId("8"), opened_at=_NOW - 50, run_id=RunId("old-ccccc"))
    run = makers.run_file(run_id=RunId("old-ccccc"), created_at=_NOW - 999)
    makers.make(base / "old-ccccc", cancel, run=run, status=gone, jobs="8")
    answer = _json()
    assert answer["conclusion"] == "NOT OK: 1 run needs a person: `supervise why` each: llama-abc12."
    assert (answer["interruptions"], answer["planned"], len(answer["blockers"])) == (2, 1, 1)


def test_a_node_whose_clock_is_a_little_ahead_is_not_left_out(base: Path) -> None:
    """Its newest interruption lies in the future of this machine."""
    records = makers.lost_node(opened_at=_NOW + 200)
    makers.make(base / "llama-abc12", records, run=makers.run_file(created_at=_NOW - 60), status=makers.status())
    assert _json()["interruptions"] == 1


def test_nothing_is_known(work: Path) -> None:
    """And the exit code says that this was found out."""
    result = _run()
    assert (result.exit_code, result.stdout) == (0, "OK: nothing to report, no runs are known in this time.\n")


def test_a_ledger_that_is_set_is_reported(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the settings, or by the option; NOT OK ends with 0 as well."""
    assert _json("--ledger", str(ledger))["place"] == str(ledger)
    monkeypatch.setenv("SUPERVISE_LEDGER", str(ledger))
    answer = _json()
    assert (answer["source"], answer["interruptions"], answer["look_first"]) == ("ledger", 2, ["node003"])
    assert _json("--from", "runs")["source"] == "runs"
    assert _json("--cluster", "c2")["jobs"] == 0
    assert _json("--cluster", "c1")["jobs"] == 1
    quiet = _json("--since", "10m")
    assert (quiet["interruptions"], quiet["cluster"], quiet["clusters"]) == (0, "c1", ["c1"])
    told = _run("--by", "node", "--since", "7d")
    assert (told.exit_code, told.stderr) == (0, "")
    assert "by node:\nnode003 ████████████████████ 2  " in told.stdout


def test_csv_has_all_and_html_is_a_page(ledger: Path) -> None:
    """Only one form at a time."""
    rows = list(csv.DictReader(io.StringIO(_run("--ledger", str(ledger), "--csv").stdout, newline="")))
    assert [(row["job"], row["cause"], row["user"]) for row in rows] == [
        ("17", "gpu_lost", _ME),
        ("17", "nic_failure", _ME),
    ]
    assert _run("--ledger", str(ledger), "--html").stdout.startswith("<!")
    with pytest.raises(UsageError, match="--json and --csv exclude each other"):
        _run("--json", "--csv")


def test_what_was_left_out_is_told_on_stderr(ledger: Path) -> None:
    """Torn, newer and forged, with counts; the answer is the same."""
    path = write(ledger, user=_ME)
    path.write_bytes(path.read_bytes() + b'{"schema":9,"kind":"use"}\n{"kind":"incid')
    write(ledger, user="somebody_else", job="18")
    result = _run("--ledger", str(ledger))
    assert result.stdout.startswith("OK: 2 interruptions in 1 job")
    assert "1 job in the name of another user" in result.stderr
    assert f"supervise: 2 problems in {ledger}" in result.stderr
    assert "torn" in result.stderr
    hidden = _run("--ledger", str(ledger), "--users", "none")
    assert _ME not in hidden.stderr.replace(str(ledger), "")
    assert f"2 problems in {ledger}" in hidden.stderr
    assert _json("--ledger", str(ledger), "--users", "none")["problems"] == []


def test_only_the_first_problems_are_told(ledger: Path) -> None:
    """And how many more there are."""
    for number in range(20, 30):
        write(ledger, user=_ME, job=str(number)).write_bytes(b"{torn")
    lines = _run("--ledger", str(ledger)).stderr.splitlines()
    assert len(lines) == 7
    assert lines[-1] == "supervise:   and 5 more: --json has all"


def test_users_become_pseudonyms(ledger: Path, work: Path) -> None:
    """The same for the same user, and none without the key."""
    answer = _json("--ledger", str(ledger), "--users", "pseudonym")
    (row,) = next(group for group in answer["groups"] if group["by"] == "user")["rows"]
    assert row["name"].startswith("p-")
    assert json.dumps(answer).count(f'"{_ME}"') == 0
    with pytest.raises(UsageError, match="pseudonyms need the ledger's key"):
        _run("--users", "pseudonym")
    with pytest.raises(UsageError, match="exclude each other"):
        _run("--ledger", str(ledger), "--users", "none", "--by", "user")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--since", "yesterday"], "write 7d, 12h, 90m or a date"),
        (["--since", "99999999999999999999d"], "write 7d, 12h, 90m or a date"),
        (["--by", "moon"], "'moon' is not one of"),
    ],
)
def test_what_cannot_be_is_refused(work: Path, arguments: list[str], words: str) -> None:
    """With the forms that there are."""
    result = _run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_impossible_windows_and_ledgers_are_refused(work: Path, tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(UsageError, match="--since must be before --until"):
        _run("--since", "1d", "--until", "2d")
    with pytest.raises(UsageError, match="no ledger is set"):
        _run("--from", "ledger")
    with pytest.raises(UsageError, match="cannot be read"):
        _run("--ledger", str(tmp_path / "nowhere"))


def test_accounting_is_asked_for_a_week(work: Path, slurm: FakeSlurm) -> None:
    """Where it is away, the message says so, and there is no report."""
    with pytest.raises(SlurmFailed, match="sacct"):
        _run("--from", "sacct")


def test_secrets_are_left_out_where_asked(ledger: Path) -> None:
    """In both forms."""
    assert _run("--ledger", str(ledger), "--redact").stdout.startswith("OK: 2 interruptions")
    assert json.loads(_run("--ledger", str(ledger), "--json", "--redact").stdout)["interruptions"] == 2


def test_a_pipe_gets_no_colours_and_a_terminal_does(ledger: Path) -> None:
    """Nor does a terminal with NO_COLOR."""
    command = [sys.executable, "-m", "supervisor.cli.main", "report", "--ledger", str(ledger)]
    for environment, is_coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        ours, theirs = os.openpty()
        subprocess.run(
            command,
            stdout=theirs,
            env={**os.environ, **environment},
            check=True,
            timeout=60,
            cwd=Path(__file__).parents[2],
        )
        os.close(theirs)
        assert (b"\x1b[" in os.read(ours, 65536)) is is_coloured
        os.close(ours)
    assert "\x1b" not in _run("--ledger", str(ledger)).stdout


def test_json_may_stand_before_the_command(ledger: Path) -> None:
    """As for every command."""
    result = CliRunner().invoke(cli, ["--json", "report", "--ledger", str(ledger)], catch_exceptions=False)
    assert json.loads(result.stdout)["interruptions"] == 2
