"""What Slurm really printed, as facts. The recordings and their origin: tests/data/slurm/README.md."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import PayloadRefused
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm import parse

DATA = Path(__file__).parents[1] / "data" / "slurm"
RELEASES = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())


def recorded(release: str, name: str) -> str:
    return (DATA / release / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Every release there is a recording of."""
    return str(request.param)


def test_running_job(release: str) -> None:
    """A running job's state, nodes, times and paths, although its name and comment hold what looks like fields."""
    facts = parse.parse_job(recorded(release, "jobs"), JobId("1"))
    assert (facts.job_id, facts.state, facts.reason) == ("1", "RUNNING", "None")
    assert facts.nodes == ("node001", "node002", "node003")
    assert (facts.batch_host, facts.partition, facts.restarts, facts.requeue) == ("node001", "main", 0, True)
    assert (facts.start_time or 0) + 600 == facts.end_time
    assert (facts.time_limit_s, facts.preempt_time) == (600.0, None)
    assert facts.std_out == facts.std_err == "/home/user/run/slurm-1.out"
    assert (facts.comment, facts.exclude, facts.required) == ("a b Class=hardware Reason=x", "node004", "")


def test_local_times_are_read_like_epoch_seconds(release: str) -> None:
    """A record whose times are local text gives the same kind of facts."""
    facts = parse.parse_job(recorded(release, "job_local_time"), JobId("1"))
    assert facts.start_time is not None
    assert facts.end_time == facts.start_time + 600
    assert f"StartTime={datetime.fromtimestamp(facts.start_time).isoformat()} " in recorded(release, "job_local_time")  # noqa: DTZ006  # Slurm writes local time


def test_array_task_is_found_by_either_name(release: str) -> None:
    """The raw id of an array's last task names the whole array: the right one of its records is taken."""
    text = recorded(release, "jobs")
    by_raw = parse.parse_job(text, JobId("2"))
    assert by_raw == parse.parse_job(text, by_raw.job_id)
    assert by_raw.job_id.startswith("2_")


def test_waiting_job_has_no_nodes_and_no_times(release: str) -> None:
    """What Slurm does not know yet is None or empty, not zero."""
    facts = parse.parse_job(recorded(release, "jobs"), JobId("3"))
    assert (facts.state, facts.nodes, facts.batch_host, facts.start_time, facts.end_time) == (
        "PENDING",
        (),
        None,
        None,
        None,
    )
    assert facts.dependency == "afterok:1(unfulfilled)"


def test_job_that_is_not_in_the_answer() -> None:
    """An answer about other jobs, or an empty one, is no answer."""
    for text in ("", recorded("22.05", "jobs")):
        with pytest.raises(PayloadRefused, match="does not speak of job 77"):
            parse.parse_job(text, JobId("77"))


def test_nodes(release: str) -> None:
    """States without marks, whether the node answers, the reason whole, where its slurmd is."""
    records = {record.state.node: record for record in parse.parse_nodes(recorded(release, "nodes"))}
    assert list(records) == ["node001", "node002", "node003", "node004"]
    assert records[NodeName("node001")].state.states == ("IDLE",)
    drained, dead = records[NodeName("node003")].state, records[NodeName("node004")].state
    assert {"IDLE", "DRAIN"} <= set(drained.states)
    assert drained.is_responding
    assert drained.reason.startswith("gpu: Xid 79 State=bad ")
    assert "DOWN" in dead.states
    assert not dead.is_responding
    assert records[NodeName("node001")].address


def test_steps(release: str) -> None:
    """Every step with its name, which may hold spaces; the batch step is not one that an srun launched."""
    steps = {step.name: step for step in parse.parse_steps(recorded(release, "steps"))}
    assert len(steps["supervise"].nodes) == 1
    assert (steps["my step"].tasks, steps["my step"].state) == (4, "RUNNING")
    assert [name for name, step in steps.items() if not step.is_launched] == ["batch"]
    assert {step.step_id.partition(".")[0] for step in steps.values()} == {"1"}


def test_config(release: str) -> None:
    """The settings that matter here, the lack of a port range being none."""
    config = parse.parse_config(recorded(release, "config"))
    assert config.version.startswith(release)
    assert config.srun_ports is None
    assert config.slurmd_ports[0] > 1024
    assert config.controllers in {("10.213.0.1:17817",), ("10.213.4.1:17818",)}
    assert not config.keeps_accounts


def test_partition(release: str) -> None:
    """The partition's nodes with their states."""
    nodes = {state.node: state.states for state in parse.parse_partition(recorded(release, "partition"))}
    assert nodes[NodeName("node004")] == ("IDLE",)


def test_unknown_fields_are_passed_over() -> None:
    """A field of a newer Slurm neither hides its neighbours nor becomes part of their values."""
    text = "JobId=7 NewOne=1 JobName=x UserId=u(1) JobState=RUNNING Reason=None More=2 Dependency=(null) Restarts=2"
    facts = parse.parse_job(text, JobId("7"))
    assert (facts.state, facts.reason, facts.restarts) == ("RUNNING", "None", 2)


def test_newline_in_a_comment_starts_no_record() -> None:
    """A line that begins no record belongs to the one above."""
    text = (
        "JobId=7 JobName=x UserId=u(1) JobState=RUNNING Comment=one\nJobState=two StdOut=/o\nJobId=8 JobState=PENDING\n"
    )
    first, second = (parse.parse_job(text, JobId(job)) for job in ("7", "8"))
    assert (first.state, first.comment, first.std_out) == ("RUNNING", "one\nJobState=two", "/o")
    assert (second.job_id, second.state) == ("8", "PENDING")


@pytest.mark.parametrize(
    ("text", "states", "answers"),
    [
        ("idle", ("IDLE",), True),
        ("DOWN*+DRAIN", ("DOWN", "DRAIN"), False),
        ("DOWN+NOT_RESPONDING", ("DOWN", "NOT_RESPONDING"), False),
        ("MIXED+PLANNED~", ("MIXED", "PLANNED"), True),
        ("reboot^", ("REBOOT",), True),
    ],
)
def test_state_marks(text: str, states: tuple[str, ...], *, answers: bool) -> None:
    """The marks of sinfo and the words of scontrol say the same."""
    state = parse.parse_state(NodeName("n"), text)
    assert (state.states, state.is_responding) == (states, answers)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:02:00", 120), ("1-02:03:04", 93784), ("02:03", 123), ("UNLIMITED", None), ("Partition_Limit", None)],
)
def test_time_limits(text: str, seconds: float | None) -> None:
    """Slurm's ways to write a limit."""
    assert parse.parse_limit(text) == seconds


def test_port_ranges() -> None:
    """A configured range of ports and slurmd's own range are found, and that there is a database."""
    config = parse.parse_config(
        "SLURM_VERSION           = 26.05.5\nSrunPortRange           = 60001-63000\n"
        "SlurmdPort              = 6818-6820\n"
        "AccountingStorageType   = accounting_storage/slurmdbd\n"
    )
    assert (config.srun_ports, config.slurmd_ports) == ((60001, 63000), (6818, 6820))
    assert config.keeps_accounts


@pytest.mark.parametrize(("partition", "mode"), [("main", "REQUEUE"), ("low", "CANCEL"), ("high", "")])
def test_partition_preempt_mode(release: str, partition: str, mode: str) -> None:
    """What a partition says for itself, or the cluster's mode where it says nothing; off is nothing."""
    assert parse.parse_partition_mode(recorded(release, "partitions"), partition) == mode


def test_partition_that_is_not_in_the_answer() -> None:
    """An answer about others is no answer."""
    with pytest.raises(PayloadRefused, match="does not speak of partition other"):
        parse.parse_partition_mode(recorded("22.05", "partitions"), "other")


@pytest.mark.parametrize(
    ("qos", "mode"), [("normal", None), ("low", "CANCEL"), ("back", "REQUEUE"), ("high", ""), ("unseen", None)]
)
def test_qos_preempt_mode(qos: str, mode: str | None) -> None:
    """`cluster`, and a QOS that is not shown, leave the cluster's mode to count."""
    text = "normal|cluster\nlow|cancel\nback|requeue\nhigh|off\n"
    assert parse.parse_qos_mode(text, qos) == mode


def test_cluster_preemption(release: str) -> None:
    """No plugin is written `preempt/none` by an old Slurm and `(null)` by a new one."""
    config = parse.parse_config(recorded(release, "config"))
    assert (config.preempt_type, config.preempt_mode) == ("", "")
    text = "PreemptMode             = GANG,SUSPEND\nPreemptType             = preempt/partition_prio\n"
    config = parse.parse_config(text)
    assert (config.preempt_type, config.preempt_mode) == ("preempt/partition_prio", "GANG,SUSPEND")


def test_no_config_is_refused() -> None:
    """Garbage is not read as a cluster with Slurm's defaults."""
    with pytest.raises(PayloadRefused):
        parse.parse_config("slurm_load_ctl_conf error")


def _parse_job(text: str) -> JobFacts:
    return parse.parse_job(text, JobId("1"))


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    """No text makes a parser fail with anything but our own refusal."""
    for parser in (_parse_job, parse.parse_nodes, parse.parse_steps, parse.parse_partition):
        for prefix in ("", "JobId=1 ", "NodeName=n ", "StepId=1.0 "):
            with suppress(PayloadRefused):
                parser(prefix + text)


@pytest.mark.parametrize(
    ("job", "state", "nodes"),
    [
        ("7", "COMPLETED", ("n1", "n2")),
        ("8", "CANCELLED", ()),
        ("9_1", "FAILED", ("n3",)),
        ("9", "PENDING", ()),
        ("10", None, ()),
    ],
)
def test_the_accounts_of_a_job(job: str, state: str | None, nodes: tuple[str, ...]) -> None:
    """By its id; an array that was cancelled in the queue stands with all its tasks."""
    text = "7|COMPLETED|n[1-2]\n8_[0-3]|CANCELLED by 20001|None assigned\n9_1|FAILED|n3\n9_2|PENDING|\nnonsense\n"
    found = parse.parse_accounts(text, [JobId(job)]).get(JobId(job))
    assert (found and (found.state, found.nodes)) == (state and (state, nodes))
