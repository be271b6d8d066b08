"""Argument lists for Slurm's commands."""

from supervisor.model import job_comment
from supervisor.model.ids import JobId, NodeName
from supervisor.slurm import commands

JOB = JobId("17")
NODES = (NodeName("node001"), NodeName("node002"))


def test_agent_step_is_exactly_the_measured_one() -> None:
    """The agents' step has the options that were measured to disturb nobody, and no other."""
    assert " ".join(commands.agent_step(JOB, NODES, ["/x/agent", "run"], memory_mb=128)) == (
        "srun --overlap --no-kill -K0 --mpi=none --cpu-bind=none --mem=128 --input=none --jobid 17 -w node[001-002] "
        "-N 2 -n 2 --ntasks-per-node=1 -J supervise /x/agent run"
    )


def test_agent_step_may_read_commands_from_stdin() -> None:
    """The stdout transport hands srun's stdin to all agents."""
    assert "--input=all" in commands.agent_step(JOB, NODES, ["x"], memory_mb=1, stdin="all")


def test_shrink_names_the_nodes_that_stay() -> None:
    """A shrink writes NodeList: the form with NumNodes fails on 26.05."""
    assert commands.shrink(JOB, NODES) == ["scontrol", "update", "JobId=17", "NodeList=node[001-002]"]


def test_exclude_writes_count_and_required_nodes_anew() -> None:
    """After a shrink 22.05 keeps the old count and the old node list: all three are written."""
    assert commands.exclude(JOB, NODES[:1], nodes=3)[2:] == [
        "JobId=17",
        "ExcNodeList=node001",
        "NumNodes=3",
        "ReqNodeList=",
    ]


def test_comment_is_one_bounded_line() -> None:
    """A Comment stays on one line of scontrol's answer and is cut."""
    text = commands.comment(JOB, "a\nb  c" + "x" * 1000)[-1]
    assert text.startswith("Comment=a b cx")
    assert len(text) == len("Comment=") + job_comment.LIMIT


def test_many_steps_are_cancelled_in_few_calls() -> None:
    """One scancel takes many steps, and no more than fit."""
    steps = [f"17.{number}" for number in range(1001)]
    calls = commands.cancel_steps(steps)
    assert [len(call) - 1 for call in calls] == [500, 500, 1]
    assert [step for call in calls for step in call[1:]] == steps
    assert commands.cancel_steps([]) == []


def test_environment_holds_nothing_that_steers_slurm() -> None:
    """Of the job's variables only SLURM_CONF stays, so that no format, cluster or job id of the job leaks in."""
    base = {"PATH": "/bin", "SLURM_CONF": "/c", "SLURM_JOB_ID": "1", "SQUEUE_FORMAT": "%i", "SBATCH_EXCLUDE": "n"}
    assert commands.clean_environment(base) == {
        "PATH": "/bin",
        "SLURM_CONF": "/c",
        "SLURM_TIME_FORMAT": "%s",
        "LC_ALL": "C",
    }


def test_environment_of_a_step_holds_its_job() -> None:
    """A step of the job is launched with the job's id and nothing else of it."""
    base = {"SLURM_NTASKS": "8", "SLURM_CONF": "/c"}
    assert commands.clean_environment(base, job=JOB) == {"SLURM_CONF": "/c", "SLURM_JOB_ID": "17", "LC_ALL": "C"}


def test_questions() -> None:
    """The questions ask for one record per line, and for no nodes at all that means all of them."""
    assert commands.show_job(JOB) == ["scontrol", "-o", "show", "job", "17"]
    assert commands.show_nodes(NODES) == ["scontrol", "-o", "show", "node", "node[001-002]"]
    assert commands.show_nodes() == ["scontrol", "-o", "show", "node"]
    assert commands.attach("17.0") == ["sattach", "-l", "17.0"]
