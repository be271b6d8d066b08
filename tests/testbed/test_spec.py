"""Names, addresses and limits of a testbed, and what tells its processes from others."""

import pytest
from testbed import cgroups, cli
from testbed.errors import TestbedError
from testbed.layout import Layout
from testbed.processes import is_own_namespace
from testbed.spec import MAX_NODES, MAX_TESTBEDS, Spec, accounting_port, checked_name, complaints, controller_port


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a/b", "..", "a_b", "x" * 33])
def test_a_name_that_is_no_folder_or_cluster_name_is_refused(name: str) -> None:
    """A name becomes a folder and Slurm's cluster name, so little is allowed."""
    with pytest.raises(TestbedError, match="no testbed name"):
        checked_name(name)


def test_a_spec_survives_its_file() -> None:
    """What is written to the state folder reads back the same."""
    spec = Spec(name="x", index=3, nodes=2, settings=("A=b c",), binds=("/opt",), accounting=True)
    assert Spec.from_json(spec.to_json()) == spec
    assert Spec.from_json(spec.to_json().replace("{", '{"of_tomorrow": 1, ', 1)) == spec


def test_the_largest_testbeds_do_not_overlap() -> None:
    """The last address of one testbed lies before the first of the next, and interface names fit the kernel."""
    first = Spec(name="a", index=MAX_TESTBEDS - 2, nodes=MAX_NODES)
    second = Spec(name="b", index=MAX_TESTBEDS - 1)
    last_node = first.node_names[-1]
    ends, begins = (tuple(map(int, text.split("."))) for text in (first.address(last_node), second.login_address))
    assert ends < begins
    assert len(first.veth(last_node)) <= 15


def test_all_complaints_come_at_once() -> None:
    """Whoever mistypes three things is told of three."""
    assert len(complaints(Spec(name="x", nodes=0, settings=("oops",), binds=("relative",)))) == 3


@pytest.mark.parametrize("release", ["bookworm", "trixie", "forky"])
def test_accounting_is_refused_where_there_is_no_database(release: str) -> None:
    """Only the host's own release has one, and the message says so."""
    (complaint,) = complaints(Spec(name="x", release=release, accounting=True))
    assert complaint == f"--accounting: use --release native; the root of {release} holds no database"


def test_ports_of_controllers_and_of_accounting_are_apart() -> None:
    """However many testbeds are up."""
    ports = [port(index) for index in range(MAX_TESTBEDS) for port in (controller_port, accounting_port)]
    assert len(set(ports)) == 2 * MAX_TESTBEDS


def test_an_unknown_node_is_answered_with_those_there_are() -> None:
    """A wrong node name is answered with the right ones."""
    with pytest.raises(TestbedError, match="node001 to node004"):
        Spec(name="x").number("node005")


_LINE = "700 600 254:0 /lib/supervise-testbed/{name}/etc/hosts{end} {target} rw,relatime - ext4 /dev/vda rw"


@pytest.mark.parametrize(
    ("name", "target", "end", "own"),
    [
        ("x", "/etc/hosts", "", True),
        ("x", "/etc/hosts", "//deleted", True),  # its state folder is gone, its processes are not
        ("xx", "/etc/hosts", "", False),
        ("x", "/mnt/hosts", "", False),
    ],
)
def test_processes_are_told_by_the_hosts_file_they_see(name: str, target: str, end: str, *, own: bool) -> None:
    """Only a process that sees this testbed's hosts file as /etc/hosts may be killed with it."""
    table = "21 1 254:0 / / rw - ext4 /dev/vda rw\n" + _LINE.format(name=name, target=target, end=end)
    assert is_own_namespace(table, Layout("x")) is own


def test_missing_cgroup_hierarchies_are_named() -> None:
    """A kernel with only version 2 lacks all of them; a combined hierarchy counts for each of its controllers."""
    assert list(cgroups.missing("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")) == list(cgroups.CONTROLLERS)
    some = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup /c cgroup rw,memory 0 0\n"
    assert list(cgroups.missing(some)) == ["devices", "freezer"]


def test_a_wrong_name_ends_with_a_message_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line refuses in one sentence."""
    assert cli.main(["status", "--name", "NO"]) == 1
    assert capsys.readouterr().err.startswith("testbed: ")
