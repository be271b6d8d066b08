"""`supervise drill` as a person types it."""

import asyncio
import json
import os
import signal
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from supervisor.cli import drill
from supervisor.cli.main import cli
from supervisor.drill.record import DrillRecord
from supervisor.drill.suite import Suite
from supervisor.errors import NoSlurm, UsageError
from supervisor.ledger.run_file import encode_run
from supervisor.ledger.run_folder import read_run
from supervisor.report.view import RunView
from supervisor.settings import Settings
from tests.doctor.fake_slurm import calls_of, fake_slurm
from tests.drill.made import drill as made_drill
from tests.drill.made import seen, undisturbed
from tests.drill.world import World


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the command; Slurm's commands are there, and refuse."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    fake = fake_slurm(tmp_path / "bin", sbatch="echo sbatch: error: Invalid account >&2; exit 1")
    for name, value in {**fake, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def world(work: Path) -> World:
    """A run of the user's, with checkpoints."""
    world = World(work / ".supervise" / "drill-abcde")
    run = read_run(world.folder)
    settings = Settings(checkpoint="/ck")
    whole = type(run)(run_id=run.run_id, created_at=run.created_at, python=run.python, settings=settings)
    (world.folder / "run.json").write_bytes(encode_run(whole))
    return world


def _drill(*words: str, **more: str) -> Result:
    return CliRunner().invoke(cli, ["drill", *words], **more)  # type: ignore[arg-type]  # click's own words


def test_a_dry_run_does_nothing(work: Path) -> None:
    """It names each fault, and so does its JSON."""
    done = _drill("--dry-run", "--suite", "standard@1")
    assert done.exit_code == 0
    assert done.stdout.startswith("Would make 13 faults in a small job of its own; nothing was done yet.")
    told = json.loads(_drill("--dry-run", "--json").stdout)
    assert (told["is_dry"], told["suite"], told["faults"][0]) == (True, "quick@1", "agent_killed")
    assert list(work.iterdir()) == []


def test_a_refused_job_is_told_and_leaves_nothing_in_the_queue(work: Path) -> None:
    """UNKNOWN, not OK: nothing was drilled."""
    done = _drill("-p", "gpu")
    assert done.exit_code == 1
    assert done.stdout.startswith("UNKNOWN: nothing was drilled of quick@1: the job was not accepted:")
    assert "Invalid account" in done.stdout
    (folder,) = (work / ".supervise").glob("drill-*")
    assert json.loads((folder / "record.json").read_text())["problem"]
    assert any("-p gpu" in call for call in calls_of(work.parent / "bin"))


def test_without_slurm_nothing_is_made(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has an exit code of its own."""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert isinstance(_drill().exception, NoSlurm)
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--fault", "x"), "no fault is called x"),
        (("--suite", "x@1"), "no suite is called x@1"),
        (("--suite", "quick@1", "--fault", "exception"), "leave one away"),
        (("--run", "drill-abcde", "-p", "gpu"), "options for sbatch are for a job of the drill's own"),
        (("--run", "drill-abcde", "--fault", "exception"), "exception: only in a job of the drill's own"),
        (("--run", "drill-abcde"), "need your consent: --yes"),
    ],
)
def test_what_cannot_be_done_is_refused(world: World, words: tuple[str, ...], reason: str) -> None:
    """Before anything is made."""
    done = _drill(*words)
    assert isinstance(done.exception, UsageError)
    assert reason in str(done.exception)


def test_the_off_switch_holds(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would handle the faults."""
    monkeypatch.setenv("SUPERVISE_OFF", "true")
    assert "switched off by SUPERVISE_OFF" in str(_drill().exception)


def _stand_in(monkeypatch: pytest.MonkeyPatch, record: DrillRecord) -> list[Suite]:
    """In place of what makes faults; what it was asked for."""
    asked: list[Suite] = []

    async def own(suite: Suite, options: object, patience_s: float) -> DrillRecord:
        asked.append(suite)
        return record

    async def users(suite: Suite, view: RunView) -> DrillRecord:
        asked.append(suite)
        return record

    monkeypatch.setattr(drill, "_own_job", own)
    monkeypatch.setattr(drill, "_users_run", users)
    return asked


def test_the_exit_code_is_the_verdict(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """0 only where all was handled; JSON has the usual head."""
    words = ("--fault", "rank_killed", "--fault", "agent_killed")
    _stand_in(monkeypatch, made_drill(seen(), undisturbed()))
    done = _drill(*words, "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["exit"], told["handled"], told["job_id"]) == (0, 0, 2, "7")
    assert {"schema", "version", "cluster", "run_id", "log", "conclusion", "blockers"} <= set(told)
    _stand_in(monkeypatch, made_drill(seen(record=None), undisturbed()))
    done = _drill(*words)
    assert done.exit_code == 1
    assert done.stdout.startswith("NOT OK: 1 of 2 faults")


def test_only_safe_faults_reach_a_users_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the suite nobody chose, with consent given beforehand."""
    asked = _stand_in(monkeypatch, made_drill(seen()))
    _drill("--run", "drill-abcde", "--yes")
    assert asked[0].faults == ("agent_killed", "rank_killed", "supervisor_killed")


def test_consent_is_the_runs_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typed on a terminal; anything else does nothing."""
    asked = _stand_in(monkeypatch, made_drill(seen()))
    monkeypatch.setattr(click, "prompt", lambda *_, **__: "yes")
    monkeypatch.setattr(drill, "_is_terminal", lambda: True)
    assert "not agreed; nothing was done" in str(_drill("--run", "drill-abcde").exception)
    assert asked == []
    monkeypatch.setattr(click, "prompt", lambda *_, **__: "drill-abcde")
    _drill("--run", "drill-abcde")
    assert len(asked) == 1


def test_a_closed_terminal_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C does: what must be cleaned up is."""
    left: list[str] = []

    async def waits() -> DrillRecord:
        try:
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(30)
        finally:
            left.append("cleaned")
        return made_drill()

    with pytest.raises(click.Abort):
        asyncio.run(drill._ended_by_signals(waits()))
    assert left == ["cleaned"]
