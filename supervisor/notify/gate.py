"""Keeps messages few: the same one once an hour, six an hour for a run, then one that says so. Pure."""

from typing import Final

import msgspec

from supervisor.model.base import Fact
from supervisor.notify.message import Message

HOUR_S: Final = 3600.0
MOST: Final = 6
_REMEMBERED: Final = 64


class Sent(Fact, frozen=True, kw_only=True):
    """One message that was sent."""

    at: float
    key: str


class Kept(Fact, frozen=True, kw_only=True):
    """`notified.json`: what the run has told so far, for the supervisors that come after."""

    sent: tuple[Sent, ...] = ()
    told: tuple[str, ...] = ()
    """Interruptions and ends that were told, by number: their records are written again and again."""
    held_back: int = 0


def passed(kept: Kept, message: Message, once: str, now: float) -> tuple[Kept, Message | None]:
    """What is to be sent in place of the message (None: nothing), and what is to be remembered.

    `once` names what the message is about: that is told a single time. A run's stop gets through though too much was
    told before it, once an hour: it is what a person must not miss.
    """
    if once in kept.told:
        return kept, None
    kept = msgspec.structs.replace(kept, told=(*kept.told, once)[-_REMEMBERED:])
    recent = tuple(one for one in kept.sent if now - HOUR_S < one.at <= now)
    if any(one.key == message.key for one in recent):
        return msgspec.structs.replace(kept, sent=recent), None
    is_first_stop = message.kind == "stopped" and not any(one.key.startswith("stopped:") for one in recent)
    if len(recent) > MOST and not is_first_stop:
        return msgspec.structs.replace(kept, sent=recent, held_back=kept.held_back + 1), None
    sent = (*recent, Sent(at=now, key=message.key))
    told = msgspec.structs.replace(message, text=_with_counts(message.text, kept.held_back, len(sent)))
    told = msgspec.structs.replace(told, held_back=kept.held_back)
    return msgspec.structs.replace(kept, sent=sent, held_back=0), told


def _with_counts(text: str, held_back: int, number: int) -> str:
    lines = [text]
    if held_back:
        lines.append(f"{held_back} earlier message{'s' * (held_back > 1)} of this run were not sent.")
    if number > MOST:
        lines.append(f"This is message {number} of this run within an hour: more are held back until the hour is over.")
    return "\n".join(lines)
