"""`supervise doctor` and its test job on a real Slurm, as an ordinary user."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testbed.api import Testbed

pytestmark = pytest.mark.cluster
_JOB_S = 300.0
_FILTER = """\
function slurm_cli_setup_defaults(options, early_pass)
   return slurm.SUCCESS
end
function slurm_cli_pre_submit(options, pack_offset)
   local file = io.open("/proc/sys/kernel/hostname")
   local host = file:read("*l")
   file:close()
   if options["type"] == "sbatch" and string.match(host, "^node") then
      slurm.log_error("Job submission is not allowed from this host")
      return slurm.ERROR
   end
   return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, job_id, step_id)
   return slurm.SUCCESS
end
"""


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    """Two nodes whose steps are really confined."""
    with Testbed(f"doctor-{os.getpid()}") as testbed:
        yield testbed.up(nodes=2, gpus=2, profile="cgroup", settings=["SrunPortRange=60001-60099"])


def _doctor(bed: Testbed, *words: str) -> dict[str, Any]:
    program = [sys.executable, "-I", "-m", "supervisor.cli.main", "doctor", "--json", *words]
    done = bed.run(program, cwd=bed.home, deadline_s=_JOB_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _levels(told: dict[str, Any]) -> dict[str, str]:
    return {finding["check"]: finding["level"] for finding in told["findings"]}


def test_a_cluster_is_seen_without_root(bed: Testbed) -> None:
    """What slurm.conf says is told, within a handful of calls, and nothing is left behind."""
    told = _doctor(bed)
    levels = _levels(told)
    assert told["slurm_calls"] <= 6
    assert levels["memory"] == levels["tracking"] == levels["submit"] == "ok"
    assert levels["broker_port"] == "unknown"
    assert not (bed.home / ".supervise").exists()


def test_the_test_job_proves_what_was_guessed(bed: Testbed) -> None:
    """Agents, restart, fencing, ports, memory and sbatch are tried; job and folder are gone afterwards."""
    told = _doctor(bed, "--job", "--gpus-per-node=1")
    levels = _levels(told)
    tried = ("job", "supervised", "restart", "fencing", "broker_port", "memory", "submit_on_nodes", "machines")
    assert {check: levels[check] for check in tried} == dict.fromkeys(tried, "ok"), told["findings"]
    assert levels["gpus"] == "warn"  # pretended ones, for which no driver answers
    assert not (bed.home / ".supervise").exists()
    assert bed.run(["squeue", "--me", "-h"]).stdout == ""


def test_a_refusal_on_the_nodes_is_found(bed: Testbed) -> None:
    """Where the site forbids sbatch on compute nodes it is a limit with the site's own words; one node is enough."""
    conf: Path = bed.slurm_conf
    conf.with_name("cli_filter.lua").write_text(_FILTER, encoding="utf-8")
    before = conf.read_text(encoding="utf-8")
    conf.write_text(f"{before}CliFilterPlugins=lua\n", encoding="utf-8")
    try:
        told = _doctor(bed, "--job", "-N1")
    finally:
        conf.write_text(before, encoding="utf-8")
    found = next(finding for finding in told["findings"] if finding["check"] == "submit_on_nodes")
    assert found["level"] == "limit"
    assert "Job submission is not allowed from this host" in found["text"]
    assert _levels(told)["broker_port"] == "unknown"
    assert _levels(told)["supervised"] == "ok"
