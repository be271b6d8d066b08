"""Slurm itself runs the hooks: on healthy, broken and hanging nodes, with and without control groups."""

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from testbed import cgroups
from testbed.api import Testbed

from supervisor.hooks import trust
from tests.docs.pages import CHECKOUT
from tests.fakes.nvml.build import build

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(trust.complaints(trust.own_files())), reason="this checkout is not root's alone"),
]
_SOON_S: Final = 60.0
_DEADLINE_S: Final = 5
_CHECK_S: Final = 2
_SCRIPTS: Final = {
    "Prolog": "prolog.d/50-supervise",
    "Epilog": "epilog.d/50-supervise",
    "HealthCheckProgram": "healthcheck",
}
_STRAY: Final = "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  time.sleep(60)\n"


class Site:
    """A Slurm whose nodes run the hooks. Each node has a driver that says what it is told to, and its own spool."""

    def __init__(self, bed: Testbed, folder: Path) -> None:
        self.bed = bed
        self.folder = folder
        self.since = 0.0

    def set(self, *lines: str) -> None:
        """The site's settings."""
        fixed = {
            "spool": f"{self.folder}/spool-%n",
            "kernel_log": f"{self.folder}/kmsg",
            "slurm_conf": self.bed.slurm_conf,
        }
        text = [f'{name} = "{value}"' for name, value in fixed.items()] + ["boot_window_s = 0.0", *lines]
        new = self.folder / "hooks.new"
        new.write_text("\n".join(text) + "\n")
        new.rename(self.folder / "hooks.toml")

    def gpus(self, node: str, *lines: str) -> None:
        """What the driver of a node says from now on."""
        (self.folder / f"state-{node}").write_text("".join(f"{line}\n" for line in lines))

    def job(self, command: str = "true") -> int:
        """The id of a job on both nodes that has run to its end, epilogs included."""
        options = ["-W", "-N2", "--gpus-per-node=2", "-o", "/dev/null", "--parsable"]
        done = self.bed.run(["sbatch", *options], text_in=f"#!/bin/bash\nsrun true\n{command}\n")
        return int(done.stdout.split(";")[0])

    def records(self, node: str, hook: str) -> list[dict[str, Any]]:
        """What a node has written since all served."""
        path = self.folder / f"spool-{node}" / "node.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [record for line in lines if (record := json.loads(line))["hook"] == hook and record["at"] > self.since]

    def of_job(self, node: str, job: int) -> dict[str, Any]:
        """The epilog's record of this job."""
        found = self.wait(lambda: [each for each in self.records(node, "epilog") if each["job"] == job])
        assert len(found) == 1
        record: dict[str, Any] = found[0]
        return record

    def wait(self, asked: Callable[[], Any]) -> Any:
        """The first answer that is not empty."""
        until = time.monotonic() + _SOON_S
        while not (answer := asked()):
            assert time.monotonic() < until, [path.read_text()[-2000:] for path in self.bed.logs.glob("node*.log")]
            time.sleep(0.2)
        return answer

    def reason(self, node: str) -> str:
        """Why Slurm says it is out of service."""
        return self.bed.run(["sinfo", "-h", "-n", node, "-o", "%E"], user="root").stdout.strip()

    def serve(self) -> None:
        """Both nodes healthy and in service, with the settings that a site has which writes none."""
        self.set()
        for node in ("node001", "node002"):
            self.gpus(node)
            self.bed.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], user="root", check=False)
            (self.folder / f"spool-{node}" / "health-state.json").unlink(missing_ok=True)
        self.bed.nodes_idle(_SOON_S)
        self.since = time.time()


def _install(folder: Path) -> list[str]:
    """The scripts as an administrator would install them, but for a driver that is pretended; slurm.conf's lines."""
    python = folder / "python"
    driver = f"LD_LIBRARY_PATH={folder}/nvml FAKE_NVML_STATE={folder}/state-$SLURMD_NODENAME"
    python.write_text(f'#!/bin/sh\n{driver} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (folder / "kmsg").write_text("6,1,1,-;Linux version 6\n")
    for option, name in _SCRIPTS.items():
        text = (CHECKOUT / "scripts" / "slurm" / name).read_text()
        for word, value in (("PYTHON", python), ("CONFIG", folder / "hooks.toml"), ("DEADLINE_S", _DEADLINE_S)):
            text = re.sub(rf"^{word}=.*$", f"{word}={value}", text, flags=re.MULTILINE)
        (folder / option).write_text(text)
        (folder / option).chmod(0o755)
    return [*(f"{option}={folder / option}" for option in _SCRIPTS), f"HealthCheckInterval={_CHECK_S}"]


@pytest.fixture(scope="module", params=["plain", "cgroup"])
def whole_site(request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "cgroup" and cgroups.missing(Path("/proc/mounts").read_text()):
        pytest.skip("this kernel has no version 1 cgroups")
    folder = Path(tempfile.mkdtemp(prefix="supervise-hooks-", dir="/var/tmp"))  # /tmp is each node's own
    folder.chmod(0o755)
    try:
        (folder / "nvml").mkdir()
        build(folder / "nvml")
        with Testbed(f"hooks-{os.getpid()}-{request.param}") as bed:
            site = Site(bed, folder)
            site.set()
            for node in ("node001", "node002"):
                site.gpus(node)
            bed.up(nodes=2, gpus=2, profile=request.param, settings=_install(folder))
            yield site
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def site(whole_site: Site) -> Site:
    whole_site.serve()
    return whole_site


def test_a_job_on_healthy_nodes_leaves_one_line_on_each(site: Site) -> None:
    """With the job's user and devices; the nodes are idle after it, and nobody but root reads the line."""
    job = site.job()
    for node in ("node001", "node002"):
        record = site.of_job(node, job)
        assert (record["level"], record["uid"], record["node"]) == ("ok", 20001, node)
        assert "is_partial" not in record
        assert record["leftovers"] == {"stray": [], "gpu_memory": [], "full": []}
    site.bed.nodes_idle(_SOON_S)
    path = site.folder / "spool-node001" / "node.jsonl"
    assert site.bed.run(["cat", str(path)], check=False).returncode != 0


def test_a_broken_node_is_told_and_stays_in_service(site: Site) -> None:
    """Until the site says otherwise; the other node is well."""
    site.gpus("node002", "1.remap_failure=1", "1.ecc_unc_dram_volatile=3")
    job = site.job()
    bad = site.of_job("node002", job)
    assert (bad["level"], bad["rule"], bad["gpu"], bad["drain"]) == (
        "fatal",
        "remap_failure",
        "GPU-0000-1",
        "suggested",
    )
    assert site.of_job("node001", job)["level"] == "ok"
    site.bed.nodes_idle(_SOON_S)


def test_what_happens_during_the_job_is_told_apart_from_before(site: Site) -> None:
    """The prolog's reading is of this job on this node."""
    for node in ("node001", "node002"):
        site.gpus(node, "0.ecc_unc_dram_volatile=5")
    state = site.folder / "state-node002"
    options = ["-N2", "--gpus-per-node=2", "-o", "/dev/null", "--parsable"]
    job = int(site.bed.run(["sbatch", *options], text_in="#!/bin/bash\nsrun sleep 4\n").stdout.split(";")[0])
    site.wait((site.folder / "spool-node002" / f"job-{job}.json").exists)
    state.write_text("0.ecc_unc_dram_volatile=7\n")
    assert site.of_job("node002", job)["gpus"] == {"GPU-0000-0": {"ecc_unc_dram": 2}}
    assert "gpus" not in site.of_job("node001", job)


def test_an_epilog_that_may_act_takes_the_node_out(site: Site) -> None:
    """By its exit code, which is all that Slurm needs."""
    site.set('drain = "act"', 'drain_in = ["epilog"]')
    site.gpus("node002", "1.remap_failure=1")
    job = site.job()
    assert site.of_job("node002", job)["drain"] == "the hook fails"
    site.bed.wait_states(lambda states: states["node002"].startswith("drain"), _SOON_S, "node002 drained")
    assert "pilog" in site.reason("node002")
    assert site.bed.node_states()["node001"] == "idle"


@pytest.mark.parametrize("call", ["nvmlInitWithFlags", "nvmlDeviceGetRemappedRows"])
def test_a_node_whose_driver_hangs_serves_on(site: Site, call: str) -> None:
    """Prolog and epilog each end within their deadline, and the record names the driver."""
    site.gpus("node002", f"hang={call}")
    began = time.monotonic()
    job = site.job()
    record = site.of_job("node002", job)
    site.bed.nodes_idle(_SOON_S)
    assert time.monotonic() - began < 2 * _DEADLINE_S + 15
    assert (record["level"], record["rule"]) == ("suspect", "nvml_hangs")
    assert "lost_gpus" not in record
    left = site.bed.exec("node002", ["pgrep", "-f", "hook (prolog|epilog)"], check=False)
    assert left.stdout == ""


def test_what_outlives_the_job_is_told_where_slurm_lets_it_live(site: Site) -> None:
    """Without control groups a process can run away from its job; with them it cannot."""
    profile = site.bed.status()["profile"]
    job = site.job(f"python3 -c {json.dumps(_STRAY)}".replace("\\n", "\n"))
    record = site.of_job("node001", job)
    names = [each["name"] for each in record["leftovers"]["stray"]]
    assert names == (["python3"] if profile == "plain" else [])
    site.bed.exec("node001", ["pkill", "-u", "20001"], check=False)


def test_the_health_check_drains_where_it_may_with_our_mark(site: Site) -> None:
    """After it saw the fault twice; an admin who takes the node back is not overruled."""
    site.set('drain = "act"')
    site.gpus("node002", "1.remap_failure=1")
    site.bed.wait_states(lambda states: states["node002"].startswith("drain"), _SOON_S, "node002 drained")
    assert site.reason("node002").startswith("[supervise] remap_failure GPU-0000-1")
    site.wait(lambda: [each for each in site.records("node002", "health") if each.get("drain") == "drained"])
    site.bed.run(["scontrol", "update", "NodeName=node002", "State=RESUME"], user="root")
    time.sleep(3 * _CHECK_S)
    assert site.bed.node_states()["node002"] == "idle"


def test_of_two_nodes_with_the_same_fault_one_stays_in_service(site: Site) -> None:
    """The cap of the partition's share, although both find it in the same second."""
    site.set('drain = "act"')
    for node in ("node001", "node002"):
        site.gpus(node, "0.remap_failure=1")

    def told() -> list[str]:
        last = [site.records(node, "health")[-1:] for node in ("node001", "node002")]
        return [record["drain"] for records in last for record in records if record.get("drain")]

    site.wait(lambda: len(told()) == 2)
    assert sorted(text.split(":")[0] for text in told()) in (["drained", "not drained"], ["drained", "taken back"])
    states = site.bed.node_states()
    assert sorted(state.startswith("drain") for state in states.values()) == [False, True]


def test_anothers_drain_stands(site: Site) -> None:
    """With its reason, whatever the health check finds."""
    site.set('drain = "act"')
    admin = ["scontrol", "update", "NodeName=node002", "State=DRAIN", "Reason=admin: fan"]
    site.bed.run(admin, user="root")
    site.gpus("node002", "1.remap_failure=1")
    (told,) = site.wait(lambda: [each["drain"] for each in site.records("node002", "health")[-1:] if each.get("drain")])
    assert "admin: fan" in told
    assert site.reason("node002") == "admin: fan"
