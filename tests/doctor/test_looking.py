"""The edges of doctor: this host, folders, settings, files, what is installed, and Slurm's commands."""

import asyncio
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from supervisor.doctor import ask_slurm as asking
from supervisor.doctor import security, try_folder
from supervisor.doctor.ask_slurm import ask_slurm
from supervisor.doctor.checks import own as own_checks
from supervisor.doctor.job import processes
from supervisor.doctor.look_files import look_files, look_root
from supervisor.doctor.look_machine import look_machine
from supervisor.doctor.look_own import look_own
from supervisor.doctor.mounts import mount_of
from supervisor.doctor.sbom import components, cyclonedx
from supervisor.doctor.security import Component, FileSeen, SecuritySeen
from supervisor.doctor.slurm_text import parse_partitions, parse_sinfo, ports, programs, value, words
from supervisor.hooks import placed
from supervisor.ledger.site.init import initialised
from tests.doctor.fake_slurm import calls_of, fake_slurm
from tests.doctor.places import DATA, place

# --- Slurm --------------------------------------------------------------------------------------------------------


def test_slurm_is_asked_a_handful_of_questions(tmp_path: Path) -> None:
    """Each is counted, none submits, and the options for sbatch reach its `--test-only`."""
    seen = asyncio.run(ask_slurm(["-p", "gpu"], fake_slurm(tmp_path)))
    calls = calls_of(tmp_path)
    assert seen.calls == len(calls) == 5
    assert [call for call in calls if "sbatch" in call] == [
        "sbatch --version",
        "sbatch --test-only -p gpu -t1 --wrap true",
    ]
    assert seen.config["SLURM_VERSION"] == "22.05.8"
    assert seen.nodes[0].count == 4
    assert seen.partitions
    assert seen.submits is not None
    assert seen.submits.is_accepted
    assert seen.accounts is None
    assert not seen.unanswered


def test_a_database_is_asked_whether_it_is_up(tmp_path: Path) -> None:
    """Only where there is one; its refusal is kept in its words."""
    config = 'echo "SLURM_VERSION = 24.11.5"; echo "AccountingStorageType = accounting_storage/slurmdbd"'
    env = fake_slurm(tmp_path, scontrol=config, sacct="echo sacct: error: refused >&2; exit 1")
    seen = asyncio.run(ask_slurm((), env))
    assert seen.accounts is not None
    assert (seen.accounts.is_accepted, seen.accounts.words) == (False, "sacct: error: refused")


def test_a_controller_that_is_away_is_asked_once(tmp_path: Path) -> None:
    """Nothing more is asked of it, and why is told in its own words."""
    env = fake_slurm(tmp_path, scontrol="echo Unable to contact slurm controller >&2; exit 1")
    seen = asyncio.run(ask_slurm((), env))
    assert seen.complaint == "scontrol: Unable to contact slurm controller"
    assert calls_of(tmp_path) == ["sbatch --version", "scontrol show config"]


def test_a_controller_that_hangs_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks gets the prompt back."""
    monkeypatch.setattr(asking, "ASK_S", 0.3)
    began = time.monotonic()
    seen = asyncio.run(ask_slurm((), fake_slurm(tmp_path, scontrol="exec sleep 30")))
    assert "no answer within 0.3s" in seen.complaint
    assert time.monotonic() - began < 10


def test_without_slurm_nothing_is_asked(tmp_path: Path) -> None:
    """The missing commands are named."""
    seen = asyncio.run(ask_slurm((), {"PATH": str(tmp_path)}))
    assert "sbatch" in seen.missing
    assert seen.calls == 0


def test_words_of_slurm_are_read() -> None:
    """What is off or not set is empty, lists are lower-cased, repeated programs are all found."""
    config = {"A": "(null)", "B": "accounting_storage/none", "C": "Alloc,Contain", "Prolog[0]": "/p", "Prolog[1]": "/q"}
    assert (value(config, "A"), value(config, "B"), words(config, "C")) == ("", "", ("alloc", "contain"))
    assert programs(config, "Prolog") == ("/p", "/q")
    assert (ports({"SrunPortRange": "0-0"}), ports({"SrunPortRange": "60001-63000"})) == (None, (60001, 63000))
    groups = parse_sinfo("main*|up|4|idle|8|64000|gpu:8\nnonsense\ncpu|down|x|idle|8|1|(null)\n")
    assert [(group.partition, group.count, group.gres, group.is_up) for group in groups] == [
        ("main", 4, "gpu:8", True),
        ("cpu", 0, "", False),
    ]
    names = [part.name for part in parse_partitions((DATA / "26.05" / "partitions.txt").read_text())]
    assert names == ["main", "low", "high"]


# --- host and folders ---------------------------------------------------------------------------------------------


def test_this_machine_is_seen() -> None:
    """Python is the one that runs."""
    seen = look_machine()
    assert seen.python == sys.version_info[:3]
    assert seen.arch == os.uname().machine


def test_a_folder_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    """One that is not there yet is tried where it would be made, and is not made."""
    seen = try_folder.try_folder(tmp_path / "work" / ".supervise")
    assert (seen.complaint, seen.flock, seen.link, seen.can_execute) == ("", "", "", True)
    assert seen.free_bytes > 0
    assert seen.filesystem
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_refuses_says_why() -> None:
    """With the reason of the system."""
    seen = try_folder.try_folder(Path("/proc/self/fdinfo"))
    assert seen.complaint


def test_a_folder_that_hangs_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt comes back, and the folder counts as not usable."""

    def hang(path: Path) -> None:
        time.sleep(30)

    monkeypatch.setattr(try_folder, "_tried", hang)
    monkeypatch.setattr(try_folder, "DEADLINE_S", 0.3)
    assert try_folder.try_folder(tmp_path).complaint


def test_locks_that_are_refused_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lustre without flock answers ENOSYS, a filesystem without hard links EPERM."""

    def refuse(code: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", lambda *_: refuse(38))
    monkeypatch.setattr(os, "link", lambda *_: refuse(1))
    seen = try_folder.try_folder(tmp_path)
    assert (seen.flock, seen.link) == ("ENOSYS", "EPERM")


def test_the_mount_of_a_path_is_the_longest_and_last() -> None:
    """A space in its name is written in octal."""
    text = (
        "root / ext4 rw 0 0\nmds:/s /scratch lustre rw,flock 0 0\nx /scratch/a\\040b tmpfs rw,noexec 0 0\n"
        "y /scratch/a\\040b nfs4 ro 0 0\ntorn\n"
    )
    assert mount_of(text, "/scratch/me").options == ("rw", "flock")
    assert mount_of(text, "/scratch/a b/c").filesystem == "nfs4"
    assert mount_of(text, "/scratchy").filesystem == "ext4"


# --- ours ---------------------------------------------------------------------------------------------------------


def test_settings_are_told_with_their_origin(tmp_path: Path) -> None:
    """A file that cannot be read is a complaint and not the end of doctor."""
    env = {"HOME": str(tmp_path), "SUPERVISE_SPARES": "2"}
    seen = look_own({"transport": "stdout"}, "", env)
    assert (seen.spares, seen.transport, seen.settings_complaint) == (2, "stdout", "")
    assert seen.origins == {"spares": "SUPERVISE_SPARES", "transport": "command line"}
    broken = look_own({}, "", {**env, "SUPERVISE_SPARES": "many"})
    assert "SUPERVISE_SPARES=many" in broken.settings_complaint
    assert broken.spares == 0


def test_a_ledger_is_tried_where_this_month_is_written(tmp_path: Path) -> None:
    """Made by `ledger init` it is well; without the folders of this cluster or month it is not."""
    env = {"HOME": str(tmp_path), "SUPERVISE_LEDGER": str(tmp_path / "ledger")}
    assert "no folder" in _ledger(env, "c1")
    initialised(tmp_path / "ledger", ["c1"], "", now=time.time(), is_dry=False)
    assert _ledger(env, "c1") == ""
    assert "no folder" in _ledger(env, "c2")
    month = next((tmp_path / "ledger" / "c1").iterdir())
    for each in month.parent.iterdir():
        each.chmod(0o777)
    assert "not sticky" in _ledger(env, "c1")


def test_a_hook_that_opens_for_root_alone_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a user hears that root runs nothing of ours; a site's own health check is not taken for it."""

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    assert placed.is_hook(tmp_path / "50-supervise")
    assert not placed.is_hook(tmp_path / "healthcheck")


def test_who_may_not_read_the_key_is_told_that_his_jobs_have_no_name(tmp_path: Path) -> None:
    """A pseudonym is made with it."""
    env = {"HOME": str(tmp_path), "SUPERVISE_LEDGER": str(tmp_path / "ledger"), "SUPERVISE_LEDGER_USERS": "pseudonym"}
    initialised(tmp_path / "ledger", ["c1"], "", now=time.time(), is_dry=False)
    seen = look_own({}, "c1", env)
    assert seen.ledger is not None
    assert not seen.ledger.is_nameless
    (tmp_path / "ledger/.pseudonyms").unlink()
    seen = look_own({}, "c1", env)
    assert seen.ledger is not None
    assert seen.ledger.is_nameless
    told = own_checks.ledger(place(own=seen))
    assert told is not None
    assert "your jobs without a name" in told.text


def _ledger(env: Mapping[str, str], cluster: str) -> str:
    found = look_own({}, cluster, env).ledger
    assert found is not None
    return found.complaint


def test_hooks_of_ours_are_told_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site's own health check at the same place is not ours."""
    monkeypatch.setattr(placed, "ROOT", tmp_path)
    ours, theirs = tmp_path / "etc/slurm/epilog.d/50-supervise", tmp_path / "etc/slurm/healthcheck"
    timer, other = (tmp_path / "etc/systemd/system" / name for name in ("supervise-node.timer", "supervised.service"))
    for path, text in (
        (ours, "exec python -I -m supervisor.cli.main hook epilog\n"),
        (theirs, "exec nhc -a # the node is supervised by NHC\n"),
        (timer, ""),
        (other, "supervise\n"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert look_own({}, "", {"HOME": str(tmp_path)}).hooks == (str(ours),)
    assert [file.path for file in look_root()] == [str(ours), str(timer)]


def test_files_that_others_can_change_are_named(tmp_path: Path) -> None:
    """A settings file that anybody may write is a way into every job of the user."""
    config = tmp_path / "config.toml"
    config.write_text("")
    config.chmod(0o666)
    seen = look_files(tmp_path, {"HOME": str(tmp_path), "SUPERVISE_CONFIG": str(config)}, "")
    mine = next(file for file in seen if file.what == "your settings")
    assert mine.mode == 0o666
    assert "can be written by others" in mine.distrust
    missing = next(file for file in seen if file.what == "index of runs")
    assert missing.mode is None
    assert look_root() is not None


def test_security_begins_with_a_conclusion() -> None:
    """What is wrong is counted in it, and shown with what is wrong."""
    well = SecuritySeen(
        files=(FileSeen(what="code", path="/opt/s", mode=0o755, owner="root"),),
        components=(Component(name="click", version="8.1", licence="BSD"),),
    )
    assert security.conclusion(well).startswith("None of our files can be changed by others. Nothing listens")
    assert "any free one (no SrunPortRange)" in security.listening(well)
    assert security.listening(msgspec.structs.replace(well, transport="stdout")).startswith("nothing")
    bad = FileSeen(what="code", path="/opt/s", mode=0o777, owner="bob", distrust="/opt/s can be written by others")
    seen = msgspec.structs.replace(well, files=(bad,), ports=(60001, 63000), root_runs=(bad,), leaves=("mail",))
    told = "\n".join(security.lines(seen))
    assert security.conclusion(seen).startswith("2 of our files")
    assert all(finding.remedy and bad.distrust in finding.text for finding in security.findings(seen))
    assert "60001-63000 (SrunPortRange)" in told
    assert "CAN BE CHANGED BY OTHERS" in told
    assert "leaves    mail" in told


def test_what_leaves_the_site_is_named_without_its_secrets() -> None:
    """Whom a notifier tells is an evaluator's business, its token is not."""
    ways = security.ways_out("mailto:ops@site.org https://hooks.example.com/T0/B1/secret slack://tokenA/b", "a.toml")
    assert ways == (
        "mailto to site.org (notify, a.toml)",
        "https to hooks.example.com (notify, a.toml)",
        "slack (notify, a.toml)",
    )
    assert security.ways_out("", "") == ()


def test_the_sbom_has_what_is_loaded_and_no_more() -> None:
    """Our requirements with theirs, each with version and licence; nothing of the tests' own tools."""
    found = {part.name: part for part in components()}
    assert {"slurm-supervise", "click", "msgspec", "cryptography"} <= set(found)
    assert not {"pytest", "mypy", "ruff"} & set(found)
    assert all(part.version and part.licence for part in found.values())
    document = cyclonedx(list(found.values()))
    assert document["bomFormat"] == "CycloneDX"
    assert "slurm-supervise" not in {part["name"] for part in document["components"]}


# --- processes of the test job ------------------------------------------------------------------------------------


def test_a_process_is_known_by_its_start() -> None:
    """Another one with the same number is not it, and a zombie is gone."""
    child = subprocess.Popen(["sleep", "60"])
    try:
        known = processes.pid_of(child.pid)
        assert known is not None
        assert processes.is_alive(known)
        assert not processes.is_alive(msgspec.structs.replace(known, started=known.started + 1))
    finally:
        child.kill()
        while processes.pid_of(child.pid) is not None:
            time.sleep(0.01)
        child.wait()


def test_an_agent_is_found_by_its_configuration() -> None:
    """And not the srun that has the same words on its command line."""
    argv = ["-c", "import time; time.sleep(60)", "/run/agent-4711.json"]
    agent = subprocess.Popen([sys.executable, *argv])
    try:
        while not processes.has_agent("4711"):
            time.sleep(0.01)
        assert not processes.has_agent("471")
    finally:
        agent.kill()
        agent.wait()
    step = subprocess.Popen(["/usr/bin/srun", *argv], executable=sys.executable)
    try:
        time.sleep(0.2)
        assert not processes.has_agent("4711")
    finally:
        step.kill()
        step.wait()
