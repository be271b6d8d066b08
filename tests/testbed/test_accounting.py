"""A Slurm that keeps accounts: real slurmdbd, a database of its own, and nothing left of either."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from testbed import accounting, processes, slurm
from testbed.api import Testbed
from testbed.errors import TestbedError
from testbed.layout import Layout
from testbed.spec import Spec

_on_cluster = pytest.mark.cluster
_patient = pytest.mark.timeout(600)  # the first use installs packages

_KEPT_S = 30.0
_ASKED = ["sacct", "--noheader", "--parsable2", "--allocations"]


def _accounts(bed: Testbed, *fields: str) -> list[str]:
    return bed.run([*_ASKED, f"--format={','.join(fields)}"]).stdout.splitlines()


@_on_cluster
@_patient
def test_accounting_keeps_what_jobs_were_and_goes_away_with_the_testbed(another: Testbed) -> None:
    """The user's account, GPUs and last Comment are kept; the database runs as no root and is closed to users."""
    another.up(nodes=2, accounting=True)
    another.run(["sbatch", "-W", "-N2", "--gpus-per-node=4", "--comment=said", "--wrap", "exit 3"], check=False)
    wanted = ["FAILED|3:0|research|alice|node[001-002]|said"]
    fields = ("State", "ExitCode", "Account", "User", "NodeList", "Comment")
    until = time.monotonic() + _KEPT_S
    while (found := _accounts(another, *fields)) != wanted:
        assert time.monotonic() < until, found
        time.sleep(0.2)
    assert "gres/gpu=8" in _accounts(another, "AllocTRES")[0]
    layout = Layout(another.name)
    database, daemon = processes.recall(layout, "mariadbd"), processes.recall(layout, "slurmdbd")
    assert database is not None
    assert daemon is not None
    assert Path(f"/proc/{database.pid}").stat().st_uid not in {0, another.home.stat().st_uid}
    assert another.run(["ls", str(layout.database)], check=False).returncode != 0
    another.down()
    assert not database.is_alive
    assert not daemon.is_alive
    assert not layout.state.exists()


@_on_cluster
@_patient
def test_two_testbeds_keep_accounts_apart(another: Testbed) -> None:
    """Each has its own slurmdbd, which knows its own cluster alone."""
    with Testbed(f"{another.name}-b") as second:
        for bed in (another, second):
            bed.up(nodes=1, accounting=True)
        for bed in (another, second):
            shown = bed.run(["sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=Cluster"])
            assert shown.stdout.split() == [bed.name]


@_on_cluster
@_patient
def test_another_release_has_no_accounting(another: Testbed) -> None:
    """Refused at once, before anything is made."""
    argv = ["scripts/testbed", "up", "--name", another.name, "--release", "trixie", "--accounting"]
    done = subprocess.run(argv, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "--accounting: use --release native" in done.stderr
    assert not Layout(another.name).state.exists()


def test_a_daemon_that_has_died_is_not_waited_for() -> None:
    """Its last words are told at once."""
    began = time.monotonic()
    with pytest.raises(TestbedError, match="slurmdbd does not answer; its last words:\n\\(nothing\\)"):
        accounting._wait(Layout("never-up"), "slurmdbd", lambda: False)
    assert time.monotonic() - began < 5


def test_files_that_cannot_be_laid_out_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the program's own words."""
    program = tmp_path / "mariadb-install-db"
    program.write_text("#!/bin/sh\necho no space left >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(TestbedError, match="mariadb-install-db failed: no space left"):
        accounting._lay_out([])


def test_a_registration_that_is_refused_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """A testbed that half knows its users would make puzzling accounts."""
    spec, layout = Spec(name="never-up", accounting=True), Layout("never-up")
    refused = subprocess.CompletedProcess(["sacctmgr"], 1, "", "no such cluster\n")
    monkeypatch.setattr(slurm, "ask", lambda *_: refused)
    with pytest.raises(TestbedError, match="sacctmgr add cluster never-up failed: no such cluster"):
        accounting._register(spec, layout)
