"""Which message an interruption or an end is worth, and that it may leave the job."""

from typing import get_args

import pytest

from supervisor.model.ids import JobId, RunId
from supervisor.model.verdict import Class
from supervisor.notify.message import Kind, Message, bounded
from supervisor.notify.words import is_wanted, of_end, of_record
from tests.notify.made import message, record


def _end(**changes: object) -> Message:
    given: dict[str, object] = {
        "run_id": RunId("r"),
        "job_id": JobId("17"),
        "at": 5.0,
        "is_good": False,
        "handed_over": False,
        "is_cancelled": False,
        "reason": "it has failed 3 times in a row without a new step",
        "fingerprint": "f",
    }
    return of_end(**{**given, **changes})  # type: ignore[arg-type]  # each has its own type above


def test_an_interruption_tells_what_where_and_what_was_done() -> None:
    """With the command that tells the rest."""
    told = of_record(record())
    assert told
    assert told.kind == "interrupted"
    assert told.title == "supervise: job 17 (run llama-abcde) interrupted, goes on: hardware/gpu_lost"
    assert told.text == "gpu017 lost a GPU\nstarted again without gpu017\nnodes: gpu017\nmore: supervise why 17"
    assert (told.cls, told.cause, told.nodes, told.fingerprint) == ("hardware", "gpu_lost", ("gpu017",), "f1")


def test_a_stop_is_told_as_what_needs_a_person() -> None:
    """The first words of the subject."""
    told = of_record(record(action="stop", cls=Class.SOFTWARE, cause="cuda_oom"))
    assert told
    assert (told.kind, told.title.partition(") ")[2]) == ("stopped", "STOPPED, needs you: software/cuda_oom")


@pytest.mark.parametrize("changes", [{"action": "none"}, {"is_closed": True}])
def test_nothing_is_told_before_the_decision_nor_at_the_close(changes: dict[str, object]) -> None:
    """A record is kept many times."""
    assert of_record(record(**changes)) is None


def test_observe_says_that_nothing_is_done() -> None:
    """Or a person would wait for the restart."""
    told = of_record(record(action="observe"))
    assert told
    assert told.title.endswith("interrupted (mode observe: nothing is done): hardware/gpu_lost")


def test_a_planned_end_is_no_interruption() -> None:
    """A time limit is no news."""
    told = of_record(record(cls=Class.PLANNED, cause="walltime", action="resubmit"))
    assert told
    assert told.kind == "planned"


def test_the_end_of_a_job_in_its_kinds() -> None:
    """What failed needs a person, whoever cancelled knows it."""
    assert _end().kind == "stopped"
    assert _end().text == "it has failed 3 times in a row without a new step\nmore: supervise why 17"
    assert _end(is_good=True).kind == "completed"
    assert _end(handed_over=True).kind == "resubmitted"
    assert _end(is_cancelled=True).kind == "cancelled"


def test_without_slurm_the_run_is_named() -> None:
    """Its job has the number 0, which nobody knows."""
    told = _end(job_id=JobId("0"))
    assert told.title == "supervise: run r STOPPED, needs you"
    assert told.text.endswith("\nmore: supervise why r")


@pytest.mark.parametrize(
    ("notify_on", "kinds"),
    [
        ("stopped", {"stopped"}),
        ("interrupted", {"stopped", "interrupted"}),
        ("all", {"stopped", "interrupted", "planned", "resubmitted", "cancelled", "completed"}),
    ],
)
def test_what_is_told_is_what_was_asked_for(notify_on: str, kinds: set[str]) -> None:
    """Each value takes the one before along."""
    assert {kind for kind in get_args(Kind) if is_wanted(kind, notify_on)} == kinds


def test_a_message_has_no_secrets_and_an_end() -> None:
    """A summary may quote a log, and a log anything."""
    made = bounded(
        message(
            title="a\nb \x1b[31mc " + "t" * 500,
            text="api_key=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD\nline two\x00\n" + "x" * 5000,
            fingerprint="password=hunter2hunter2",
        )
    )
    assert made.title.startswith("a b [31mc ttt")
    assert (len(made.title), len(made.text)) == (200, 2000)
    assert made.text.startswith("api_key=***\nline two\n")
    assert "hunter2" not in made.fingerprint
