"""What an incident keeps of the job's output."""

from supervisor.daemon.window import Window
from supervisor.diagnose.scan.lines import LineScanner

_FAILED = "srun: error: node002: task 3: Exited with exit code 1"
_TRACE = ["Traceback (most recent call last):", '  File "/a/train.py", line 3, in step', "KeyError: 'x'"]
_ALL = float("-inf")


class _Reader:
    """A window behind a scanner, as the output feeds both."""

    def __init__(self, keep: int = 3, span_s: float = 100.0) -> None:
        self.window = Window(keep, span_s)
        self._scanner = LineScanner()

    def read(self, text: str, now: float = 1.0) -> None:
        data = text.encode()
        self.window.add(data, self._scanner.feed(data), now)

    def lines(self, begin: float = _ALL) -> list[str]:
        return list(self.window.lines(begin))


def _noise(count: int) -> str:
    return "".join(f"noise {number}\n" for number in range(count))


def test_the_last_lines() -> None:
    """As many as were asked for, in the order written; each counts."""
    reader = _Reader()
    reader.read(_noise(9))
    assert reader.lines() == ["noise 6", "noise 7", "noise 8"]
    assert reader.window.count == 9


def test_a_line_torn_by_a_read_is_one_line() -> None:
    """Wherever the supervisor's looks fall; the last line counts before its end has come."""
    reader = _Reader()
    reader.read("noise\nsrun: error: node0")
    reader.read("02: task 3: Exited with exit code 1\nlast")
    assert reader.lines() == ["noise", _FAILED, "last"]


def test_a_progress_bar_is_one_line() -> None:
    """A thousand redrawings must not push out the lines before; a bar without an end does not grow."""
    reader = _Reader()
    reader.read("one\ntwo\n" + "".join(f"\r{percent}%" for percent in range(1000)) + "\n")
    assert reader.lines() == ["one", "two", "999%"]
    reader.read("x" * 1_000_000)
    assert sum(map(len, reader.lines())) < 10_000


def test_a_telling_line_outlives_a_flood() -> None:
    """It stands where it was written, before the last lines, once."""
    reader = _Reader()
    reader.read(f"{_FAILED}\n{_noise(10_000)}")
    assert reader.lines() == [_FAILED, "noise 9997", "noise 9998", "noise 9999"]


def test_a_traceback_outlives_a_flood_whole() -> None:
    """Without its frames the place would not be known."""
    reader = _Reader()
    reader.read("\n".join(["before", *_TRACE]) + "\n" + _noise(10_000))
    assert [line for line in reader.lines() if line in _TRACE] == _TRACE


def test_many_tracebacks_leave_room_for_the_first() -> None:
    """Ranks that raise because another one failed come later, and their number is bounded."""
    reader = _Reader()
    reader.read("\n".join(_TRACE) + "\n" + 1000 * ("\n".join(_TRACE[:2]) + "\nConnectionResetError\n" + _noise(100)))
    assert "KeyError: 'x'" in reader.lines()
    assert len(reader.lines()) < 1100


def test_what_was_told_long_before_is_left_out() -> None:
    """A failure that was overcome hours ago is no evidence of this one; the last lines always are."""
    reader = _Reader()
    reader.read(f"{_FAILED}\n" + "\n".join(_TRACE) + f"\n{_noise(9)}", now=1.0)
    assert reader.lines(begin=2.0) == ["noise 6", "noise 7", "noise 8"]


def test_what_is_told_again_after_the_span_counts_again() -> None:
    """The first time was another failure."""
    reader = _Reader(span_s=100.0)
    reader.read(f"{_FAILED}\n", now=1.0)
    reader.read(f"{_noise(5)}{_FAILED}\n{_noise(9)}", now=500.0)
    assert reader.lines(begin=400.0)[0] == _FAILED


def test_telling_lines_are_bounded() -> None:
    """Thousands of ranks that all say why keep 2 MB."""
    reader = _Reader()
    for task in range(6000):
        reader.read(f"srun: error: node002: task {task}: Exited with exit code 1 {'x' * 2000}\n")
    assert sum(map(len, reader.lines())) < 2_100_000
