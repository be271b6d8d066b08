"""Asking Slurm's accounting: what is asked, what comes back, and what is said where nothing does."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout, SlurmTooMuch
from supervisor.model.accounts import Accounts
from supervisor.slurm.accounting import list_jobs, read_accounts
from supervisor.slurm.parse_accounting import FIELDS, fields_of, parse_accounting
from supervisor.slurm.process import Answer, CallCount

_RECORDED = Path(__file__).parents[1] / "data" / "slurm" / "22.05" / "sacct.txt"
_DAY_S = 86_400.0
_ROW = {
    "JobID": "7",
    "JobIDRaw": "7",
    "Cluster": "c",
    "User": "u",
    "Account": "a",
    "Partition": "p",
    "State": "COMPLETED",
    "ExitCode": "0:0",
    "DerivedExitCode": "0:0",
    "NodeList": "n[1-2]",
    "AllocTRES": "cpu=2",
    "TimelimitRaw": "10",
    "Submit": "90",
    "Start": "100",
    "End": "160",
    "ElapsedRaw": "60",
    "FailedNode": "",
    "Comment": "",
}


def _row(separator: str = "|!|", **changes: str) -> str:
    return separator.join((_ROW | changes)[field] for field in FIELDS) + "\n"


def _parsed(*rows: str) -> Accounts:
    return parse_accounting("".join(rows), "|!|")


def _recorded() -> Accounts:
    return parse_accounting(_RECORDED.read_text(encoding="utf-8"), "|5eba7a7e|", fields_of("JobID Comment"))


def test_rows_of_a_real_cluster() -> None:
    """Each row with its state, size and times; a resized job and one that was started again have two."""
    answer = _recorded()
    assert not answer.problems
    assert [(job.job, job.raw_id, job.state) for job in answer.jobs] == [
        ("1", "1", "RESIZING"),
        ("2", "2", "NODE_FAIL"),
        ("3", "3", "NODE_FAIL"),
        ("4", "4", "REQUEUED"),
        ("4", "4", "CANCELLED"),
        ("1", "1", "COMPLETED"),
        ("2", "2", "COMPLETED"),
        ("6", "6", "COMPLETED"),
        ("7", "7", "COMPLETED"),
        ("5_0", "8", "COMPLETED"),
        ("5_1", "5", "COMPLETED"),
    ]
    first = answer.jobs[0]
    assert (first.cluster, first.user, first.account, first.partition) == ("roomd", "alice", "research", "main")
    assert (first.nodes, first.gpus, first.time_limit_s) == (("node001", "node002", "node003"), 24, 600.0)
    assert (first.submitted_at, first.started_at, first.ended_at) == (1796117140.0, 1796117141.0, 1796117156.0)
    assert first.elapsed_s == 15.0


def test_a_comment_with_a_newline_makes_no_row() -> None:
    """What a user writes into a Comment stays there, though it looks like a job of root's."""
    jobs = [job for job in _recorded().jobs if job.job == "4"]
    assert [job.comment for job in jobs] == ["a|b\n99|99|root?"] * 2
    assert {job.user for job in _recorded().jobs} == {"alice"}


def test_a_comment_may_hold_the_separator_itself() -> None:
    """It is the last column: whatever it holds shifts nothing."""
    (job,) = _parsed(_row(Comment="x|!|y")).jobs
    assert (job.user, job.comment) == ("u", "x|!|y")


def test_steps_and_jobs_that_wait_are_left_out() -> None:
    """Only what has had nodes is a row of ours."""
    waits = _row(Start="Unknown", End="Unknown", NodeList="None assigned", AllocTRES="")
    never = _row(Start="None", State="CANCELLED by 5")
    step = _row(JobIDRaw="7.batch")
    assert _parsed(waits, never, step) == Accounts()


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("cpu=2,gres/gpu=16,node=2", 16),
        ("gres/gpu:h200=16,gres/gpu=16", 16),
        ("gres/gpu:a=2,gres/gpu:b=1", 3),
        ("cpu=2", 0),
        ("gres/gpumem=5", 0),
    ],
)
def test_gpus_of_a_job(tres: str, gpus: int) -> None:
    """The sum where Slurm gives it, else over the types."""
    assert _parsed(_row(AllocTRES=tres)).jobs[0].gpus == gpus


def test_who_runs_has_no_end_and_who_has_no_limit_none() -> None:
    """Words in the place of numbers are no numbers."""
    (job,) = _parsed(_row(State="RUNNING", End="Unknown", TimelimitRaw="UNLIMITED", DerivedExitCode="86:0")).jobs
    assert (job.ended_at, job.time_limit_s, job.derived_exit_code) == (None, None, 86)


def test_a_row_that_cannot_be_read_is_told_and_costs_no_other() -> None:
    """A bad node list, a column too few: each is one sentence."""
    answer = _parsed(_row(JobID="1", NodeList="n[2-"), "a|!|b\n", _row(JobID="3"))
    assert [job.job for job in answer.jobs] == ["3"]
    assert len(answer.problems) == 2
    assert "2 columns instead of 18" in answer.problems[1]


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_an_answer_that_was_cut_loses_its_last_row_and_says_so(cut: int) -> None:
    """Half a Comment would be half a verdict."""
    answer = parse_accounting((_row(JobID="1") + _row(JobID="2", Comment="supervise: completed"))[:-cut], "|!|")
    assert [job.job for job in answer.jobs] == ["1"]
    assert answer.problems == ("sacct's answer ends in the middle of a row: its last row is left out",)


def test_nothing_happened() -> None:
    """An empty answer is an answer."""
    assert parse_accounting("", "|!|") == Accounts()


def test_the_failed_node_is_asked_for_where_slurm_knows_it() -> None:
    """An unknown field would cost the whole answer; the Comment stays the last one."""
    assert "FailedNode" not in fields_of("JobID Comment")
    assert fields_of("FailedNode\nJobID")[-2:] == ("FailedNode", "Comment")
    (job,) = _parsed(_row(FailedNode="n2,stranger")).jobs
    assert job.failed == ("n2",)


def test_no_name_and_no_command_is_asked_for() -> None:
    """A report needs neither a job's name nor its command, and steps would be ten times the rows."""
    argv = list_jobs(0.0, 3600.0, separator="|!|", fields=FIELDS, all_users=False)
    assert not {"JobName", "SubmitLine", "WorkDir"} & set(argv[-1].removeprefix("--format=").split(","))
    assert {"--parsable2", "--noheader", "--duplicates", "--allocations", "--delimiter=|!|"} <= set(argv)
    assert argv[6:8] == ["--starttime=1970-01-01T00:00:00", "--endtime=1970-01-01T01:00:00"]
    assert "--allusers" not in argv
    assert list_jobs(0.0, 1.0, separator="|", fields=FIELDS, all_users=True, clusters=["a", "b"])[-2:] == [
        "--allusers",
        "--clusters=a,b",
    ]


class _Sacct:
    """Answers each question with the next text, in the separator that it asked for."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.separators: list[str] = []
        self.asked: list[tuple[str, ...]] = []
        self.is_too_much: Callable[[str, str], bool] | None = None
        self.environments: list[Mapping[str, str]] = []

    async def __call__(
        self, argv: Sequence[str], *, deadline_s: float, env: Mapping[str, str], count: CallCount
    ) -> Answer:
        assert deadline_s > 0
        count.by_program[argv[0]] += 1
        self.environments.append(env)
        if "--helpformat" in argv:
            return Answer(argv=tuple(argv), code=0, stdout="JobID\nFailedNode Comment\n", stderr="", took_s=0.0)
        separator = next(word for word in argv if word.startswith("--delimiter=")).removeprefix("--delimiter=")
        self.separators.append(separator)
        self.asked.append(tuple(word.partition("time=")[2] for word in argv if "time=" in word))
        if self.is_too_much is not None and self.is_too_much(*self.asked[-1]):
            raise SlurmTooMuch("sacct wrote more than 64 MiB")
        text = (self.texts.pop(0) if self.texts else "").replace("|!|", separator)
        return Answer(argv=tuple(argv), code=0, stdout=text, stderr="", took_s=0.0)


async def test_a_long_window_is_asked_for_in_parts() -> None:
    """No gap, no overlap, no part too long."""
    runner = _Sacct()
    await read_accounts(0.0, 20 * _DAY_S, all_users=True, runner=runner, environment={})
    assert [begin[:10] for begin, _ in runner.asked] == ["1970-01-01", "1970-01-08", "1970-01-15"]
    assert [end[:10] for _, end in runner.asked] == ["1970-01-08", "1970-01-15", "1970-01-21"]
    nothing = _Sacct()
    await read_accounts(5.0, 5.0, all_users=True, runner=nothing, environment={})
    assert not nothing.asked


async def test_a_busy_site_is_asked_for_shorter_parts() -> None:
    """As short as its answers have room for, and no job is left out by that."""
    runner = _Sacct(*(_row(JobIDRaw=str(number)) for number in range(1, 100)))
    runner.is_too_much = lambda begin, end: _seconds(end) - _seconds(begin) > 2 * _DAY_S
    answer = await read_accounts(0.0, 14 * _DAY_S, all_users=True, runner=runner, environment={})
    good = [(begin, end) for begin, end in runner.asked if not runner.is_too_much(begin, end)]
    assert [begin for begin, _ in good][1:] == [end for _, end in good][:-1]
    assert (good[0][0], good[-1][1]) == ("1970-01-01T00:00:00", "1970-01-15T00:00:00")
    assert len(answer.jobs) == len(good) == 8
    assert len(runner.asked) == len(good) + 2


async def test_an_hour_with_too_many_jobs_is_said() -> None:
    """With what would make it fewer; it is not asked for again and again."""
    runner = _Sacct()
    runner.is_too_much = lambda _begin, _end: True
    with pytest.raises(SlurmTooMuch, match=r"too many jobs in an hour .*--cluster.*read a ledger instead"):
        await read_accounts(0.0, _DAY_S, all_users=True, runner=runner, environment={})
    assert len(runner.asked) == 6


def _seconds(text: str) -> float:
    return datetime.fromisoformat(f"{text}+00:00").timestamp()


async def test_a_job_that_lived_in_two_parts_comes_once_as_it_is_now() -> None:
    """The later answer is the newer one."""
    runner = _Sacct(_row(State="RUNNING", End="Unknown"), _row(State="FAILED", End="900"))
    answer = await read_accounts(0.0, 10 * _DAY_S, all_users=True, runner=runner, environment={})
    assert [(job.state, job.ended_at) for job in answer.jobs] == [("FAILED", 900.0)]


async def test_nobody_can_foresee_the_separator_and_times_are_in_utc() -> None:
    """A Comment of a user's own making cannot hold a row; sacct reads our times in the zone they are written in."""
    runner = _Sacct("", "")
    surroundings = {"TZ": "America/Lima", "SLURM_TIME_FORMAT": "relative", "SLURM_CLUSTERS": "x", "PATH": "/bin"}
    await read_accounts(0.0, 10 * _DAY_S, all_users=True, runner=runner, environment=surroundings)
    assert len({*runner.separators}) == 2
    assert {len(separator) for separator in runner.separators} == {10}
    assert runner.environments[0] == {"PATH": "/bin", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}


def _program(folder: Path, text: str) -> dict[str, str]:
    (folder / "sacct").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "sacct").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("Slurm accounting storage is disabled", "keeps no accounts"),
        ("sacct: error: Problem talking to the database: Connection refused", "try again when slurmdbd answers"),
        ("sacct: error: Access/permission denied", "ask for your own jobs"),
        ("sacct: error: Invalid field requested", "try the command by hand"),
    ],
)
async def test_a_refusal_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, remedy: str
) -> None:
    """Each with sacct's own words and the way that is left: a ledger."""
    monkeypatch.setenv("PATH", _program(tmp_path, f"echo '{words}' >&2; exit 1")["PATH"])
    with pytest.raises(SlurmFailed, match=rf"{remedy}.*, or read a ledger instead") as caught:
        await read_accounts(0.0, 1.0, all_users=False)
    assert caught.value.code == 1


async def test_a_database_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is over all questions; what runs is ended."""
    monkeypatch.setenv("PATH", _program(tmp_path, "sleep 60")["PATH"])
    began = time.monotonic()
    with pytest.raises(SlurmTimeout, match=r"see whether slurmdbd is well .*, or read a ledger instead"):
        await read_accounts(0.0, 1.0, all_users=False, deadline_s=0.3)
    assert time.monotonic() - began < 10


async def test_without_sacct_the_way_that_is_left_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Slurm here, or not on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SlurmFailed, match="load Slurm's module, or read a ledger instead") as caught:
        await read_accounts(0.0, 1.0, all_users=False)
    assert isinstance(caught.value.__cause__, NoSlurm)


async def test_bytes_that_are_no_text_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are shown as holes; the row stays."""
    row = "${s}".join((_ROW | {"Comment": "caf@ au lait"})[field] for field in fields_of(""))
    script = f's=$(printf "%s\\n" "$@" | sed -n s/--delimiter=//p)\nprintf "%s\\n" "{row}" | tr @ "\\351"'
    monkeypatch.setenv("PATH", _program(tmp_path, script)["PATH"])
    (job,) = (await read_accounts(0.0, 1.0, all_users=False)).jobs
    assert job.comment == "caf\N{REPLACEMENT CHARACTER} au lait"
