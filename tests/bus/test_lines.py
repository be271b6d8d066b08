"""Lines of the stdout transport: short enough, whole again, and safe against what others write between them."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.bus.codec import MAX_PAYLOAD_BYTES
from supervisor.bus.lines import LINE_BYTES, LineBuffer, Parts, lines_of
from supervisor.model.base import encode
from tests.bus.helpers import NODE, OTHER, beats


def _joined(lines: list[bytes]) -> list[bytes]:
    buffer, parts = LineBuffer(), Parts()
    return [whole for line in buffer.feed(b"".join(lines)) if (whole := parts.take(line)) is not None]


def test_a_short_message_is_its_own_line() -> None:
    """What fits is written as it is."""
    assert lines_of(NODE, 1, encode(beats())) == [encode(beats()) + b"\n"]


def test_no_line_is_longer_than_slurm_passes_on_whole() -> None:
    """A node with many ranks speaks in several short lines."""
    lines = lines_of(NODE, 123_456, encode(beats(ranks=64)))
    assert len(lines) > 5
    assert max(map(len, lines)) <= LINE_BYTES


@given(st.binary(max_size=5000).filter(lambda payload: b"\n" not in payload and not payload.startswith(b"~")))
def test_parts_become_whole_again(payload: bytes) -> None:
    """Any message comes back as it was."""
    assert _joined(lines_of(NODE, 1, payload)) == ([payload] if payload else [])


def test_parts_of_two_nodes_do_not_mix() -> None:
    """Lines of several nodes come in any order between each other."""
    one, two = encode(beats(ranks=20)), encode(beats(node=OTHER, ranks=20))
    mixed = [line for pair in zip(lines_of(NODE, 1, one), lines_of(OTHER, 1, two), strict=True) for line in pair]
    assert _joined(mixed) == [one, two]


def test_a_message_that_lost_a_part_is_forgotten_and_the_next_is_whole() -> None:
    """A lost line costs its message alone."""
    message = encode(beats(ranks=20))
    assert _joined([*lines_of(NODE, 1, message)[:-1], *lines_of(NODE, 2, message)]) == [message]


def test_lines_that_are_no_parts_are_left_out() -> None:
    """Broken heads, absurd counts and the like raise nothing."""
    wrong = [
        b"~\n",
        b"~n\n",
        b"~n 1 x 2 t\n",
        b"~n 1 5 2 t\n",
        b"~n 1 0 999999999 t\n",
        b"~n 1 0 0 t\n",
        b"~n 1 \xb2 3 t\n",
    ]
    assert _joined(wrong) == []


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    """Beyond the cap a line is left out, and the next one is read."""
    buffer = LineBuffer()
    for _ in range(4):
        assert buffer.feed(b"x" * (MAX_PAYLOAD_BYTES // 2 + 1)) == []
    assert buffer.feed(b"tail\nnext\n") == [b"next"]
    assert len(buffer._rest) == 0


@given(st.lists(st.binary(min_size=1, max_size=40).filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_lines_are_whole_however_they_arrive(lines: list[bytes], step: int) -> None:
    """The same lines come out, whatever pieces they came in."""
    stream = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer()
    found = [line for start in range(0, len(stream), step) for line in buffer.feed(stream[start : start + step])]
    assert found == lines
