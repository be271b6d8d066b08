"""Calls that hang, die or talk too much."""

import os
import signal
import time

from supervisor.hooks import bounded
from supervisor.hooks.bounded import gather

_SHORT_S = 0.4


def _hangs() -> bytes:
    time.sleep(60)
    return b""


def _dies() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _refuses() -> bytes:
    raise OSError(5, "Input/output error")


def test_answers_come_whatever_the_others_do() -> None:
    """One that hangs costs the deadline and no more; one that dies or fails costs nothing."""
    began = time.monotonic()
    answers = gather({"well": lambda: b"told", "hangs": _hangs, "dies": _dies, "fails": _refuses}, deadline_s=_SHORT_S)
    assert time.monotonic() - began < 5
    assert answers["well"].value == b"told"
    assert (answers["hangs"].value, answers["hangs"].complaint) == (None, "no answer within 0.4 s")
    assert (answers["dies"].value, answers["dies"].complaint) == (None, "died without an answer")
    assert "Input/output error" in answers["fails"].complaint


def test_without_trouble_nobody_waits_for_the_deadline() -> None:
    """The slowest answer ends it."""
    began = time.monotonic()
    assert gather({"a": lambda: b"x" * 300_000}, deadline_s=30)["a"].value == b"x" * 300_000
    assert time.monotonic() - began < 10


def test_an_empty_answer_is_an_answer() -> None:
    """And not a death."""
    assert gather({"a": lambda: b""}, deadline_s=30)["a"].value == b""


def test_a_process_that_holds_the_pipe_open_does_not_hold_the_answer_up() -> None:
    """As one that hangs in the kernel does, whoever has been told to die."""
    reader, writer = os.pipe()

    def leaves_one_behind() -> bytes:
        if (pid := os.fork()) == 0:
            os.setsid()
            time.sleep(60)
        os.write(writer, str(pid).encode())
        return b"told"

    began = time.monotonic()
    assert gather({"a": leaves_one_behind}, deadline_s=20)["a"].value == b"told"
    assert time.monotonic() - began < 10
    os.kill(int(os.read(reader, 20)), signal.SIGKILL)
    os.close(reader)
    os.close(writer)


def test_an_answer_without_end_is_cut_off() -> None:
    """Memory of the node is not a child's to fill."""
    answer = gather({"a": lambda: b"x" * (bounded._MOST_BYTES + 10)}, deadline_s=30)["a"]
    assert (answer.value, answer.complaint) == (None, "its answer is too large")


def test_who_hangs_is_killed_with_its_children() -> None:
    """Nothing of a hook goes on computing after its deadline."""
    reader, writer = os.pipe()

    def parent() -> bytes:
        if os.fork() == 0:
            os.write(writer, str(os.getpid()).encode())
            time.sleep(60)
        time.sleep(60)
        return b""

    gather({"parent": parent}, deadline_s=_SHORT_S, own_group=True)
    pid = int(os.read(reader, 20))
    until = time.monotonic() + 5
    while _lives(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _lives(pid)
    os.close(reader)
    os.close(writer)


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123 - a file of one line
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
