"""The systemd units are what systemd takes without a word, locked up, and do what they say."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.ledger.site.init import initialised
from tests.docs.pages import rows, section

_UNITS = Path(__file__).resolve().parents[2] / "systemd"
_SERVICES = sorted(path.name for path in _UNITS.glob("*.service"))
_TIMERS = sorted(path.name for path in _UNITS.glob("*.timer"))
_PLACE = "/opt/supervise/bin/"
_EVERY = (
    *("NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "ProtectControlGroups=yes"),
    *("ProtectHostname=yes", "ProtectKernelModules=yes", "ProtectKernelTunables=yes", "RestrictNamespaces=yes"),
    *("RestrictRealtime=yes", "RestrictSUIDSGID=yes", "LockPersonality=yes", "SystemCallArchitectures=native"),
    *("SystemCallFilter=@system-service", "Type=oneshot"),
)
_needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze (Debian: apt-get install systemd)"
)


def _lines(name: str) -> list[str]:
    return (_UNITS / name).read_text(encoding="utf-8").splitlines()


def _value(name: str, key: str) -> str:
    (found,) = [line.partition("=")[2] for line in _lines(name) if line.startswith(f"{key}=")]
    return found


def _command(name: str, programs: Path) -> list[str]:
    """What systemd would start, with programs from elsewhere."""
    text = _value(name, "ExecStart").replace(_PLACE, f"{programs}/")
    return [word.replace("$$", "$").replace("%%", "%") for word in shlex.split(text)]


@pytest.fixture
def programs(tmp_path: Path, checkout: Path) -> Path:
    """The package's programs, as in /opt/supervise/bin."""
    folder = tmp_path / "bin"
    folder.mkdir()
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    supervise = folder / "supervise"
    supervise.write_text(f'#!/bin/sh\nPYTHONPATH={checkout} exec {sys.executable} -m supervisor.cli.main "$@"\n')
    for path in (python, supervise):
        path.chmod(0o755)
    return folder


def _run(command: list[str], **env: str) -> "subprocess.CompletedProcess[str]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUPERVISE")}
    return subprocess.run(
        command, env={**inherited, **env}, cwd="/", capture_output=True, text=True, check=False, timeout=100
    )


def test_each_service_has_its_timer() -> None:
    """And the other way round."""
    assert [name.removesuffix(".service") for name in _SERVICES] == [name.removesuffix(".timer") for name in _TIMERS]
    assert _SERVICES == ["supervise-ledger.service", "supervise-node.service", "supervise-report.service"]


@_needs_systemd
def test_systemd_has_nothing_to_say(tmp_path: Path, programs: Path) -> None:
    """`systemd-analyze verify` of all of them, with the programs that they start in place."""
    for name in (*_SERVICES, *_TIMERS):
        (tmp_path / name).write_text("\n".join(_lines(name)).replace(_PLACE, f"{programs}/"))
    done = _run(["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in (*_SERVICES, *_TIMERS))])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@_needs_systemd
def test_a_unit_with_a_mistake_is_noticed(tmp_path: Path, programs: Path) -> None:
    """The check above can fail."""
    path = tmp_path / "supervise-bad.service"
    path.write_text(f"[Service]\nType=oneshot\nExecStart={programs}/supervise\nProtectSystm=strict\n")
    assert "ProtectSystm" in _run(["systemd-analyze", "verify", "--man=no", str(path)]).stderr


@_needs_systemd
@pytest.mark.parametrize("name", _SERVICES)
def test_the_documented_exposure_holds(name: str) -> None:
    """What `systemd-analyze security` says is no worse than docs/operate.md."""
    told = {unit.strip("`"): float(score) for unit, score, _ in rows(section("docs/operate.md", "systemd"))}
    done = _run(["systemd-analyze", "security", "--offline=true", "--no-pager", str(_UNITS / name)])
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stderr
    assert float(found[1]) <= told[name]


@pytest.mark.parametrize("name", _SERVICES)
def test_a_service_is_locked_up(name: str) -> None:
    """What none of them needs none of them can do, and each ends."""
    assert not set(_EVERY) - set(_lines(name))
    assert _value(name, "CapabilityBoundingSet") == " ".join(sorted(_value(name, "CapabilityBoundingSet").split()))
    assert _value(name, "TimeoutStartSec")


def test_owners_of_files_stay_visible_to_the_report() -> None:
    """With PrivateUsers all would be nobody's, and the reader trusts a record by its owner."""
    assert _value("supervise-report.service", "PrivateUsers") == "no"
    assert _value("supervise-report.service", "DynamicUser") == "yes"


def test_the_node_keeps_its_devices() -> None:
    """ProtectClock and PrivateDevices would take the GPUs away, PrivateTmp the node's /tmp."""
    for key in ("ProtectClock", "PrivateDevices", "PrivateTmp", "DeviceAllow", "ProtectKernelLogs"):
        assert not [line for line in _lines("supervise-node.service") if line.startswith(f"{key}=")]


def test_the_weekly_report_is_a_page(tmp_path: Path, programs: Path) -> None:
    """The very command, with a real ledger; a report that cannot be made leaves the last one."""
    initialised(tmp_path / "ledger", ("c1",), "", now=1.0, is_dry=False)
    state = tmp_path / "state dir"
    state.mkdir()
    command = _command("supervise-report.service", programs)
    done = _run(command, STATE_DIRECTORY=str(state), SUPERVISE_LEDGER=str(tmp_path / "ledger"), HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (page,) = state.glob("report-*.html")
    assert re.fullmatch(r"report-\d{4}-W\d\d\.html", page.name)
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")
    before = page.read_bytes()
    failed = _run(command, STATE_DIRECTORY=str(state), SUPERVISE_LEDGER=str(tmp_path / "none"), HOME=str(tmp_path))
    assert failed.returncode != 0
    assert page.read_bytes() == before


def test_the_ledgers_upkeep_is_done(tmp_path: Path, programs: Path) -> None:
    """The very command."""
    initialised(tmp_path / "ledger", ("c1",), "", now=1.0, is_dry=False)
    command = _command("supervise-ledger.service", programs)
    done = _run(command, SUPERVISE_LEDGER=str(tmp_path / "ledger"), HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "made ready" in done.stdout


def test_the_nodes_check_is_the_hooks(tmp_path: Path, programs: Path) -> None:
    """The very command, as far as the parser: the hook itself runs as root on a node."""
    command = [*_command("supervise-node.service", programs), "--help"]
    done = _run([word for word in command if word != "-I"], PYTHONPATH=str(_UNITS.parent))
    assert done.returncode == 0, done.stderr
    assert "prolog|epilog|health" in done.stdout
