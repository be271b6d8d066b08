"""What doctor says of a place: pure checks on recorded and on changed configurations."""

from collections.abc import Mapping

import msgspec
import pytest

from supervisor.doctor import screen
from supervisor.doctor.checks.table import CHECKS, examine
from supervisor.doctor.finding import Finding, Level, ok
from supervisor.doctor.place import LedgerSeen, NodeGroup, PartitionSeen, Place, SlurmSeen, Tried
from tests.doctor.places import RECORDED, odd_places, place, slurm

_WIDTH = 100


def _found(where: Place) -> Mapping[str, Finding]:
    return {finding.check: finding for finding in examine(where)}


def _level(where: Place, check: str) -> Level | None:
    finding = _found(where).get(check)
    return finding.level if finding else None


# --- of every check -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [*odd_places(), *(place(slurm(name)) for name in RECORDED)])
def test_whoever_complains_says_what_to_do(where: Place) -> None:
    """Each finding that is not ok has its cost and its remedy, and each part fits on a line."""
    for finding in examine(where):
        if finding.level is not Level.OK:
            assert finding.remedy
            assert finding.cost
        for part in (finding.text, finding.cost, finding.remedy):
            assert len(part) <= _WIDTH, part
            assert "\n" not in part


@pytest.mark.parametrize("where", odd_places())
def test_the_screen_fits(where: Place) -> None:
    """No row is wider than a terminal, and the first line is a conclusion."""
    findings = examine(where)
    assert all(len(row) <= _WIDTH for row in screen.rows(findings))
    assert screen.conclusion(findings).startswith(("USABLE", "NOT USABLE: "))


def test_one_sees_where_the_next_thing_begins() -> None:
    """Where one of them is a list of words itself, a comma would not tell."""
    assert screen.rows([ok("a"), ok("b")]) == [" ok    a, b"]
    assert screen.rows([ok("a, c"), ok("b")]) == [" ok    a, c; b"]


def test_every_check_is_heard_once() -> None:
    """The places of these tests bring each check to speak, and names are not given twice."""
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert {finding.check for where in odd_places() for finding in examine(where)} == set(names)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_cluster_is_usable(name: str) -> None:
    """Nothing of the three releases that are tested is taken for a failure."""
    findings = examine(place(slurm(name)))
    assert not [finding for finding in findings if finding.level is Level.FAIL]
    assert {finding.check: finding.text for finding in findings}["slurm_release"] == f"Slurm {_version(name)}"


def _version(name: str) -> str:
    return slurm(name).config["SLURM_VERSION"]


# --- the conclusion -----------------------------------------------------------------------------------------------


def test_without_slurm_it_is_not_usable() -> None:
    """The conclusion names what is missing and what to do; nothing is said about what nobody could ask."""
    found = _found(place(SlurmSeen(missing=("sbatch",))))
    assert screen.conclusion([*found.values()]).startswith("NOT USABLE: not on PATH: sbatch. To mend it: ")
    assert not {"requeue_price", "shrink", "comments", "broker_port", "memory"} & set(found)


def test_limits_are_counted() -> None:
    """One is a limit, two are limits, none is none."""
    one, two = examine(place()), examine(place(slurm(changed={"SchedulerParameters": "disable_job_shrink", **_DB})))
    assert screen.conclusion([]) == "USABLE."
    assert screen.conclusion([finding for finding in one if finding.check == "requeue_price"]) == "USABLE with 1 limit."
    assert screen.conclusion(two) == "USABLE with 2 limits."


_DB = {"AccountingStorageType": "accounting_storage/slurmdbd"}


def test_what_is_well_shares_a_row() -> None:
    """The first row of a topic lists all that is well in it; each complaint has its own, with the remedy below."""
    changed = {**_DB, "AccountingStoreFlags": "job_comment"}
    rows = screen.rows(examine(place(slurm(changed=changed, accounts=Tried(is_accepted=True)))))
    assert rows[0] == " ok    Slurm 22.05.8, requeue allowed, slurmdbd up, comments stored (job_comment)"
    at = next(number for number, row in enumerate(rows) if row.startswith(" LIMIT"))
    assert any(row.startswith("       -> ") for row in rows[at : at + 4])


# --- single facts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "changed", "level"),
    [
        ("slurm_release", {"SLURM_VERSION": "21.08.1"}, Level.LIMIT),
        ("slurm_release", {"SLURM_VERSION": "23.11.7"}, Level.OK),
        ("slurm_release", {"SLURM_VERSION": "27.05.0"}, Level.WARN),
        ("requeue", {"JobRequeue": "0"}, Level.WARN),
        ("requeue_price", {"AuthInfo": "cred_expire=20", "SlurmdTimeout": "30 sec"}, Level.OK),
        ("requeue_price", {"AuthInfo": "cred_expire=20", "SlurmdTimeout": "300 sec"}, Level.LIMIT),
        ("shrink", {"SchedulerParameters": "disable_job_shrink", **_DB}, Level.LIMIT),
        ("shrink", {}, Level.LIMIT),  # 22.05 without accounting: once only
        ("shrink", _DB, Level.OK),
        ("step_manager", {"SlurmctldParameters": "enable_stepmgr"}, Level.LIMIT),
        ("step_manager", {}, None),
        ("kill_on_bad_exit", {"KillOnBadExit": "1"}, Level.WARN),
        ("kill_wait", {"KillWait": "2 sec"}, Level.WARN),
        ("kill_wait", {"KillWait": "30 sec"}, None),
        ("submit_on_nodes", {"JobSubmitPlugins": "lua"}, Level.UNKNOWN),
        ("submit_on_nodes", {"CliFilterPlugins": "lua"}, Level.UNKNOWN),
        ("submit_on_nodes", {}, Level.OK),
        ("comments", _DB, Level.WARN),
        ("comments", {**_DB, "AccountingStoreFlags": "job_script,job_comment"}, Level.OK),
        ("tracking", {"ProctrackType": "proctrack/cgroup"}, Level.OK),
        ("tracking", {"ProctrackType": "proctrack/linuxproc"}, Level.WARN),
        ("memory", {"TaskPlugin": "task/affinity,task/cgroup", "ConstrainRAMSpace": "yes"}, Level.OK),
        ("memory", {"TaskPlugin": "task/affinity,task/cgroup"}, Level.UNKNOWN),
        ("memory", {}, Level.WARN),
        ("private_tmp", {"JobContainerType": "job_container/tmpfs"}, Level.OK),
    ],
)
def test_a_setting_has_its_price(check: str, changed: dict[str, str], level: Level | None) -> None:
    """Each setting of slurm.conf that matters is told at its level."""
    assert _level(place(slurm(changed=changed)), check) is level


def test_a_requeue_tells_both_prices() -> None:
    """The default of 120 s where AuthInfo says nothing, and the time until Slurm believes that a node is dead."""
    found = _found(place(slurm(changed={"SlurmdTimeout": "300 sec"})))["requeue_price"]
    assert found.text == "a requeue costs 120 s (AuthInfo cred_expire), off a dead node 300 s more (SlurmdTimeout)"


def test_the_port_range_is_named() -> None:
    """Whoever opens the firewall reads which ports."""
    found = _found(place(slurm(changed={"SrunPortRange": "60001-63000"})))["broker_port"]
    assert "60001-63000 (SrunPortRange)" in found.text
    assert found.level is Level.UNKNOWN


def test_a_silent_database_is_not_called_up() -> None:
    """Nor is its silence a failure: jobs run all the same."""
    seen = slurm(changed=_DB, accounts=Tried(is_accepted=False, words="Connection refused"))
    assert _level(place(seen), "database") is Level.WARN


def test_a_question_without_answer_is_no_good_news() -> None:
    """A sinfo that fails leaves `unknown`, and no word about nodes."""
    found = _found(place(slurm(unanswered=("sinfo: Socket timed out",), nodes=())))
    assert found["questions"].level is Level.UNKNOWN
    assert "nodes" not in found
    assert "idle_gpus" not in found


def test_only_the_default_partition_binds_who_may_submit() -> None:
    """Another one that is closed is nobody's limit."""
    own = PartitionSeen(name="main", is_default=True)
    closed = PartitionSeen(name="viz", alloc_nodes="viz[1-2]")
    assert _level(place(slurm(partitions=(own, closed))), "submit_on_nodes") is Level.OK
    closed = PartitionSeen(name="main", alloc_nodes="login1", is_default=True)
    assert _level(place(slurm(partitions=(closed,))), "submit_on_nodes") is Level.LIMIT


def test_nodes_that_are_out_do_not_count() -> None:
    """One node is a limit: there is nowhere to go on."""
    groups = (
        NodeGroup(partition="gpu", count=1, state="mixed"),
        NodeGroup(partition="gpu", count=8, state="drained*"),
        NodeGroup(partition="gpu", count=8, state="idle", is_up=False),
    )
    assert _level(place(slurm(nodes=groups)), "nodes") is Level.LIMIT


def test_spares_are_warned_of_only_where_there_are_gpus() -> None:
    """Idle GPUs are killed by some sites; CPU clusters need no such row."""
    assert _level(place(), "idle_gpus") is Level.WARN
    assert _level(place(slurm(nodes=(NodeGroup(partition="cpu", count=2, state="idle"),))), "idle_gpus") is None


@pytest.mark.parametrize(
    ("check", "part", "level"),
    [
        ("locks", {"flock": "ENOSYS"}, Level.WARN),
        ("locks", {"link": "EPERM"}, Level.FAIL),
        ("executable", {"can_execute": False}, Level.FAIL),
        ("folder", {"complaint": "Disk quota exceeded"}, Level.FAIL),
        ("room", {"free_bytes": 1}, Level.WARN),
        ("clock", {"skew_s": 60.0}, Level.WARN),
        ("shared", {"filesystem": "tmpfs"}, Level.UNKNOWN),
    ],
)
def test_a_folder_is_judged(check: str, part: dict[str, object], level: Level) -> None:
    """Locks, space, execution and the clock of the run folder's filesystem."""
    assert _level(place(folder=msgspec.structs.replace(place().folder, **part)), check) is level


def test_a_ledger_that_cannot_be_written_is_told() -> None:
    """With the folder that is missing."""
    broken = LedgerSeen(path="/srv/l", complaint="there is no folder /srv/l/c1/2026-12")
    found = _found(place(own=msgspec.structs.replace(place().own, ledger=broken)))["ledger"]
    assert found.level is Level.WARN
    assert "2026-12" in found.cost
