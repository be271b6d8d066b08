"""The two ends of the bus as the rest of the product sees them, whatever carries the words.

Agents are given theirs by `supervisor.bus.mqtt.agent_link(config, node)` or the same of `supervisor.bus.stdout`,
with an `AgentConfig` and this node's name; both return an `AgentLink` that is not yet entered.
"""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Final, Protocol, Self

from supervisor.model.ids import AttemptNo, NodeName
from supervisor.model.wire import FromAgent, ToAgent

NO_ATTEMPT: Final = AttemptNo(0)
"""The attempt of what belongs to none: status and checks."""


class AgentLink(Protocol):
    """An agent's end. Entering returns at once; it connects, and connects again for ever, in the background.

    The first thing the supervisor must see of an agent is its `Status(up)`: a link keeps the newest `Status` it was
    given and says it again after each connection. Leaving sends what is queued for at most two seconds, then goes.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def last_heard(self) -> float | None:
        """`time.monotonic()` of the last sign of the supervisor's side, None before the first.

        A connected broker that acknowledges counts (it dies with the batch host), and so does every command.
        """

    def send(self, message: FromAgent, *, attempt: AttemptNo = NO_ATTEMPT) -> None:
        """Queue one message. Never blocks, never raises; a full queue drops its oldest `Beats`, then its oldest."""

    def commands(self) -> AsyncIterator[ToAgent]:
        """Commands for this node, each once, until the link is left. Called once per link."""


class HubLink(Protocol):
    """The supervisor's end. Entering returns when it really listens."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def received(self) -> AsyncIterator[FromAgent]:
        """What agents say, in the order of arrival per node, until the link is left. Called once per link."""

    async def command(self, node: NodeName | None, message: ToAgent, *, attempt: AttemptNo) -> None:
        """Send to one node, or to every node (None). Raises `BrokerFailed` when it could not be handed over."""
