"""Payloads: the right ones come through from newer versions too, the wrong ones raise one error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.bus import codec
from supervisor.errors import PayloadRefused
from supervisor.model.base import encode
from supervisor.model.wire import FromAgent, ToAgent
from tests.bus.helpers import beats, check_node, stop_ranks, up


@pytest.mark.parametrize("message", [beats(ranks=8), up()])
def test_what_agents_say_comes_back_equal(message: FromAgent) -> None:
    """Encoding and decoding lose nothing."""
    assert codec.decode_from_agent(encode(message)) == message


@pytest.mark.parametrize("message", [stop_ranks(), check_node()])
def test_commands_come_back_equal(message: ToAgent) -> None:
    """Encoding and decoding lose nothing."""
    assert codec.decode_to_agent(encode(message)) == message


def test_a_field_of_a_newer_version_is_ignored() -> None:
    """A newer agent does not make an older supervisor deaf."""
    newer = json.loads(encode(up())) | {"colour": {"of": ["the", "future"]}}
    assert codec.decode_from_agent(json.dumps(newer).encode()) == up()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"type":"beats"}',
        b'{"type":"beats","node":7,"at":1.0,"attempt":1}',
        b'{"type":"no such thing","node":"n"}',
        b"\xff\xfe",
        b'{"type":"status","node":"n","state":"sideways"}',
        b'{"x":' + b"[" * 100_000,
        b" " * (codec.MAX_PAYLOAD_BYTES + 1),
    ],
    ids=lambda payload: repr(payload[:30]),
)
def test_a_hostile_payload_is_refused(payload: bytes) -> None:
    """Whatever is not exactly a message raises PayloadRefused and nothing else."""
    with pytest.raises(PayloadRefused):
        codec.decode_from_agent(payload)


@pytest.mark.parametrize("depth", [2_000, 50_000, codec.MAX_PAYLOAD_BYTES // 2 - 50])
def test_an_unknown_field_of_any_depth_does_no_harm(depth: int) -> None:
    """Ignored as far down as this Python can follow (3.14 goes by the stack it has), refused beyond that."""
    payload = encode(up())[:-1] + b',"x":' + b"[" * depth + b"]" * depth + b"}"
    assert len(payload) <= codec.MAX_PAYLOAD_BYTES
    try:
        assert codec.decode_from_agent(payload) == up()
    except PayloadRefused as refused:
        assert isinstance(refused.__cause__, RecursionError)  # noqa: PT017  # either is right


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(payload: bytes) -> None:
    """Random bytes are refused, never a crash."""
    with pytest.raises(PayloadRefused):
        codec.decode_to_agent(payload)


def test_a_message_that_no_receiver_would_take_is_not_sent() -> None:
    """The sender hears of a message beyond the cap, instead of nobody."""
    with pytest.raises(PayloadRefused):
        codec.encode_within_cap(stop_ranks("x" * codec.MAX_PAYLOAD_BYTES))
