"""The configuration files as text."""

import pytest
from testbed import conf
from testbed.layout import Layout
from testbed.spec import Spec

_LAYOUT = Layout("x")


def _lines(spec: Spec) -> list[str]:
    return conf.slurm_conf(spec, _LAYOUT).splitlines()


def test_every_node_has_a_line_with_its_own_address_and_size() -> None:
    """Each node is named once, with an address in the testbed's subnet and the size asked for."""
    found = [line for line in _lines(Spec(name="x", index=1, nodes=2, gpus=4, cpus=16)) if line.startswith("NodeName")]
    assert found == [
        "NodeName=node001 NodeAddr=10.213.4.2 CPUs=16 RealMemory=64000 Gres=gpu:4 State=UNKNOWN",
        "NodeName=node002 NodeAddr=10.213.4.3 CPUs=16 RealMemory=64000 Gres=gpu:4 State=UNKNOWN",
    ]


def test_a_set_line_replaces_ours_whatever_its_case() -> None:
    """Slurm refuses a key that is written twice, so a `--set` line takes the place of ours."""
    found = [
        line for line in _lines(Spec(name="x", settings=("slurmdtimeout=300",))) if "slurmdtimeout" in line.lower()
    ]
    assert found == ["SlurmdTimeout=300"]


def test_a_set_line_of_our_own_key_may_be_given_twice_and_the_last_wins() -> None:
    """Of two `--set` lines of one key the last is written."""
    lines = _lines(Spec(name="x", settings=("KillWait=7", "KillWait=9")))
    assert [line for line in lines if line.startswith("KillWait")] == ["KillWait=9"]


def test_a_second_partition_is_added_after_the_nodes() -> None:
    """Keys that Slurm allows many times are added and replace nothing."""
    lines = _lines(Spec(name="x", settings=("PartitionName=small Nodes=node001",)))
    assert lines[-1] == "PartitionName=small Nodes=node001"
    assert any(line.startswith("PartitionName=main Nodes=ALL Default=YES") for line in lines)


def test_keys_that_newer_slurm_refuses_are_not_written() -> None:
    """CryptoType is gone since 24.11, and a testbed has no accounting to name."""
    text = conf.slurm_conf(Spec(name="x"), _LAYOUT)
    assert "CryptoType" not in text
    assert "AccountingStorage" not in text


def test_no_gpus_means_no_gres_anywhere() -> None:
    """A testbed without GPUs names none."""
    spec = Spec(name="x", gpus=0)
    assert "gres" not in conf.slurm_conf(spec, _LAYOUT).lower()
    assert conf.gres_conf(spec, _LAYOUT) == ""


@pytest.mark.parametrize(("gpus", "files"), [(1, "nvidia0"), (8, "nvidia[0-7]")])
def test_gres_conf_names_a_device_file_per_gpu(gpus: int, files: str) -> None:
    """One device file per GPU; a single one is written without brackets."""
    assert conf.gres_conf(Spec(name="x", gpus=gpus), _LAYOUT) == f"Name=gpu File={_LAYOUT.devices}/{files}\n"


@pytest.mark.parametrize(
    ("version", "text"), [((22, 5), "CgroupPlugin=cgroup/v1\n"), ((24, 11), "CgroupPlugin=disabled\n")]
)
def test_the_plain_profile_keeps_slurm_off_the_cgroups(version: tuple[int, int], text: str) -> None:
    """22.05 does not know `disabled`; its v1 plugin touches nothing unless asked."""
    assert conf.cgroup_conf(Spec(name="x"), version) == text


def test_the_cgroup_profile_confines_memory_and_devices() -> None:
    """In the cgroup profile a step really loses the devices and the memory it was not given."""
    spec = Spec(name="x", profile="cgroup")
    assert "ConstrainDevices=yes" in conf.cgroup_conf(spec, (22, 5))
    assert {"TaskPlugin=task/cgroup", "ProctrackType=proctrack/cgroup", "PrologFlags=Contain"} <= set(_lines(spec))


def test_hosts_put_the_testbed_before_what_the_host_knows() -> None:
    """A host entry of the same name must not win over the testbed's own."""
    text = conf.hosts(Spec(name="x", nodes=1), "127.0.0.1\tlocalhost\n9.9.9.9\tlogin\n")
    assert text == "10.213.0.1\tlogin\n10.213.0.2\tnode001\n127.0.0.1\tlocalhost\n9.9.9.9\tlogin\n"


def test_passwd_gives_the_users_their_shared_home() -> None:
    """An account that the base already has is replaced: its home there is another testbed's or none."""
    text = conf.passwd({"alice": 20001}, _LAYOUT, "root:x:0:0::/root:/bin/sh\nalice:x:20001:20001::/nowhere:/bin/sh\n")
    assert text == f"root:x:0:0::/root:/bin/sh\nalice:x:20001:20001::{_LAYOUT.home('alice')}:/bin/bash\n"


def test_accounting_is_asked_of_the_testbeds_own_slurmdbd() -> None:
    """Comments are kept, GPUs are counted, slurmdbd listens where slurmctld asks, no two at one place."""
    spec = Spec(name="x", index=1, accounting=True)
    port = spec.accounting_port
    assert port != Spec(name="y", index=2).accounting_port
    wanted = {"AccountingStorageType=accounting_storage/slurmdbd", "AccountingStoreFlags=job_comment"}
    where = {f"AccountingStorageHost={spec.login_address}", f"AccountingStoragePort={port}"}
    assert wanted | where | {"AccountingStorageTRES=gres/gpu"} <= set(_lines(spec))
    told = conf.slurmdbd_conf(spec, _LAYOUT).splitlines()
    assert {f"DbdAddr={spec.login_address}", f"DbdPort={port}", "StorageHost=localhost"} <= set(told)
    assert "AccountingStorageTRES" not in conf.slurm_conf(Spec(name="x", gpus=0, accounting=True), _LAYOUT)
