"""`supervise uninstall`: what is there and how it is removed; it removes nothing."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor import settings_resolve
from supervisor.cli import installed
from supervisor.cli.main import cli
from supervisor.errors import UsageError
from supervisor.hooks import placed
from supervisor.ledger.run_file import encode_run
from supervisor.ledger.run_folder import SubmissionRecord, note_submission
from supervisor.model.ids import JobId, RunId
from tests.report.makers import run_file
from tests.slurm_submit.fakes import FakeSlurm

_Type = Callable[..., Result]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's own files, in the test's folder."""
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.setattr(placed, "ROOT", root)
    monkeypatch.setattr(settings_resolve, "SITE_FILE", root / "etc/supervise/config.toml")
    return root


@pytest.fixture
def type_in(work: Path, machine: Path) -> _Type:
    """Runs `supervise WORDS`."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, list(words))

    return run


def _put(root: Path, name: str, text: str = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _everything(root: Path) -> set[Path]:
    return set(root.rglob("*"))


def test_where_nothing_was_set_up_only_the_package_is_told(type_in: _Type) -> None:
    """By the Python that it runs in."""
    said = type_in("uninstall", "--dry-run").stdout
    assert said == (
        "Nothing was removed. The package goes by its own command, no things would stay.\n"
        f"goes   the package: {sys.prefix}\n"
        f"         {sys.executable} -m pip uninstall slurm-supervise\n"
    )


def test_without_dry_run_it_says_how_it_is_done(type_in: _Type, tmp_path: Path) -> None:
    """And does nothing."""
    before = _everything(tmp_path)
    result = type_in("uninstall")
    assert isinstance(result.exception, UsageError)
    assert "pip uninstall slurm-supervise; supervise uninstall --dry-run shows" in str(result.exception)
    assert _everything(tmp_path) == before


def test_each_thing_is_told_with_its_commands(type_in: _Type, machine: Path, work: Path, tmp_path: Path) -> None:
    """Of the user, of the site, of this node; whatever the option's place."""
    config = _put(machine, "etc/supervise/config.toml", f'ledger = "{tmp_path / "the ledger"}"\n')
    (tmp_path / "the ledger").mkdir()
    _put(machine, "var/spool/supervise/node.jsonl")
    _put(machine, "var/lib/supervise/report.html")
    prolog = _put(
        machine, "etc/slurm/prolog.d/50-supervise", 'exec "$PYTHON" -I -B -m supervisor.cli.main hook "$HOOK"\n'
    )
    _put(machine, "etc/slurm/healthcheck", "#!/bin/sh\nexec /usr/sbin/nhc\n")
    timer = _put(machine, "etc/systemd/system/supervise-ledger.timer")
    service = _put(machine, "etc/systemd/system/supervise-ledger.service")
    _put(machine, "etc/systemd/system/supervisor.service")
    own = _put(work.parent, "home/.config/supervise/config.toml")
    index = _put(work.parent, "home/.local/state/supervise/runs.jsonl")
    run = work / ".supervise/llama-abc12"
    run.mkdir(parents=True)
    (run / "run.json").write_bytes(encode_run(run_file()))
    before = _everything(tmp_path)
    answer = json.loads(type_in("--dry-run", "--json", "uninstall").stdout)
    things = {one["place"]: one["remove"] for one in answer["things"] if not one["goes"]}
    assert things == {
        str(work / ".supervise"): [f"rm -r {work / '.supervise'}"],
        str(own): [f"rm {own}"],
        str(index): [f"rm {index}"],
        f"{service} {timer}": [
            "systemctl disable --now supervise-ledger.timer",
            f"rm {service} {timer}",
            "systemctl daemon-reload",
        ],
        str(prolog): [
            "take them out of Prolog, Epilog and HealthCheckProgram in slurm.conf, then: scontrol reconfigure",
            f"rm {prolog}",
        ],
        str(config.parent): [f"rm -r {config.parent}"],
        str(machine / "var/spool/supervise"): [f"rm -r {machine / 'var/spool/supervise'}"],
        str(machine / "var/lib/supervise"): [f"rm -r {machine / 'var/lib/supervise'}"],
        str(tmp_path / "the ledger"): [f"rm -r '{tmp_path / 'the ledger'}'"],
    }
    assert _everything(tmp_path) == before


def test_runs_that_are_not_over_are_told_first(type_in: _Type, slurm: FakeSlurm, work: Path) -> None:
    """Without the package their jobs would not be started again."""
    run = work / ".supervise/llama-abc12"
    run.mkdir(parents=True)
    (run / "run.json").write_bytes(encode_run(run_file(run_id=RunId("llama-abc12"))))
    note_submission(run, SubmissionRecord(at=1.0, job_id=JobId("17")))
    said = type_in("uninstall", "--dry-run").stdout.splitlines()
    assert said[1] == "WAIT: not over yet: 17; without the package a run is not started again after a fault"


@pytest.mark.parametrize("name", ["prolog.d/50-supervise", "epilog.d/50-supervise", "healthcheck"])
def test_our_own_hooks_are_known(checkout: Path, name: str) -> None:
    """As they are shipped."""
    assert placed.is_hook(checkout / "scripts/slurm" / name)


def test_a_folder_that_is_not_called_ours_is_not_removed_as_a_whole(tmp_path: Path) -> None:
    """SUPERVISE_HOME may be somebody's whole scratch."""
    (thing, *_) = installed.of_user({"HOME": str(tmp_path)}, {tmp_path / "scratch": 2})
    assert thing.remove == (f"supervise gc --older 1d {tmp_path / 'scratch'}",)
