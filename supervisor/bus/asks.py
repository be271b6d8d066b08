"""Which messages were seen already, and which commands are still without an answer; pure."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from supervisor.bus.topics import ALL_NODES
from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.wire import Checked, Fenced, FromAgent, RankGone, Stopped, ToAgent

_ASK_LIVES_S: Final = 30.0
"""A command that nobody answered for this long is not said again: whoever asked has decided without it."""
_OPEN_ASKS: Final = 64


class Recent:
    """The last things seen, to know a repeated one."""

    def __init__(self, limit: int = 1024) -> None:
        self._limit = limit
        self._seen: OrderedDict[Hashable, None] = OrderedDict()

    def is_new(self, what: Hashable) -> bool:
        """Whether this was not seen lately; from now on it was."""
        if what in self._seen:
            return False
        self._seen[what] = None
        if len(self._seen) > self._limit:
            self._seen.popitem(last=False)
        return True


def fingerprint(message: FromAgent) -> Hashable | None:
    """Equal for two deliveries of the same event or answer; None for what may be said again and again."""
    match message:
        case Stopped() | Checked():
            return type(message).__name__, message.node, message.ask
        case RankGone() | Fenced():
            return message
        case _:
            return None


class Ask(NamedTuple):
    """A command to one node, or to all (None)."""

    node: NodeName | None
    message: ToAgent
    attempt: AttemptNo

    @property
    def address(self) -> str:
        """The node's name, `*` for all."""
        return ALL_NODES if self.node is None else self.node

    def to(self, node: NodeName) -> "Ask":
        """The same for this node alone."""
        return self._replace(node=node)


class _Open:
    def __init__(self, ask: Ask, at: float) -> None:
        self.ask = ask
        self.at = at
        self.answered: set[NodeName] = set()

    def is_for(self, node: NodeName) -> bool:
        return self.ask.node in (None, node) and node not in self.answered


class OpenAsks:
    """Commands without an answer: an agent that says it is up may have missed them and is told again.

    Without this, a broker that dies between taking a command and passing it on would have swallowed it.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asks: OrderedDict[tuple[str, str], _Open] = OrderedDict()

    def note(self, ask: Ask) -> None:
        """A command is being sent."""
        self._asks[ask.address, ask.message.ask] = _Open(ask, self._clock())
        if len(self._asks) > _OPEN_ASKS:
            self._asks.popitem(last=False)

    def answered(self, message: Stopped | Checked) -> None:
        """A node has answered."""
        self._asks.pop((message.node, message.ask), None)
        to_all = self._asks.get((ALL_NODES, message.ask))
        if to_all is not None:
            to_all.answered.add(message.node)

    def missed_by(self, node: NodeName) -> list[Ask]:
        """What this node was asked lately and did not answer."""
        newest_dead = self._clock() - _ASK_LIVES_S
        for key in [key for key, open_ask in self._asks.items() if open_ask.at < newest_dead]:
            del self._asks[key]
        return [each.ask for each in self._asks.values() if each.is_for(node)]
