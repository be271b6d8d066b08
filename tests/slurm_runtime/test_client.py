"""The command-line backend, with a runner that answers from a script."""

from collections.abc import Mapping, Sequence

import pytest

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm.absent import AbsentSlurm
from supervisor.slurm.backend import Backend
from supervisor.slurm.client import Slurm
from supervisor.slurm.process import Answer, CallCount, shielded

JOB = JobId("7")
RUNNING = "JobId=7 JobName=x UserId=u(1) JobState=RUNNING NodeList=node[001-002]\n"
BUSY = "scontrol: error: Unable to contact slurm controller (connect failure)\n"
CONFIG = "SLURM_VERSION = {}\nAccountingStorageType = {}\nSlurmdPort = 6900\n"


class FakeRunner:
    """Answers each command with the next of the given answers; keeps what was asked."""

    def __init__(self, *answers: str | tuple[int, str] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.deadlines: list[float] = []
        self.environments: list[Mapping[str, str]] = []

    async def __call__(  # noqa: D102  # the class says it
        self, argv: Sequence[str], *, deadline_s: float, env: Mapping[str, str], count: CallCount
    ) -> Answer:
        own = list(argv)[len(shielded([])) :]
        assert list(argv) == shielded(own), "every command must ignore the SIGTERM of the ending job"
        count.by_program[own[0]] += 1
        self.asked.append(" ".join(own))
        self.deadlines.append(deadline_s)
        self.environments.append(env)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        code, text = answer if isinstance(answer, tuple) else (0, answer)
        return Answer(argv=tuple(own), code=code, stdout="" if code else text, stderr=text if code else "", took_s=0.0)


class FakeTime:
    """A clock that only pauses move."""

    def __init__(self) -> None:
        self.at = 0.0
        self.pauses: list[float] = []

    def now(self) -> float:
        """The time, in seconds."""
        return self.at

    async def pause(self, seconds: float) -> None:
        """Moves the time at once."""
        self.pauses.append(seconds)
        self.at += seconds


def slurm(runner: FakeRunner, time: FakeTime | None = None) -> Slurm:
    clock = time or FakeTime()
    return Slurm(runner=runner, environment={"SLURM_JOB_ID": "7"}, pause=clock.pause, now=clock.now)


def test_both_are_backends() -> None:
    """The command line and the absent Slurm stand behind the same Protocol."""
    backends: list[Backend] = [slurm(FakeRunner()), AbsentSlurm("here")]
    assert all(backend.calls.total == 0 for backend in backends)


async def test_busy_slurm_is_asked_again_with_growing_pauses() -> None:
    """A read is repeated while slurmctld is only busy, each pause jittered and longer, within one deadline."""
    runner, time = FakeRunner((1, BUSY), (1, BUSY), RUNNING), FakeTime()
    facts = await slurm(runner, time).job(JOB, deadline_s=3.0)
    assert facts.nodes == ("node001", "node002")
    assert 0.1 <= time.pauses[0] <= 0.2 <= time.pauses[1] <= 0.4
    assert runner.deadlines[2] == pytest.approx(3.0 - sum(time.pauses))


async def test_busy_slurm_is_given_up_at_the_deadline() -> None:
    """When the deadline leaves no room for another try, the last words are raised."""
    runner = FakeRunner(*[(1, BUSY)] * 20)
    with pytest.raises(SlurmFailed, match="Unable to contact"):
        await slurm(runner).job(JOB, deadline_s=3.0)
    assert 3 <= len(runner.asked) <= 8


@pytest.mark.parametrize("answer", [(1, "Invalid job id specified"), SlurmTimeout("late")])
async def test_a_refusal_and_a_timeout_are_not_repeated(answer: tuple[int, str] | Exception) -> None:
    """A plain refusal will not change, and a timeout has used up the deadline."""
    runner = FakeRunner(answer)
    with pytest.raises(SlurmFailed):
        await slurm(runner).job(JOB, deadline_s=3.0)
    assert len(runner.asked) == 1


async def test_actions_are_tried_once() -> None:
    """What changes the world is not repeated here: whoever asked can see whether it was done."""
    runner = FakeRunner((1, BUSY))
    with pytest.raises(SlurmFailed):
        await slurm(runner).shrink(JOB, [NodeName("node001")], deadline_s=3.0)
    assert runner.asked == ["scontrol update JobId=7 NodeList=node001"]


async def test_commands_do_not_know_the_job() -> None:
    """Without SLURM_JOB_ID scontrol writes no resize scripts into its folder."""
    runner = FakeRunner(RUNNING)
    await slurm(runner).job(JOB, deadline_s=3.0)
    assert runner.environments == [{"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}]


async def test_a_job_without_steps_has_none() -> None:
    """Asked for the steps of a job that has none, scontrol refuses: an empty answer, but not for an unknown job."""
    assert await slurm(FakeRunner((1, "Job step 7. not found\n"))).steps(JOB, deadline_s=3.0) == ()
    with pytest.raises(SlurmFailed):
        await slurm(FakeRunner((1, "slurm_get_job_steps error: Invalid job id"))).steps(JOB, deadline_s=3.0)


async def test_what_has_ended_is_cancelled() -> None:
    """A complaint of scancel about steps that are gone is no failure; another complaint is."""
    gone = (1, "scancel: error: Kill job error on job step id 7.0: Invalid job id specified")
    runner = FakeRunner(gone)
    await slurm(runner).cancel_steps(["7.0", "7.1"], deadline_s=3.0)
    assert runner.asked == ["scancel 7.0 7.1"]
    with pytest.raises(SlurmFailed):
        await slurm(FakeRunner((1, "Access/permission denied"))).cancel_job(JOB, deadline_s=3.0)


async def test_no_steps_no_call() -> None:
    """Nothing to cancel and no node to ask about cost no call."""
    runner = FakeRunner()
    await slurm(runner).cancel_steps([], deadline_s=3.0)
    assert await slurm(runner).nodes([], deadline_s=3.0) == ()
    assert runner.asked == []


async def test_config_is_asked_once() -> None:
    """The cluster's settings cost one call per process."""
    client = slurm(FakeRunner(CONFIG.format("26.05.5", "(null)")))
    assert await client.config(deadline_s=3.0) is await client.config(deadline_s=3.0)
    assert client.calls.total == 1


@pytest.mark.parametrize(("port", "expected"), [("", 6900), ("Port=17001 ", 17001)])
async def test_address_of_a_node(port: str, expected: int) -> None:
    """A node's own port wins over the cluster's SlurmdPort."""
    node = f"NodeName=node001 NodeAddr=10.0.0.1 NodeHostName=n1 {port}State=IDLE"
    client = slurm(FakeRunner(CONFIG.format("26.05.5", "(null)"), node))
    assert await client.node_address(NodeName("node001"), deadline_s=3.0) == ("10.0.0.1", expected)


async def test_after_a_shrink_an_old_slurm_without_accounts_is_not_asked() -> None:
    """22.05 without a database refuses every further update, silently and for 5 s: it is refused here at once."""
    runner = FakeRunner("", CONFIG.format("22.05.8", "accounting_storage/none"), "", "")
    client = slurm(runner)
    await client.shrink(JOB, [NodeName("node001")], deadline_s=3.0)
    with pytest.raises(SlurmFailed, match="after its first shrink"):
        await client.update_comment(JOB, "x", deadline_s=3.0)
    await client.requeue(JOB, deadline_s=3.0)
    await client.exclude(JOB, [NodeName("node002")], nodes=2, deadline_s=3.0)
    assert [asked.split()[1] for asked in runner.asked] == ["update", "show", "requeue", "update"]


@pytest.mark.parametrize(
    ("version", "accounts"),
    [("26.05.5", "accounting_storage/none"), ("22.05.8", "accounting_storage/slurmdbd"), ("x", "none")],
)
async def test_other_slurms_shrink_twice(version: str, accounts: str) -> None:
    """A newer Slurm, or one with a database, is asked for a second shrink."""
    runner = FakeRunner("", CONFIG.format(version, accounts), "")
    client = slurm(runner)
    await client.shrink(JOB, [NodeName("node001"), NodeName("node002")], deadline_s=3.0)
    await client.shrink(JOB, [NodeName("node001")], deadline_s=3.0)
    assert len(runner.asked) == 3


async def test_without_slurm_the_job_is_this_machine() -> None:
    """Questions are answered from nothing, a Comment is dropped, and what needs Slurm says so."""
    absent = AbsentSlurm("here")
    facts = await absent.job(JOB, deadline_s=1.0)
    assert (facts.state, facts.nodes, facts.batch_host) == ("RUNNING", ("here",), "here")
    await absent.update_comment(JOB, "x", deadline_s=1.0)
    with pytest.raises(NoSlurm, match="shrink 7"):
        await absent.shrink(JOB, facts.nodes, deadline_s=1.0)


async def test_a_job_that_the_controller_has_forgotten_is_in_the_accounts() -> None:
    """Cancelled in the queue it was given no node."""
    runner = FakeRunner((1, "slurm_load_jobs error: Invalid job id specified\n"), "7|CANCELLED by 1000|None assigned\n")
    found = await slurm(runner).remembered(JOB, deadline_s=3.0)
    assert found is not None
    assert (found.state, found.nodes) == ("CANCELLED", ())
    assert runner.asked[1] == "sacct -X -n -P -j 7 -o JobID,State,NodeList"


@pytest.mark.parametrize("accounts", [(1, "Slurm accounting storage is disabled\n"), "", NoSlurm("no sacct")])
async def test_a_job_that_nobody_knows_any_more_is_none(accounts: str | tuple[int, str] | Exception) -> None:
    """Accounting is off, empty, or not installed."""
    runner = FakeRunner((1, "Job 7_3 not found\n"), accounts)
    assert await slurm(runner).remembered(JobId("7_3"), deadline_s=3.0) is None


async def test_a_controller_that_does_not_answer_has_forgotten_nothing() -> None:
    """Unknown stays unknown."""
    with pytest.raises(SlurmTimeout):
        await slurm(FakeRunner(SlurmTimeout("late"))).remembered(JOB, deadline_s=3.0)


PREEMPTION = "SLURM_VERSION = 24.11.5\nPreemptMode = REQUEUE\nPreemptType = {}\n"


@pytest.mark.parametrize(
    ("plugin", "answers", "mode", "asked"),
    [
        (
            "preempt/partition_prio",
            ["PartitionName=low PreemptMode=CANCEL\n"],
            "CANCEL",
            "scontrol -a -o show partition low",
        ),
        (
            "preempt/qos",
            ["normal|cluster\nstandby|cancel\n"],
            "CANCEL",
            "sacctmgr -nP show qos format=Name,PreemptMode",
        ),
        ("preempt/qos", ["standby|cluster\n"], "REQUEUE", "sacctmgr -nP show qos format=Name,PreemptMode"),
        ("(null)", [], "", "scontrol show config"),
    ],
)
async def test_preempt_mode_by_the_plugin_that_decides(plugin: str, answers: list[str], mode: str, asked: str) -> None:
    """The partition's or the QOS's own mode, the cluster's where it has none; without preemption nobody is asked."""
    runner = FakeRunner(PREEMPTION.format(plugin), *answers)
    facts = JobFacts(job_id=JOB, state="RUNNING", partition="low", qos="standby")
    assert await slurm(runner).preempt_mode(facts, deadline_s=3.0) == mode
    assert runner.asked[-1] == asked
    assert runner.answers == []


async def test_an_unseen_preempt_mode_is_no_mode() -> None:
    """An accounting database that gives no answer leaves it unknown: the caller must not read it as off."""
    runner = FakeRunner(PREEMPTION.format("preempt/qos"), (1, "sacctmgr: error: Unable to contact slurmdbd\n"))
    with pytest.raises(SlurmFailed):
        await slurm(runner).preempt_mode(JobFacts(job_id=JOB, state="RUNNING"), deadline_s=3.0)


async def test_an_answer_that_cannot_be_read_is_a_failed_query() -> None:
    """Half an answer, or another job's: callers know of failed queries, and none of them may break by one."""
    with pytest.raises(SlurmFailed, match="cannot be read"):
        await slurm(FakeRunner("JobId=8 JobState=RUNNING\n")).job(JOB, deadline_s=3)
    with pytest.raises(SlurmFailed, match="cannot be read"):
        await slurm(FakeRunner("JobId=7 JobState=RUNNING NodeList=node[001-\n")).job(JOB, deadline_s=3)
    with pytest.raises(SlurmFailed, match="cannot be read"):
        await slurm(FakeRunner("nonsense\n")).config(deadline_s=3)
