"""The emergency off-switch: sbatch, or the command, runs as if we were not there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor import settings_resolve
from supervisor.cli import off_switch
from supervisor.cli.off_switch import switched_off
from tests.slurm_submit.fakes import FakeSlurm

_Off = Callable[..., "subprocess.CompletedProcess[str]"]
_SCRIPT = "#!/bin/sh\n#SBATCH -N 2\n#SUPERVISE --spares 1\necho train\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in place of /etc/supervise."""
    monkeypatch.setattr(settings_resolve, "SITE_FILE", tmp_path / "config.toml")
    monkeypatch.setattr(off_switch, "SITE_SWITCH", tmp_path / "off")
    return tmp_path


@pytest.fixture
def type_in(slurm: FakeSlurm, work: Path, checkout: Path) -> _Off:
    """Runs `supervise WORDS` in a process of its own, which may become another program."""

    def run(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "supervisor.cli.main", *words],
            cwd=work,
            env={**os.environ, **env, "PYTHONPATH": str(checkout)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def test_sbatch_gets_what_the_user_typed(type_in: _Off, slurm: FakeSlurm, work: Path) -> None:
    """To the letter, from the user's own script, with one line that says so; no run folder is made."""
    (work / "train.sh").write_text(_SCRIPT)
    done = type_in("--spares", "1", "sbatch", "-p", "gpu", "train.sh", "--lr", "0.1", SUPERVISE_OFF="1")
    assert (done.returncode, done.stdout) == (0, "Submitted batch job 4242\n")
    assert done.stderr == "supervise: switched off by SUPERVISE_OFF: sbatch runs WITHOUT supervision\n"
    assert slurm.argv == ["-p", "gpu", "train.sh", "--lr", "0.1"]
    assert not (work / ".supervise").exists()


def test_sbatchs_refusal_is_the_users(type_in: _Off, slurm: FakeSlurm, work: Path) -> None:
    """Its words and its exit code."""
    slurm.says(stderr="sbatch: error: no\n", code=3)
    done = type_in("-q", "sbatch", "train.sh", SUPERVISE_OFF="true")
    assert (done.returncode, done.stderr) == (3, "sbatch: error: no\n")


def test_a_broken_setting_does_not_hold_up_the_job(type_in: _Off, slurm: FakeSlurm, work: Path) -> None:
    """That may be why it was switched off."""
    (work / "config.toml").write_text("spares = many\n")
    done = type_in(
        "sbatch", "x.sh", SUPERVISE_OFF="1", SUPERVISE_SPARES="x", SUPERVISE_CONFIG=str(work / "config.toml")
    )
    assert (done.returncode, slurm.argv) == (0, ["x.sh"])


def test_a_line_of_the_script_switches_one_job_off(type_in: _Off, slurm: FakeSlurm, work: Path) -> None:
    """A setting like every other."""
    (work / "train.sh").write_text(_SCRIPT.replace("--spares 1", "--off true"))
    done = type_in("sbatch", "train.sh")
    assert done.stderr == "supervise: switched off by #SUPERVISE in line 3: sbatch runs WITHOUT supervision\n"
    assert slurm.argv == ["train.sh"]


def test_a_dry_run_says_so_and_submits_nothing(type_in: _Off, slurm: FakeSlurm, work: Path) -> None:
    """As always."""
    done = type_in("--dry-run", "sbatch", "train.sh", SUPERVISE_OFF="1")
    assert "switched off by SUPERVISE_OFF" in done.stdout
    assert slurm.calls() == 0


def test_run_becomes_the_command(type_in: _Off, work: Path) -> None:
    """Without a keeper and a run folder; its exit code is the command's."""
    done = type_in("run", "--", "sh", "-c", "echo here; exit 7", SUPERVISE_OFF="1")
    assert (done.returncode, done.stdout) == (7, "here\n")
    assert done.stderr == "supervise: switched off by SUPERVISE_OFF: sh runs WITHOUT supervision\n"
    assert not (work / ".supervise").exists()
    assert type_in("run", "--dry-run", "--", "sh", "-c", "echo here", SUPERVISE_OFF="1").stdout == ""


def test_later_places_win(site: Path, work: Path) -> None:
    """Site's file, user's file, environment, options: a user can leave the site's choice for one job."""
    user = work / "user.toml"
    env = {"SUPERVISE_CONFIG": str(user)}
    user.write_text("")
    assert switched_off(env, {}) == ""
    (site / "config.toml").write_text("spares = 1\noff = true\n")
    assert switched_off(env, {}) == f"{site / 'config.toml'} line 2"
    user.write_text("off = false\n")
    assert switched_off(env, {}) == ""
    assert switched_off({**env, "SUPERVISE_OFF": "1"}, {}) == "SUPERVISE_OFF"
    assert switched_off({**env, "SUPERVISE_OFF": "1"}, {"off": "false"}) == ""
    assert switched_off({**env, "SUPERVISE_OFF": ""}, {"off": "true"}) == "command line"


def _is_mounted(place: str) -> bool:
    """A folder that is the root of a chroot is no mount."""
    return any(line.split()[4] == place for line in Path("/proc/self/mountinfo").read_text().splitlines())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can put another folder in the place of /etc")
@pytest.mark.skipif(not _is_mounted("/"), reason="in a chroot no mount can be made private")
def test_the_real_places_count(slurm: FakeSlurm, work: Path, checkout: Path, tmp_path: Path) -> None:
    """A real /etc/supervise and real processes: the site's file, the user's, environment, option, the site's switch."""
    steps = [
        "cp -a /etc {etc}; mount --bind {etc} /etc; mkdir -p /etc/supervise {home}/.config/supervise",
        "echo 'off = true' >/etc/supervise/config.toml; {go} site",
        "echo 'off = false' >{home}/.config/supervise/config.toml; {go} user --dry-run",
        "SUPERVISE_OFF=1 {go} environment",
        "SUPERVISE_OFF=1 {go} option --off false --dry-run",
        "touch /etc/supervise/off; SUPERVISE_OFF=0 {go} switch --off false",
    ]
    go = tmp_path / "go"
    supervise = f'{sys.executable} -m supervisor.cli.main "$@" sbatch train.sh'
    go.write_text(f"#!/bin/sh\nname=$1; shift\n{supervise} >{tmp_path}/$name 2>&1\n")
    go.chmod(0o755)
    (work / "train.sh").write_text("#!/bin/sh\necho train\n")
    text = "\n".join(["set -e", *steps]).format(etc=tmp_path / "etc", home=tmp_path / "home", go=go)
    env = {**os.environ, "PYTHONPATH": str(checkout), "HOME": str(tmp_path / "home")}
    subprocess.run(["unshare", "--mount", "sh", "-c", text], cwd=work, env=env, check=True, timeout=100)
    said = {name: (tmp_path / name).read_text() for name in ("site", "user", "environment", "option", "switch")}
    assert "switched off by /etc/supervise/config.toml line 1" in said["site"]
    assert "switched off by SUPERVISE_OFF" in said["environment"]
    assert "switched off by /etc/supervise/off" in said["switch"]
    for name in ("user", "option"):
        assert said[name].startswith("Would submit run train.sh-")
    assert slurm.calls() == 3
    assert not Path("/etc/supervise/off").exists()


def test_the_sites_switch_is_stronger_than_all(site: Path) -> None:
    """An admin who must stop it now needs one `touch`, and no user's setting undoes it."""
    (site / "off").touch()
    assert switched_off({"SUPERVISE_OFF": "0"}, {"off": "false"}) == str(site / "off")


def test_a_users_broken_file_does_not_undo_the_sites_choice(site: Path, work: Path) -> None:
    """Each source is read by itself."""
    (site / "config.toml").write_text("off = true\n")
    (work / "user.toml").write_text("off = = 1\n")
    assert switched_off({"SUPERVISE_CONFIG": str(work / "user.toml")}, {}) == f"{site / 'config.toml'} line 1"


@pytest.mark.parametrize("value", ["maybe", "2"])
def test_a_word_that_is_neither_does_not_switch_off(site: Path, value: str) -> None:
    """The settings complain about it afterwards."""
    assert switched_off({"SUPERVISE_OFF": value}, {}) == ""
