"""The drill's own job before fake Slurm commands: what is sent, what is said when it is refused, what is left."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from supervisor.drill import hit, inject, own_job, pace_job, targets, watch
from supervisor.drill.inject import NotMade, Steps
from supervisor.drill.kinds import KINDS
from supervisor.drill.own_job import OwnJobs, new_folder
from supervisor.drill.targets import OwnTarget, UsersTarget
from supervisor.drill.watch import Watched
from supervisor.errors import DrillStopped, RunFolderUnusable
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.process import CallCount
from tests.doctor.fake_slurm import calls_of, fake_slurm
from tests.drill.made import injection
from tests.drill.world import World

_JOB = 'echo "JobId=7 JobState={state} Reason={reason} BatchHost=node001 NodeList=node[001-002] NumNodes=2"'
_RUNS = {"scontrol": _JOB.format(state="RUNNING", reason="None")}


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def _jobs(tmp_path: Path, bin_folder: Path, **scripts: str) -> OwnJobs:
    env = {**fake_slurm(bin_folder, **{"sbatch": "echo Submitted batch job 7", **scripts}), "HOME": str(tmp_path)}
    jobs = OwnJobs(
        folder=tmp_path / ".supervise" / "drill-1",
        options=("-p", "gpu"),
        nodes=2,
        minutes=9,
        env=env,
        count=CallCount(),
    )
    jobs.lay_out()
    return jobs


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_S", 0.01)
    monkeypatch.setattr(targets, "_ASK_EVERY_S", 0.05)
    monkeypatch.setattr(targets, "_END_S", 0.2)
    monkeypatch.setattr(own_job, "_ASK_END_EVERY_S", 0.05)
    monkeypatch.setattr(own_job, "_END_S", 0.2)
    monkeypatch.setattr(pace_job, "_ASK_EVERY_S", 0.05)


async def test_the_job_is_the_drills_own(tmp_path: Path, bin_folder: Path) -> None:
    """Its options before the user's, its name and output after them; nobody's ledger, notifiers or budgets."""
    jobs = _jobs(tmp_path, bin_folder)
    run = await jobs.submit()
    assert (run.job_id, run.folder.parent) == ("7", jobs.folder / "runs")
    settings = json.loads((run.folder / "run.json").read_text())["settings"]
    assert settings["checkpoint"] == str(jobs.train / "checkpoints")
    assert (settings.get("ledger", ""), settings.get("notify", ""), settings["skip_data"]) == ("", "", True)
    (sent,) = [call for call in calls_of(bin_folder) if "-J" in call]
    assert "-N 2 --ntasks-per-node=2 -t 9 -p gpu -J supervise-drill-1" in sent
    assert (jobs.folder.parent / ".gitignore").read_text() == "*\n"


async def test_a_new_run_has_whole_data_and_no_orders(tmp_path: Path, bin_folder: Path) -> None:
    """What the fault before has done is undone."""
    jobs = _jobs(tmp_path, bin_folder)
    for name in ("order.json", "end.json"):
        (jobs.train / name).write_text("{}")
    (jobs.train / "data" / "list.json").write_text('["shard-001.txt"]')
    await jobs.submit()
    assert json.loads((jobs.train / "data" / "list.json").read_text()) == ["shard-000.txt"]
    assert not (jobs.train / "order.json").exists()
    assert not (jobs.train / "end.json").exists()


async def test_sbatchs_refusal_is_told(tmp_path: Path, bin_folder: Path) -> None:
    """In its own words."""
    jobs = _jobs(tmp_path, bin_folder, sbatch="echo sbatch: error: Invalid account >&2; exit 1")
    with pytest.raises(DrillStopped, match="Invalid account"):
        await jobs.submit()
    with pytest.raises(DrillStopped, match="Invalid account"):
        await jobs.submit_plain("#!/bin/sh\n")
    await jobs.cancel()
    assert not any("scancel" in call for call in calls_of(bin_folder))


async def test_all_jobs_end_by_their_name(tmp_path: Path, bin_folder: Path) -> None:
    """Also those that went on in another's place."""
    jobs = _jobs(tmp_path, bin_folder, scontrol=_JOB.format(state="CANCELLED", reason="None"))
    await jobs.submit()
    await jobs.cancel()
    assert "scancel --me --name=supervise-drill-1" in calls_of(bin_folder)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path, bin_folder: Path) -> None:
    """Before anything is submitted."""
    (tmp_path / ".supervise").write_text("no folder")
    with pytest.raises(RunFolderUnusable, match="cannot be made for the drill"):
        _jobs(tmp_path, bin_folder)
    assert new_folder(tmp_path).name.startswith("drill-")


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("PENDING", "Priority", r"has not begun \(Priority\); more time: --patience-s"),
        ("PENDING", "BadConstraints", "BadConstraints"),
        ("FAILED", "NonZeroExitCode", "is FAILED and has not begun"),
    ],
)
async def test_a_job_that_does_not_begin_is_given_up(
    tmp_path: Path, bin_folder: Path, state: str, reason: str, words: str
) -> None:
    """With Slurm's reason."""
    jobs = _jobs(tmp_path, bin_folder, scontrol=_JOB.format(state=state, reason=reason))
    with pytest.raises(DrillStopped, match=words):
        await OwnTarget(jobs, 0.3, lambda _: None).run()


async def test_a_run_that_is_over_is_followed_by_another(tmp_path: Path, bin_folder: Path) -> None:
    """While it lives it is the same one; the end in good order is asked for."""
    target = OwnTarget(_jobs(tmp_path, bin_folder, **_RUNS), 5.0, lambda _: None)
    world = World(tmp_path / "run")
    target.current = Watched(folder=world.folder)
    assert await target.run() is target.current
    assert await target.batch_host(JobId("7")) == "node001"
    await target.end()
    assert (target.jobs.train / "end.json").exists()
    world.write(stage="finished", conclusion="stopped")
    target.patience_s = 0.1
    with pytest.raises(DrillStopped, match="has not begun"):
        await target.run()
    assert any("-J supervise-drill-1" in call for call in calls_of(bin_folder))


async def test_a_users_run_is_never_begun_anew(tmp_path: Path, bin_folder: Path) -> None:
    """Once it is over the drill is."""
    world = World(tmp_path / "run")
    silent: Mapping[str, str] = fake_slurm(bin_folder, scontrol="exit 1")
    target = UsersTarget(Watched(folder=world.folder), silent, CallCount())
    assert (await target.run()).folder == world.folder
    with pytest.raises(DrillStopped, match="does not say where job 7 runs"):
        await target.batch_host(JobId("7"))
    world.write(stage="finished", conclusion="stopped")
    with pytest.raises(DrillStopped, match="the run is over"):
        await target.run()


_TOLD = '{"at":1.0,"node":"node002","rank":3,"pid":4711}'
_BACK = '{"at":1.0,"node":"node002","pid":4711,"back_at":2.5}'


async def _hit(bin_folder: Path, srun: str) -> object:
    steps = Steps(env=fake_slurm(bin_folder, srun=srun), count=CallCount())
    return await steps.hit(KINDS["agent_killed"], JobId("7"), NodeName("node002"), 1.0)


async def test_the_last_word_of_a_step_counts(bin_folder: Path) -> None:
    """It runs beside the ranks on that node, and nothing of the caller's own job steers it."""
    told = await _hit(bin_folder, f"echo '{_TOLD}'; echo warning; echo '{_BACK}'; exit 1")
    assert told == injection(at=1.0, rank=None, step=None, back_at=2.5)
    (call,) = calls_of(bin_folder)
    assert "--overlap" in call
    assert "--jobid 7 -w node002 -N 1 -n 1 -J supervise-drill" in call
    assert call.endswith(f"{sys.executable} -I -m supervisor.drill.hit agent_killed 7 1")


@pytest.mark.parametrize(
    ("srun", "words"),
    [
        (f"exit {hit.NOBODY}", "no process of its kind was found on node002"),
        ("echo srun: error: Invalid job id specified >&2; exit 1", "exit code 1: srun: error: Invalid job id"),
        ("sleep 30", "gave no answer within"),
    ],
)
async def test_a_step_that_tells_nothing_has_made_nothing(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch, srun: str, words: str
) -> None:
    """And says why."""
    monkeypatch.setattr(inject, "_STEP_S", -0.5)
    with pytest.raises(NotMade, match=words):
        await _hit(bin_folder, srun)


async def test_who_cannot_be_let_go_on_ends_no_drill(bin_folder: Path) -> None:
    """The job may be over."""
    steps = Steps(env=fake_slurm(bin_folder, srun="exit 1"), count=CallCount())
    await steps.undo(injection(), JobId("7"))
    assert calls_of(bin_folder)[0].endswith("undo 7 4711")


async def test_rounds_are_read_when_all_are_there(tmp_path: Path, bin_folder: Path) -> None:
    """From a job that is not supervised itself."""
    jobs = _jobs(tmp_path, bin_folder, **{**_RUNS, "sbatch": "echo 7"})
    (jobs.folder / "pace").mkdir()
    for who in ("plain", "ours"):
        (jobs.folder / "pace" / f"{who}-1.json").write_text("[0.1]")
    found = await pace_job.measure(jobs, 1, 1.0)
    assert (found.plain, found.ours, found.problem) == (((0.1,),), ((0.1,),), "")
    assert os.access(jobs.folder / "pace.sh", os.R_OK)


async def test_rounds_that_do_not_come_are_said(tmp_path: Path, bin_folder: Path) -> None:
    """The job has ended, or was never taken."""
    over = _jobs(tmp_path, bin_folder, sbatch="echo 7", scontrol=_JOB.format(state="FAILED", reason="x"))
    assert "job 7 did not come to its end" in (await pace_job.measure(over, 1, 1.0)).problem
    fake_slurm(bin_folder, sbatch="echo no >&2; exit 1")
    assert "could not be submitted" in (await pace_job.measure(over, 1, 1.0)).problem
