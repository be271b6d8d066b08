"""The tool contract of `AGENTS.md`: every `--json` answer begins with the same fields, and they are true."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor.cli import node_records
from supervisor.cli.main import COMMANDS, cli
from supervisor.hooks import placed
from supervisor.ledger.site.init import initialised
from supervisor.model.base import encode
from supervisor.model.node import NodeFinding, NodeRecord
from supervisor.version import VERSION
from tests.doctor.fake_slurm import fake_slurm

_Type = Callable[..., Result]
_HEAD = ["schema", "version", "cluster", "job_id", "run_id", "log", "exit", "conclusion", "blockers"]
_ADMIN: dict[str, tuple[tuple[str, ...], ...]] = {
    "report": ((), ("--from", "runs"), ("--cluster", "c1")),
    "nodes": ((), ("--from", "runs")),
    "node": (("gpu044",), ("gpu044", "--returned")),
    "ticket": (("gpu044",),),
    "doctor": ((), ("--security",)),
    "ledger": (("upkeep", "--dry-run"), ("init", "--cluster", "c1")),
    "gc": (("--dry-run",), ()),
    "uninstall": (("--dry-run",),),
    "config": ((), ("spares",), ("--explain",), ("--check", "good.toml"), ("--check", "bad.toml")),
    "list": ((),),
    "policy": ((),),
}
"""What an administrator types."""
_OF_A_RUN = {"why", "status", "replay", "feedback", "halt", "resume", "mode", "exclude", "unexclude", "drill"}
"""Their answers are held to the contract by their own tests, which have a run."""
_WITHOUT = {"sbatch", "run", "once", "hook", "diagnose"}
"""Answer in words of their own (docs/contracts.md, AGENTS.md)."""


@pytest.fixture
def type_in(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> _Type:
    """Runs `supervise WORDS` on a machine with a ledger, a hook's record and commands of Slurm."""
    monkeypatch.setattr("supervisor.settings_resolve.SITE_FILE", tmp_path / "none.toml")
    monkeypatch.setattr(node_records, "SPOOL", tmp_path / "spool")
    monkeypatch.setattr(placed, "ROOT", tmp_path / "machine")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", fake_slurm(tmp_path / "bin")["PATH"])
    initialised(tmp_path / "ledger", ["c1"], "", now=time.time(), is_dry=False)
    monkeypatch.setenv("SUPERVISE_LEDGER", str(tmp_path / "ledger"))
    (tmp_path / "spool").mkdir()
    found = NodeFinding(level="fatal", rule="mce", text="token=ghp_0123456789abcdefghijABCDEFGHIJ012345")
    seen = NodeRecord(schema=1, at=time.time() - 60, hook="epilog", node="gpu044", level="fatal", findings=(found,))
    record = tmp_path / "spool" / "node.jsonl"
    record.write_bytes(encode(seen) + b"\n")
    record.chmod(0o600)
    (work / "good.toml").write_text("spares = 1\n")
    (work / "bad.toml").write_text("spares = -1\n")

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, list(words))

    return run


@pytest.mark.parametrize("is_global", [True, False])
@pytest.mark.parametrize("words", [(name, *more) for name, lines in _ADMIN.items() for more in lines])
def test_every_answer_for_a_script_begins_alike(type_in: _Type, words: tuple[str, ...], *, is_global: bool) -> None:
    """One line of JSON, wherever `--json` stands; `exit` is the exit code, and a person is told nothing else."""
    done = type_in("--json", *words) if is_global else type_in(*words, "--json")
    (line,) = done.stdout.splitlines()
    answer = json.loads(line)
    assert list(answer)[: len(_HEAD)] == _HEAD
    assert (answer["version"], answer["exit"]) == (VERSION, done.exit_code)
    assert answer["conclusion"]
    assert all(type(answer[name]) is str for name in ("cluster", "job_id", "run_id", "log"))
    assert bool(answer["exit"]) <= bool(answer["blockers"])


def test_each_command_is_under_the_contract(type_in: _Type) -> None:
    """A new one is tested above, or has its reason."""
    assert set(_ADMIN) | _OF_A_RUN | _WITHOUT == set(COMMANDS)


def test_a_command_that_fails_says_so_in_its_answer(
    type_in: _Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept in a file, the answer has lost the process that gave it."""
    assert json.loads(type_in("config", "--check", "bad.toml", "--json").stdout)["exit"] == 1
    monkeypatch.setenv("PATH", "/nonexistent")
    assert json.loads(type_in("doctor", "--json").stdout)["exit"] == 5


def test_security_ends_with_1_where_others_can_change_what_is_ours(
    type_in: _Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a script that guards a cluster need not read it."""
    settings = tmp_path / "settings.toml"
    settings.write_text("")
    settings.chmod(0o666)
    monkeypatch.setenv("SUPERVISE_CONFIG", str(settings))
    done = type_in("doctor", "--security")
    assert done.exit_code == 1
    assert "CAN BE CHANGED BY OTHERS" in done.stdout
    answer = json.loads(type_in("doctor", "--security", "--json").stdout)
    assert (answer["exit"], answer["cluster"]) == (1, "testbed")
    assert str(settings) in answer["blockers"][0]


def test_a_ticket_as_json_holds_the_text_and_no_secret(type_in: _Type) -> None:
    """In none of its fields."""
    said = type_in("--json", "ticket", "gpu044").stdout
    assert "mce" in json.loads(said)["ticket"]
    assert "ghp_" not in said
    assert "ghp_" in type_in("ticket", "gpu044", "--json", "--no-redact").stdout


def test_a_repair_as_json(type_in: _Type, tmp_path: Path) -> None:
    """What was written, and where."""
    answer = json.loads(type_in("--json", "node", "gpu044", "--returned").stdout)
    assert str(tmp_path / "ledger/.nodes/returned.jsonl") in answer["conclusion"]
