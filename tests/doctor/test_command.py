"""`supervise doctor` as a person types it, before fake Slurm commands."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor.cli.main import cli
from supervisor.doctor.job import send
from supervisor.doctor.job.answers import JobOutcome
from supervisor.doctor.job.send import TestJob
from supervisor.errors import UsageError
from tests.doctor.fake_slurm import calls_of, fake_slurm


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the fake commands; the work folder is another one."""
    folder, work = tmp_path / "bin", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    _on_path(folder, monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(work)
    return folder


def _on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    monkeypatch.setenv("PATH", fake_slurm(folder, **scripts)["PATH"])


def _doctor(*words: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *words])


def test_the_first_line_is_the_conclusion(slurm: Path) -> None:
    """With the calls that it cost; nothing is left in the folder."""
    done = _doctor()
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("USABLE with ")
    assert "Nothing was installed or changed; 5 Slurm calls made." in done.stdout.splitlines()[0]
    assert list(Path.cwd().iterdir()) == []


def test_json_has_the_usual_fields(slurm: Path) -> None:
    """And each finding with its check, level, cost and remedy."""
    told = json.loads(_doctor("--json").stdout)
    assert {"schema", "version", "conclusion", "blockers", "cluster"} <= set(told)
    assert told["cluster"] == "testbed"
    assert told["slurm_calls"] == 5
    price = next(finding for finding in told["findings"] if finding["check"] == "requeue_price")
    assert price["level"] == "limit"
    assert price["remedy"]
    assert "config" not in told["place"]["slurm"]


def test_exit_codes_are_for_scripts(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1: not usable; 5: there is no Slurm."""
    _on_path(slurm, monkeypatch, scontrol="echo no controller >&2; exit 1")
    assert _doctor().exit_code == 1
    monkeypatch.setenv("PATH", "/nonexistent")
    done = _doctor()
    assert done.exit_code == 5
    assert done.stdout.startswith("NOT USABLE: not on PATH: sbatch")


def test_the_off_switch_is_told(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is supervised, nothing else matters; and no test job is sent."""
    monkeypatch.setenv("SUPERVISE_OFF", "true")
    done = _doctor("--job")
    assert done.exit_code == 1
    assert done.stdout.startswith("NOT USABLE: supervise is switched off by SUPERVISE_OFF")
    assert not any("-J" in call for call in calls_of(slurm))


def test_options_of_sbatch_need_a_job(slurm: Path) -> None:
    """Alone they would be passed over in silence."""
    done = _doctor("-p", "gpu")
    assert isinstance(done.exception, UsageError)
    assert "--job -p gpu" not in done.output
    assert "follow --job" in str(done.exception)


def test_security_needs_no_slurm(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its JSON holds the SBOM."""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "listens " in _doctor("--security").stdout
    told = json.loads(_doctor("--security", "--json").stdout)
    assert told["sbom"]["bomFormat"] == "CycloneDX"
    assert told["security"]["files"]


# --- the test job -------------------------------------------------------------------------------------------------


def _test_job(slurm: Path, patience_s: float) -> JobOutcome:
    test = TestJob(Path.cwd() / ".supervise", ["-p", "gpu"], nodes=2, ports=(0, 0), env=os.environ)
    return asyncio.run(test.carried_out(patience_s))


def _waiting(slurm: Path, reason: str) -> str:
    """A scontrol that shows a job in the queue until it is cancelled."""
    state = f"$(grep -q scancel {slurm}/calls && echo CANCELLED || echo PENDING)"
    return f'echo "JobId=9 JobState={state} Reason={reason}"'


def test_a_refused_job_leaves_nothing(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason is kept in the words of sbatch; job and folder are none."""
    _on_path(slurm, monkeypatch, sbatch="echo 'sbatch: error: Invalid account' >&2; exit 1")
    outcome = _test_job(slurm, 5)
    assert "Invalid account" in outcome.refused
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("reason", ["Priority", "PartitionNodeLimit"])
def test_a_job_that_waits_is_cancelled(slurm: Path, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """At the deadline, or at once where no patience helps; by its own name, and its folder goes."""
    _on_path(slurm, monkeypatch, sbatch="echo Submitted batch job 9", scontrol=_waiting(slurm, reason))
    monkeypatch.setattr(send, "_ASK_EVERY_S", 0.2)
    outcome = _test_job(slurm, 2 if reason == "Priority" else 60)
    assert (outcome.job_id, outcome.pended, outcome.kept) == ("9", reason, "")
    cancelled = next(call for call in calls_of(slurm) if call.startswith("scancel"))
    assert cancelled.startswith("scancel --me --name=supervise-doctor-")
    assert list(Path.cwd().iterdir()) == []


def test_a_job_that_broke_off_leaves_its_folder(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its output, whose last line is told."""
    _on_path(
        slurm,
        monkeypatch,
        sbatch='for last; do :; done; echo "python: not found" > "${last%/runs/*}/output.txt"; echo 9',
        scontrol='echo "JobId=9 JobState=FAILED Reason=NonZeroExitCode"',
    )
    monkeypatch.setattr(send, "_ASK_EVERY_S", 0.2)
    outcome = _test_job(slurm, 30)
    assert (outcome.state, outcome.output) == ("FAILED", "python: not found")
    assert (Path(outcome.kept) / "output.txt").exists()


def test_an_interruption_cancels_the_job(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever leaves does not leave a job behind."""
    _on_path(slurm, monkeypatch, sbatch="echo Submitted batch job 9", scontrol=_waiting(slurm, "Priority"))

    async def interrupted() -> None:
        test = TestJob(Path.cwd() / ".supervise", [], nodes=2, ports=(0, 0), env=os.environ)
        task = asyncio.create_task(test.carried_out(60))
        while not any("-o" in call for call in calls_of(slurm)):  # noqa: ASYNC110  # the fake tells no event
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    (slurm / "calls").touch()
    asyncio.run(interrupted())
    assert any(call.startswith("scancel --me") for call in calls_of(slurm))
    assert list(Path.cwd().iterdir()) == []
