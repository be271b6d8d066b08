"""Bytes of the bus to facts: anything that is not exactly right is refused, whoever sent it."""

from typing import Final, TypeVar

import msgspec

from supervisor.errors import PayloadRefused
from supervisor.model.base import Fact, encode
from supervisor.model.wire import FromAgent, ToAgent

MAX_PAYLOAD_BYTES: Final = 262_144
"""Far above the largest honest message (a check naming the peers of a thousand nodes), far below what hurts."""

T = TypeVar("T")

_from_agent: Final = msgspec.json.Decoder(FromAgent)
_to_agent: Final = msgspec.json.Decoder(ToAgent)


class Addressed(Fact, frozen=True, kw_only=True):
    """A command as a line of the stdout transport, which reaches every agent."""

    node: str
    """A node's name, or `*` for all."""
    command: ToAgent


_addressed: Final = msgspec.json.Decoder(Addressed)


def decode_from_agent(payload: bytes) -> FromAgent:
    """What an agent said. Raises `PayloadRefused`."""
    return _decode(_from_agent, payload)


def decode_to_agent(payload: bytes) -> ToAgent:
    """A command. Raises `PayloadRefused`."""
    return _decode(_to_agent, payload)


def decode_addressed(payload: bytes) -> Addressed:
    """A command with its address. Raises `PayloadRefused`."""
    return _decode(_addressed, payload)


def encode_within_cap(message: msgspec.Struct) -> bytes:
    """One line of JSON. Raises `PayloadRefused` where no receiver would take it for its size."""
    payload = encode(message)
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise PayloadRefused(
            f"a {type(message).__name__} of {len(payload)} bytes exceeds {MAX_PAYLOAD_BYTES}: say less"
        )
    return payload


def _decode(decoder: msgspec.json.Decoder[T], payload: bytes) -> T:
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise PayloadRefused(f"{len(payload)} bytes, at most {MAX_PAYLOAD_BYTES} are read")
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise PayloadRefused(f"not a message of this bus: {exc}") from exc
