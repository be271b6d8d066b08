"""Bounded queues of the bus: what is dropped when one is full is decided here."""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from supervisor.model.wire import Beats, FromAgent, Status

T = TypeVar("T")


def replaceable(message: FromAgent) -> Hashable | None:
    """Equal for messages of which only the newest counts, None for those that count each."""
    if isinstance(message, Beats | Status):
        return type(message).__name__, message.node
    return None


class Mailbox(Generic[T]):
    """A bounded queue in which a newer beat takes the place of an unread older one.

    When it is full, the oldest replaceable item is dropped, then the oldest of all; `dropped` counts them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: OrderedDict[Hashable, T] = OrderedDict()
        self._replaceable: OrderedDict[Hashable, None] = OrderedDict()
        self._serial = 0
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()
        self._is_closed = False
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T, *, replaces: Hashable | None = None) -> None:
        """Queue the item; it takes the place of a waiting one that was put with an equal `replaces`."""
        self._serial += 1
        key: Hashable = self._serial if replaces is None else ("newest", replaces)
        self._forget(key)
        if len(self._items) >= self._limit:
            self.dropped += 1
            self._forget(next(iter(self._replaceable or self._items)))
        self._items[key] = item
        if replaces is not None:
            self._replaceable[key] = None
        self._changed.set()

    async def first(self) -> T | None:
        """The oldest item, left where it is; None when the box is closed and empty."""
        while not self._items:
            if self._is_closed:
                return None
            self._changed.clear()
            await self._changed.wait()
        return next(iter(self._items.values()))

    def done(self, item: T) -> None:
        """Take the item out, unless a newer one has already taken its place."""
        for key, found in self._items.items():
            if found is item:
                self._forget(key)
                self._taken.set()
                return

    async def take(self) -> T | None:
        """The oldest item, taken out; None when the box is closed and empty."""
        item = await self.first()
        if item is not None:
            self.done(item)
        return item

    async def emptied(self) -> None:
        """Returns when nothing waits any more."""
        while self._items:
            self._taken.clear()
            await self._taken.wait()

    def close(self) -> None:
        """Nothing more will come: whoever waits is let go."""
        self._is_closed = True
        self._changed.set()

    def _forget(self, key: Hashable) -> None:
        self._items.pop(key, None)
        self._replaceable.pop(key, None)
