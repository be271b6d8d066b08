"""Orders to a running job as a person types them; a supervisor that answers is played by the test."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor.cli import ordering
from supervisor.cli.main import cli
from supervisor.errors import UsageError
from supervisor.ledger.orders import read_orders
from supervisor.model.base import encode
from supervisor.model.ids import JobId, RunId
from supervisor.model.order import Answer, PersonOrder, refused
from tests.report import makers


@pytest.fixture
def run(work: Path) -> Path:
    """A job whose ranks run."""
    return makers.make(work / ".supervise" / "llama-abc12", status=makers.status(updated_at=time.time()))


def _type(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


@contextmanager
def _supervisor(run: Path, answer: Answer) -> Iterator[list[PersonOrder]]:
    """Reads the orders and answers each."""
    heard: list[PersonOrder] = []
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(0.02):
            for order in read_orders(run):
                heard.append(order)
                status = makers.status(updated_at=time.time(), answers={order.id: answer})
                (run / "status.json").write_bytes(encode(status))
                (run / "orders" / f"{order.id}.json").unlink()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield heard
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (["halt"], {"what": "halt"}),
        (["halt", "--now", "--why", "store moves"], {"what": "halt", "is_now": True, "why": "store moves"}),
        (["resume"], {"what": "resume"}),
        (["mode", "observe"], {"what": "mode", "mode": "observe"}),
    ],
)
def test_the_supervisor_gets_the_order(run: Path, words: list[str], fields: dict[str, object]) -> None:
    """With who gave it; its answer is told."""
    with _supervisor(run, Answer(text="it is done")) as heard:
        done = _type(*words, str(run))
    assert done.exit_code == 0
    assert "it is done" in done.stdout
    (order,) = heard
    assert order.by
    assert {name: getattr(order, name) for name in fields} == fields


def test_a_dry_run_orders_nothing(run: Path) -> None:
    """And says what it would."""
    done = _type("--dry-run", "halt", "--now", str(run))
    assert done.exit_code == 0
    assert "would order the supervisor" in done.stdout
    assert ": halt, is_now True" in done.stdout
    assert not (run / "orders").exists()


@pytest.mark.parametrize("what", ["exclude", "unexclude"])
def test_nodes_are_written_as_slurm_does(run: Path, what: str) -> None:
    """Names and host lists, each node once."""
    with _supervisor(run, Answer(text="ok")) as heard:
        _type(what, str(run), "node[001-003]", "node002", "gpu7")
    assert heard[0].nodes == ("node001", "node002", "node003", "gpu7")


def test_a_time_ahead_is_understood(run: Path) -> None:
    """Hours and minutes from now, or a clock's time."""
    with _supervisor(run, Answer(text="ok")) as heard:
        _type("halt", "--before", "30m", str(run))
        _type("halt", "--before", "23:59", str(run))
    assert abs((heard[0].until or 0) - time.time() - 1800) < 60
    assert 0 < (heard[1].until or 0) - time.time() <= 86_400


def test_a_refusal_is_an_exit_code(run: Path) -> None:
    """And a script reads it."""
    with _supervisor(run, refused("too late")):
        done = _type("resume", str(run))
        answer = json.loads(_type("resume", "--json", str(run)).stdout)
    assert done.exit_code == 1
    assert "too late" in done.stderr
    assert (answer["done"], answer["conclusion"]) == (False, "too late")
    assert (answer["exit"], answer["blockers"]) == (1, ["too late"])


def test_a_silent_supervisor_is_told(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order stays for it."""
    monkeypatch.setattr(ordering, "_WAIT_S", 0.3)
    (run / "status.json").write_bytes(encode(makers.status(updated_at=time.time() - 100)))
    done = _type("halt", "--now", str(run))
    assert done.exit_code == 1
    assert "has been silent for 1 min 4" in done.stderr
    assert len(read_orders(run)) == 1


def test_an_order_that_nobody_will_read_is_taken_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job died with its supervisor: days later it would halt whoever goes on with the run."""
    monkeypatch.setattr(ordering, "_WAIT_S", 0.3)
    (run / "status.json").write_bytes(encode(makers.status(updated_at=time.time() - 7200)))
    done = _type("halt", "--now", str(run))
    assert done.exit_code == 1
    assert "has been silent for 2 h" in done.stderr
    assert "the order is taken back" in done.stderr
    assert read_orders(run) == []


def test_an_order_that_cannot_be_taken_back_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its file, for a person to remove."""

    def fails(folder: Path, number: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(ordering, "_WAIT_S", 0.3)
    monkeypatch.setattr(ordering, "withdraw_order", fails)
    (run / "status.json").write_bytes(encode(makers.status(updated_at=time.time() - 7200)))
    done = _type("halt", "--now", str(run))
    assert "Read-only file system" in done.stderr
    assert str(run / "orders") in done.stderr


@pytest.mark.parametrize(
    ("stage", "successor", "told"),
    [("finished", "", "the run is over"), ("finished", "99", "scancel 99"), ("", "", "has not begun")],
)
def test_nobody_is_there_to_order(work: Path, stage: str, successor: str, told: str) -> None:
    """What to do instead is said, and no order is left behind."""
    status = makers.status(stage=stage, successor=JobId(successor) if successor else None) if stage else None
    run = makers.make(work / ".supervise" / "llama-abc12", status=status)
    done = _type("halt", "--now", str(run))
    assert done.exit_code == 1
    assert told in done.stderr
    assert not (run / "orders").exists()


def test_an_array_has_tasks(work: Path) -> None:
    """It must be said which of them is meant."""
    array = makers.run_file(run_id=RunId("llama-abc12"), array="0-3")
    run = makers.make(work / ".supervise" / "llama-abc12", run=array, status=None)
    with pytest.raises(UsageError, match="name one of its tasks"):
        _type("halt", "--now", str(run))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["halt", "--now", "--after-checkpoint"], "--now is at once"),
        (["halt", "--before", "2020-01-01T00:00"], "has passed"),
        (["exclude", "node[001"], "node"),
    ],
)
def test_what_cannot_be_ordered_is_refused(run: Path, words: list[str], told: str) -> None:
    """Before anything is written."""
    command, *rest = words
    with pytest.raises(UsageError, match=told):
        _type(command, *rest, *([str(run)] if command == "halt" else []), *([] if command == "halt" else ["node[001"]))


def test_a_time_that_is_none_is_asked_again(run: Path) -> None:
    """With the forms that are understood."""
    done = _type("halt", "--before", "soon", str(run))
    assert done.exit_code == 2
    assert "30m, 2h, 18:00" in done.stderr
