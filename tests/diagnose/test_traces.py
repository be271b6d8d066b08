"""Tracebacks, also where several ranks write into one file."""

import tracemalloc
from itertools import chain, zip_longest

import pytest

from supervisor.diagnose.scan.traces import Trace, TraceReader, find_traces


def _traceback(label: str, line: int, exception: str) -> list[str]:
    return [
        f"{label}Traceback (most recent call last):",
        f'{label}  File "/home/u/train.py", line {line}, in main',
        f"{label}    step(batch)",
        f'{label}  File "/home/u/data.py", line {line + 1}, in collate',
        f'{label}    return batch["loss_mask"]',
        f"{label}           ~~~~~^^^^^^^^^^^^^",
        f'{label}  File "/opt/venv/lib/python3.11/site-packages/torch/x.py", line 9, in inner',
        f"{label}    raise",
        f"{label}{exception}",
    ]


def _find(lines: list[str]) -> list[Trace]:
    return list(find_traces(enumerate(lines, start=1)))


def test_a_traceback() -> None:
    """The exception's line, and the innermost frame of the user's code rather than of a library."""
    (trace,) = _find(["step 1", *_traceback("", 10, "KeyError: 'loss_mask'"), "step 2"])
    assert (trace.number, trace.exception, str(trace.top)) == (10, "KeyError", "data.py:11:collate")


def test_labelled_ranks_may_be_mixed_line_by_line() -> None:
    """With labels, each rank's traceback is read on its own."""
    first, second = _traceback("[rank3]: ", 10, "KeyError: 'x'"), _traceback("[rank5]: ", 50, "ValueError: y")
    mixed = [line for line in chain.from_iterable(zip_longest(first, second)) if line]
    found = {trace.rank: (trace.exception, str(trace.top)) for trace in _find(mixed)}
    assert found == {3: ("KeyError", "data.py:11:collate"), 5: ("ValueError", "data.py:51:collate")}


def test_source_text_is_told_apart() -> None:
    """It says what would be said: only the line right below a frame, and not one that somebody else wrote there."""
    reader = TraceReader(None)
    lines = _traceback("", 10, "KeyError: 'loss_mask'")
    lines[7:8] = ["step 7 loss 0.1"]
    code = []
    for number, line in enumerate(lines):
        list(reader.read(number, line))
        code.append(reader.is_code)
    assert code == [False, False, True, False, True, False, False, False, False]


def test_other_lines_between_the_frames() -> None:
    """Without labels, lines of other ranks between two frames do no harm."""
    lines = _traceback("", 10, "KeyError: 'x'")
    lines[3:3] = ["step 7 loss 0.1", "WARNING: slow"]
    (trace,) = _find(lines)
    assert str(trace.top) == "data.py:11:collate"


def test_a_follow_up_is_told() -> None:
    """An exception raised while another was handled is marked: the other came first."""
    lines = [
        *_traceback("", 10, "FileNotFoundError: x"),
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        *_traceback("", 30, "RuntimeError: y"),
    ]
    assert [trace.is_follow_up for trace in _find(lines)] == [False, True]


def test_one_that_python_ignored() -> None:
    """In a finalizer, or at exit: the next traceback is none of that kind."""
    lines = [
        "Exception ignored in atexit callback: <function save at 0x7f>",
        *_traceback("", 10, "FileNotFoundError: x"),
        *_traceback("", 30, "RuntimeError: y"),
    ]
    assert [trace.is_ignored for trace in _find(lines)] == [True, False]
    assert [trace.is_ignored for trace in _find([lines[0], *lines])] == [True, True], "two processes, one label"
    far = [lines[0], *["step"] * 50, *_traceback("", 10, "RuntimeError: y")]
    assert [trace.is_ignored for trace in _find(far)] == [False], "that one had no traceback"


def test_faulthandler_writes_the_innermost_first() -> None:
    """A fatal error's frames are turned round, and its line is the one that names the fault."""
    lines = [
        "Fatal Python error: Segmentation fault",
        "",
        "Current thread 0x00007f (most recent call first):",
        '  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at',
        '  File "/home/u/train.py", line 25 in step',
        '  File "/home/u/train.py", line 99 in main',
        "",
        "Extension modules: numpy",
    ]
    (trace,) = _find(lines)
    assert (trace.number, str(trace.top)) == (1, "train.py:25:step")


def test_a_traceback_that_never_ends_is_given_up() -> None:
    """A cut traceback does not swallow the rest of the log."""
    lines = [*_traceback("", 10, "KeyError: 1")[:4], *["step 1"] * 300, "SomeError: much later"]
    assert _find(lines) == []


@pytest.mark.parametrize(
    "line",
    [
        '  File "/w/train.py", line 3, in f',
        "Exception ignored in: <f>",
        "[rank{n}]: Traceback (most recent call last):",
        "[rank{n}]: Fatal Python error: Aborted",
        "[rank{n}]: During handling of the above exception, another exception occurred:",
    ],
)
def test_what_never_ends_is_not_kept_for_ever(line: str) -> None:
    """Endless frames, announcements and writers take a bounded memory: a log may have gigabytes of them."""
    reader = TraceReader(None)
    lines = [line.format(n=n) for n in range(40_000)]
    tracemalloc.start()
    try:
        for number, text in enumerate(["Traceback (most recent call last):", *lines]):
            list(reader.read(number, text))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 9_000_000


def test_of_endless_frames_the_innermost_are_kept() -> None:
    """A recursion does not hide where it ended."""
    frames = [f'  File "/w/train.py", line {n}, in f' for n in range(1000)]
    lines = ["Traceback (most recent call last):", *frames, "RecursionError: maximum recursion depth exceeded"]
    (trace,) = find_traces(enumerate(lines))
    assert trace.frames[-1].line == 999
