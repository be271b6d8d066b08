"""The job's Comment: words for people, and every interruption in a form that is read back as it was."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.core.instructions import Comment
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, RunId
from supervisor.model.job_comment import LIMIT, Mark, comment, mark_of, parse_comment, with_mark
from supervisor.model.records import IncidentRecord, Split
from supervisor.model.verdict import Blame, Class, GpuRef, Verdict
from supervisor.redact.text import redacted
from supervisor.slurm import commands
from tests.core.facts import node
from tests.core.harness import World

_NAMES = st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True).map(NodeName)
_WHOLE = st.integers(0, 10**9).map(float)
_TENTHS = st.integers(0, 10**5).map(lambda tenths: tenths / 10)
_MARKS = st.builds(
    Mark,
    incident=st.integers(1, 9999).map(IncidentNo),
    job=st.one_of(st.none(), st.sampled_from([JobId("7"), JobId("17_3"), JobId("5+1")])),
    cls=st.sampled_from(list(Class)),
    cause=st.from_regex(r"[a-z_]{1,30}", fullmatch=True),
    confidence=st.integers(0, 100).map(lambda percent: percent / 100),
    nodes=st.lists(_NAMES, max_size=4).map(tuple),
    gpus=st.lists(st.builds(GpuRef, node=_NAMES, gpu=st.integers(0, 15)), max_size=2).map(tuple),
    at=_WHOLE,
    detect_s=st.integers(0, 9999).map(lambda tenths: tenths / 10),
    action=st.sampled_from(["relaunch", "relaunch_on_spare", "resubmit", "stop", "none"]),
    recovery_s=st.one_of(st.none(), _TENTHS),
    lost_node_s=_WHOLE,
    is_closed=st.booleans(),
)


def _record(*, job: str = "7", number: int = 1, **changes: object) -> IncidentRecord:
    verdict = Verdict(
        cls=Class.HARDWARE,
        cause="gpu_lost",
        confidence=0.9312,
        summary="gone",
        blame=Blame(nodes=(node(2),), gpus=(GpuRef(node=node(2), gpu=3),)),
    )
    fields = {"verdict": verdict, "action": "relaunch", "opened_at": 1000.4, "split": Split(detect=1.55), **changes}
    return IncidentRecord(
        run_id=RunId("r"),
        job_id=JobId(job),
        incident=IncidentNo(number),
        attempt=AttemptNo(1),
        evidence_at=998.9,
        **fields,  # type: ignore[arg-type]  # a test's own fields
    )


def test_a_comment_reads_as_documented() -> None:
    """Its form is what sites' own scripts may rely on."""
    mark = mark_of(_record(recovery_s=16.04, lost_node_seconds=210.4, is_closed=True), JobId("7"))
    assert comment("completed, 1 interruption", [mark]) == (
        "supervise: completed, 1 interruption [1 hardware/gpu_lost nodes=node002 gpus=node002:3 at=1000 seen=1.6 "
        "did=relaunch back=16.0 lost=210 sure=0.93]"
    )
    assert comment("completed, no interruptions") == "supervise: completed, no interruptions"


@given(st.lists(_MARKS, max_size=1), st.text(max_size=200))
def test_what_was_written_is_read_back(marks: list[Mark], words: str) -> None:
    """Through what may be put into an argument, whatever the words quote."""
    text = commands.comment(JobId("7"), comment(words, marks))[-1].removeprefix("Comment=")
    said = parse_comment(text)
    assert said is not None
    assert said.marks == tuple(marks)


@given(st.lists(_MARKS, max_size=12, unique_by=lambda mark: mark.incident), st.text(max_size=600))
@settings(max_examples=40)
def test_a_comment_is_bounded_and_the_newest_stay(marks: list[Mark], words: str) -> None:
    """It is never cut by others, and who has no room is counted."""
    text = comment(words, marks)
    assert len(text) <= LIMIT
    said = parse_comment(text)
    assert said is not None
    numbers = sorted(mark.incident for mark in marks)
    assert [mark.incident for mark in said.marks] == numbers[len(numbers) - len(said.marks) :]
    assert len(said.marks) + said.left_out == len(marks)


def test_so_many_that_none_has_room() -> None:
    """Even one that is too long by itself is counted."""
    long = NodeName("n" * 64)
    gpus = tuple(GpuRef(node=long, gpu=number) for number in range(4))
    mark = Mark(incident=IncidentNo(3), cls=Class.HARDWARE, cause="x", nodes=(long,) * 4, gpus=gpus)
    said = parse_comment(comment("over", [mark]))
    assert said is not None
    assert (said.words, said.marks, said.left_out) == ("over", (), 1)


def test_words_cannot_look_like_marks() -> None:
    """They may quote a line of a log: its brackets are no brackets of ours."""
    said = parse_comment(comment("stopped: [1 hardware/gpu_lost nodes=node009 at=1 did=stop]"))
    assert said is not None
    assert not said.marks


@pytest.mark.parametrize("text", ["", "mine", "supervised by me", "supervise:completed"])
def test_a_comment_of_others_is_none_of_ours(text: str) -> None:
    """Only what begins as ours is read."""
    assert parse_comment(text) is None


@pytest.mark.parametrize(
    "mark",
    [
        "1 hardware",
        "x hardware/gpu_lost",
        "1 weather/rain",
        "1 hardware/<script>",
        "1 hardware/gpu_lost\x00",
        "9999999 hardware/gpu_lost",
    ],
)
def test_a_mark_that_cannot_be_is_left_out(mark: str) -> None:
    """Whoever may write the Comment may write anything."""
    said = parse_comment(f"supervise: x [{mark}; 2 data/shard_corrupt]")
    assert said is not None
    assert [mark.cause for mark in said.marks] == ["shard_corrupt"]


def test_fields_that_cannot_be_are_left_out() -> None:
    """A wild number, a name with a tag, an unknown field: the rest of the mark counts."""
    text = "supervise: x [1 hardware/gpu_lost nodes=<b>,node001 gpus=node001:x at=-5 sure=9 did=RM back=nan new=1]"
    said = parse_comment(text)
    assert said is not None
    (mark,) = said.marks
    assert (mark.nodes, mark.gpus, mark.at, mark.confidence) == (("node001",), (), 0.0, 1.0)
    assert (mark.action, mark.recovery_s) == ("none", None)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    """Never an error."""
    parse_comment(text)
    parse_comment(f"supervise: {text}")
    parse_comment(f"supervise: x [{text}]")


@pytest.mark.parametrize("piece", [" ", "[", "]", ";", " a=", "1 hardware/", "1 hardware/x ; "])
def test_a_long_comment_is_read_in_linear_time(piece: str) -> None:
    """Other tools may write 64 KiB there."""
    began = time.monotonic()
    parse_comment(f"supervise: {piece * (65_536 // len(piece))}]")
    parse_comment(f"supervise: x [{piece * (65_536 // len(piece))}]")
    assert time.monotonic() - began < 1.0


def test_no_part_of_a_mark_looks_like_a_secret() -> None:
    """Comments are redacted before they are set: marks must come through."""
    text = comment("completed", [mark_of(_record(number=number), JobId("7")) for number in (1, 2)])
    assert redacted(text) == text


def test_the_newest_state_of_an_incident_counts_and_one_of_an_earlier_job_names_it() -> None:
    """One mark for each; what another job of the run has suffered is told as that job's."""
    marks = with_mark((), _record(), JobId("8"))
    marks = with_mark(marks, _record(recovery_s=3.0), JobId("8"))
    marks = with_mark(marks, _record(job="8", number=2), JobId("8"))
    assert [(mark.incident, mark.job, mark.recovery_s) for mark in marks] == [(1, "7", 3.0), (2, None, None)]


def test_the_machine_tells_what_it_decided_and_how_it_ended() -> None:
    """Decision and last words hold the marks: a job that is killed in between has said the verdict."""
    world = World(spares=1).start().progress(5)
    world.exit(139).settle()
    decided = parse_comment(world.given(Comment)[-1].text)
    assert decided is not None
    (mark,) = decided.marks
    assert (mark.cls, mark.cause, mark.action, mark.is_closed) == (Class.SOFTWARE, "segfault", "relaunch", False)
    world.progress(6).exit(0)
    assert world.finish is not None
    ended = parse_comment(world.finish.comment)
    assert ended is not None
    assert ended.words == "completed, 1 interruption"
    assert [(mark.incident, mark.is_closed) for mark in ended.marks] == [(1, True)]
