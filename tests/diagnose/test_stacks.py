"""Stacks of hung ranks: the one that is not in the collective is the one the others wait for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.evidence.stacks import find, frame_of, main_thread
from supervisor.diagnose.findings import Finding
from supervisor.model.ids import Rank

_PYSPY = """\
Process 4242: python train.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 4242 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
    wrapper (torch/distributed/c10d_logger.py:83)
    train_step (train.py:210)
    <module> (train.py:300)
Thread 4300 (idle): "Thread-1"
    wait (threading.py:324)
"""
_FAULTHANDLER = """\
Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait

Current thread 0x00007f0 (most recent call first):
  File "/home/u/data.py", line 31 in __getitem__
  File "/home/u/train.py", line 300 in <module>
"""
_IN = ("all_reduce (distributed_c10d.py:2501)", "wrapper (c10d_logger.py:83)", "train_step (train.py:210)")
_OUT = ("__getitem__ (data.py:31)", "fetch (fetch.py:52)")


def _found(*stacks: tuple[str, ...]) -> list[Finding]:
    ranks = {Rank(rank): frames for rank, frames in enumerate(stacks)}
    return list(find(ranks, {rank: f"stacks/{rank}" for rank in ranks}))


def test_py_spy() -> None:
    """The main thread's frames, innermost first; other threads are passed over."""
    assert main_thread(_PYSPY.splitlines()) == (*_IN, "<module> (train.py:300)")


def test_faulthandler() -> None:
    """Python's own dump of all threads."""
    assert main_thread(_FAULTHANDLER.splitlines()) == ("__getitem__ (data.py:31)", "<module> (train.py:300)")


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("    cudaStreamSynchronize (libcudart.so.12)", "cudaStreamSynchronize (libcudart.so.12:?)"),
        ("    __getitem__ (/home/u/data.py:31)", "__getitem__ (data.py:31)"),
        ("    at::native::copy_ (libtorch_cpu.so)", "at::native::copy_ (libtorch_cpu.so:?)"),
        ("step 3 (of 7)", None),
        ("", None),
    ],
)
def test_frames(line: str, frame: str | None) -> None:
    """Frames of Python and, with --native, of libraries."""
    assert frame_of(line) == frame


def test_the_odd_one_is_named() -> None:
    """One rank reads data while seven wait in a collective."""
    [found] = _found(*[_IN] * 3, _OUT, *[_IN] * 4)
    assert (found.rank, found.source) == (3, "stacks/3")
    assert "rank 3 is in __getitem__ (data.py:31) while 7 others wait" in found.text


@pytest.mark.parametrize(
    "inner",
    [
        "wait (threading.py:324)",
        "acquire (filelock.py:3)",
        "read (file_io.py:9)",
        "open (h5py.py:9)",
        "_try_get_data (dataloader.py:1131)",
        "recv (socket.py:10)",
    ],
)
def test_waiting_for_something_of_its_own(inner: str) -> None:
    """A lock, a file or a loader is no collective, though a collective's name stands further out."""
    assert [one.rank for one in _found(_IN, (inner, "all_gather_object (c10d.py:1)", "f (a.py:1)"), _IN)] == [1]


@pytest.mark.parametrize(
    "inner", ["all_reduce (thread_pool.py:3)", "synchronize (spread_streams.py:3)", "ncclWait (x.so:?)"]
)
def test_names_within_names(inner: str) -> None:
    """`thread` does not mean that something is read."""
    assert _found(_IN, (inner,), _IN) == []


@pytest.mark.parametrize("stacks", [(), (_IN,), (_OUT,), (_IN, _IN), (_OUT, _OUT, _IN), ((), ()), (_OUT, _OUT)])
def test_nobody_is_odd(stacks: tuple[tuple[str, ...], ...]) -> None:
    """Where all wait, none waits, or most are elsewhere, nobody is named."""
    assert _found(*stacks) == []


def test_a_stack_without_frames() -> None:
    """A dump that holds none says nothing of its rank."""
    assert _found(_IN, (), _IN) == []


@given(st.lists(st.text(max_size=30) | st.sampled_from(_PYSPY.splitlines() + _FAULTHANDLER.splitlines()), max_size=30))
def test_any_lines(lines: list[str]) -> None:
    """No dump raises."""
    frames = main_thread(lines)
    assert len(frames) <= 8
    _found(_IN, frames, _IN)
