"""What the supervisor's end does with each message, whatever carried it."""

import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from supervisor.bus.asks import Ask, OpenAsks, Recent, fingerprint
from supervisor.bus.mailbox import Mailbox, replaceable
from supervisor.model.wire import Checked, FromAgent, Status, Stopped

_UNREAD: Final = 20_000
"""Beyond that the oldest beats go first; there is at most one unread beat and one status of each node anyway."""


class HubInbox:
    """Messages in order, repeated ones left out, with a memory of what was asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._unread: Mailbox[FromAgent] = Mailbox(_UNREAD)
        self._seen = Recent(_UNREAD)
        self._asks = OpenAsks(clock)
        self.refused = 0

    def accept(self, message: FromAgent) -> list[Ask]:
        """Take a message in; the answer is what must be said again because its sender may have missed it."""
        mark = fingerprint(message)
        if mark is not None and not self._seen.is_new(mark):
            return []
        self._unread.put(message, replaces=replaceable(message))
        match message:
            case Stopped() | Checked():
                self._asks.answered(message)
            case Status(state="up"):
                return self._asks.missed_by(message.node)
            case _:
                pass
        return []

    def asked(self, ask: Ask) -> None:
        """A command is about to be sent."""
        self._asks.note(ask)

    async def messages(self) -> AsyncIterator[FromAgent]:
        """What was accepted, until `close`."""
        while (message := await self._unread.take()) is not None:
            yield message

    def close(self) -> None:
        """Nothing more will be accepted."""
        self._unread.close()
