"""The scripts as slurmd runs them: with a pretended driver, with things that hang, and with hostile surroundings."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.hooks import trust
from tests.docs.pages import CHECKOUT
from tests.fakes.nvml.build import FakeNvml, build

_SCRIPTS = {
    "prolog": CHECKOUT / "scripts/slurm/prolog.d/50-supervise",
    "epilog": CHECKOUT / "scripts/slurm/epilog.d/50-supervise",
    "health": CHECKOUT / "scripts/slurm/healthcheck",
}
_DEADLINE_S = 4
_JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "29999", "SLURM_JOB_GPUS": "0,1", "SLURMD_NODENAME": "n1"}
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="hooks run as root"),
    pytest.mark.skipif(bool(trust.complaints(trust.own_files())), reason="this checkout is not root's alone"),
]


class Node:
    """A node with a driver, a kernel log, settings, and the three scripts."""

    def __init__(self, folder: Path, driver: FakeNvml) -> None:
        self.folder = folder
        self.driver = driver
        self.python = folder / "python"
        self.log = folder / "kmsg"
        self.log.write_text("6,1,1,-;Linux version 6\n")
        self.settings = folder / "hooks.toml"
        self.set()
        exports = " ".join(f"{name}={value}" for name, value in driver.environment.items())
        self.interpreter(f'{exports} exec {sys.executable} "$@"')

    def interpreter(self, line: str) -> None:
        """What PYTHON names does this."""
        self.python.write_text(f"#!/bin/sh\n{line}\n")
        self.python.chmod(0o755)

    def set(self, *lines: str) -> None:
        """The site's settings."""
        fixed = [f'spool = "{self.folder}/spool"', f'kernel_log = "{self.log}"', f'shm = "{self.folder}"']
        self.settings.write_text("".join(f"{line}\n" for line in [*fixed, f'tmp = "{self.folder}"', *lines]))

    def run(self, hook: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """One hook, run as slurmd does."""
        text = _SCRIPTS[hook].read_text()
        for name, value in (("PYTHON", self.python), ("CONFIG", self.settings), ("DEADLINE_S", _DEADLINE_S)):
            text = re.sub(rf"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        script = self.folder / hook
        script.write_text(text)
        script.chmod(0o755)
        return subprocess.run(
            [script], env={**_JOB, **environment}, capture_output=True, text=True, check=False, timeout=60
        )

    @property
    def records(self) -> list[dict[str, Any]]:
        """What was written."""
        path = self.folder / "spool" / "node.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> FakeNvml:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def node(tmp_path: Path, driver: FakeNvml) -> Iterator[Node]:
    tmp_path.chmod(0o755)
    driver.says()
    yield Node(tmp_path, driver)
    driver.says()


def test_the_three_scripts_differ_in_what_they_run_alone() -> None:
    """What is right in one must not be wrong in another."""

    def common(path: Path) -> list[str]:
        return [line for line in path.read_text().splitlines() if not line.startswith(("HOOK=", "# What slurmd runs"))]

    first, *others = (common(path) for path in _SCRIPTS.values())
    assert all(other == first for other in others)
    assert all(os.access(path, os.X_OK) for path in _SCRIPTS.values())


def test_a_job_on_a_healthy_node_leaves_one_line(node: Node) -> None:
    """Both hooks answer well and say nothing."""
    for hook in ("prolog", "epilog"):
        done = node.run(hook)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (record,) = node.records
    assert (record["level"], record["job"], record["node"], record["uid"]) == ("ok", 7, "n1", 29999)
    assert "is_partial" not in record
    assert record["leftovers"] == {"stray": [], "gpu_memory": [], "full": []}


def test_what_the_job_did_to_its_gpu_is_told(node: Node) -> None:
    """From counters and from the kernel's log, by UUID."""
    node.run("prolog")
    node.driver.says("0.ecc_unc_dram_volatile=2", "0.remap_failure=1")
    with node.log.open("a") as log:
        log.write("3,2,2,-;NVRM: Xid (PCI:0000:10:00): 64, pid=1, row remap failure\n")
    assert node.run("epilog").returncode == 0
    (record,) = node.records
    assert (record["level"], record["gpu"], record["drain"]) == ("fatal", "GPU-0000-0", "suggested")
    assert {each["rule"] for each in record["findings"]} == {"remap_failure", "xid_64", "ecc_unc_dram"}
    assert record["gpus"] == {"GPU-0000-0": {"ecc_unc_dram": 2}}
    assert [(each["xid"], each["gpu"]) for each in record["xids"]] == [(64, "GPU-0000-0")]


@pytest.mark.parametrize("hook", ["prolog", "epilog"])
def test_a_hook_fails_where_the_site_wants_it_to(node: Node, hook: str) -> None:
    """Only there, only for what is fatal."""
    node.driver.says("1.code=15")
    assert node.run(hook).returncode == 0
    node.set('drain = "act"', f'drain_in = ["{hook}"]')
    assert node.run(hook).returncode == 1
    node.driver.says("1.remap_pending=1")
    assert node.run(hook).returncode == 0


def test_memory_that_is_held_is_told_with_its_holder(node: Node) -> None:
    """This process, for want of another one."""
    node.run("prolog")
    node.driver.says(f"0.process={os.getpid()}", "0.process_mib=300", "0.mem_used_mib=304")
    node.run("epilog")
    (record,) = node.records
    assert record["leftovers"]["gpu_memory"] == [{"gpu": "GPU-0000-0", "mib": 300, "pid": os.getpid(), "uid": 0}]
    assert record["rule"] == "gpu_memory_held"


@pytest.mark.parametrize("call", ["nvmlInitWithFlags", "nvmlDeviceGetMemoryErrorCounter", "nvmlShutdown"])
def test_a_driver_that_hangs_costs_the_deadline_and_the_rest_is_told(node: Node, call: str) -> None:
    """At its start, in the midst, at its end: the record names it, and no process of the hook goes on."""
    node.run("prolog")
    node.driver.says(f"hang={call}")
    began = time.monotonic()
    assert node.run("epilog").returncode == 0
    assert time.monotonic() - began < _DEADLINE_S + 3
    (record,) = node.records
    assert (record["level"], record["rule"]) == ("suspect", "nvml_hangs")
    assert record["leftovers"]["stray"] == []
    assert "lost_gpus" not in record
    _nobody_left(str(node.settings))


def _nobody_left(word: str) -> None:
    until = time.monotonic() + 5
    while (
        left := [path for path in Path("/proc").glob("[0-9]*") if word in _words(path)]
    ) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def _words(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_a_spool_that_hangs_costs_the_deadline(node: Node) -> None:
    """A pipe without a reader stands for a disk that gives no answer."""
    (node.folder / "spool").mkdir(mode=0o700)
    os.mkfifo(node.folder / "spool" / "node.jsonl", 0o600)
    began = time.monotonic()
    assert node.run("epilog").returncode == 0
    assert time.monotonic() - began < _DEADLINE_S + 3


@pytest.mark.parametrize(
    "line",
    ["exec sleep 60", "exit 3", "kill -SEGV $$", "echo exit 7; exec sleep 60", "exec yes", "exec >&- 2>&-; sleep 60"],
)
def test_an_interpreter_that_does_not_work_holds_nobody_up(node: Node, line: str) -> None:
    """It hangs, dies, babbles or closes its output: 0, within the deadline, and slurmd's pipes are free."""
    node.interpreter(line)
    began = time.monotonic()
    assert node.run("epilog").returncode == 0
    assert time.monotonic() - began < _DEADLINE_S + 3


def test_where_it_is_not_installed_it_is_silent(node: Node) -> None:
    """A node that has not been set up yet must not be drained for it."""
    node.python.unlink()
    done = node.run("prolog")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("what", ["settings", "spool", "folder"])
def test_where_others_could_have_written_it_does_not_run(node: Node, what: str) -> None:
    """It says why, and answers well: the node is not at fault."""
    (node.folder / "spool").mkdir(mode=0o700)
    path = {"settings": node.settings, "spool": node.folder / "spool", "folder": node.folder}[what]
    path.chmod(0o777)
    done = node.run("epilog")
    path.chmod(0o755)
    assert done.returncode == 0
    assert "does not run" in done.stderr
    assert "can be written by others" in done.stderr
    assert node.records == []


def test_the_environment_brings_no_code_in(node: Node) -> None:
    """Neither for bash, nor for Python, nor by a search path, nor by a variable's value."""
    trap = node.folder / "trap"
    trap.mkdir()
    (trap / "sitecustomize.py").write_text(f"open({str(node.folder / 'caught')!r}, 'w')\n")
    (trap / "msgspec.py").write_text(f"open({str(node.folder / 'caught')!r}, 'w')\n")
    (trap / "rc").write_text(f"touch {node.folder}/caught\n")
    for name in ("env", "printf", "kill"):
        (trap / name).write_text(f"#!/bin/sh\ntouch {node.folder}/caught\n")
        (trap / name).chmod(0o755)
    done = node.run(
        "epilog",
        PYTHONPATH=str(trap),
        PYTHONSTARTUP=str(trap / "sitecustomize.py"),
        BASH_ENV=str(trap / "rc"),
        ENV=str(trap / "rc"),
        PATH=str(trap),
        SLURM_JOB_UID=f"$(touch {node.folder}/caught)",
        **{"BASH_FUNC_read%%": f"() {{ /usr/bin/touch {node.folder}/caught; }}"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (node.folder / "caught").exists()
    assert "uid" not in node.records[0]


def test_it_runs_isolated_or_not_at_all(node: Node) -> None:
    """Who calls it by hand is told how."""
    words = ["-m", "supervisor.cli.main", "hook", "epilog", "--config", str(node.settings)]
    done = subprocess.run(
        [sys.executable, *words], cwd=CHECKOUT, env=_JOB, capture_output=True, text=True, check=False, timeout=60
    )
    assert "start it isolated" in done.stderr
    assert node.records == []


def test_prolog_and_epilog_cannot_call_slurm(node: Node) -> None:
    """What could start a command is not even loaded."""
    program = (
        "import sys, supervisor.cli.hook, supervisor.hooks.entry, supervisor.hooks.around_jobs\n"
        "print([name for name in sys.modules if name in ('subprocess', 'asyncio') or 'supervisor.slurm' in name])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_dry_run_shows_the_record_and_writes_nothing(node: Node) -> None:
    """For a person who tries it."""
    words = ["-I", "-m", "supervisor.cli.main", "--dry-run", "hook", "health", "--config", str(node.settings)]
    done = subprocess.run([node.python, *words], env=_JOB, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout.removesuffix("exit 0\n"))["hook"] == "health"
    assert not (node.folder / "spool").exists()


def test_the_health_check_confirms_over_its_runs(node: Node) -> None:
    """By what it keeps in its folder."""
    node.set("boot_window_s = 0.0")
    node.run("health")
    node.driver.says("count=1")
    for _ in range(3):
        assert node.run("health").returncode == 0
    assert [(record["level"], record.get("rule", "")) for record in node.records] == [
        ("ok", ""),
        ("watch", "gpu_lost"),
        ("fatal", "gpu_lost"),
    ]
    assert node.records[-1]["drain"] == "suggested"


def test_a_switched_off_hook_does_nothing(node: Node) -> None:
    """In an emergency, by one word."""
    node.set("enabled = false")
    assert node.run("epilog").returncode == 0
    assert not (node.folder / "spool").exists()
