"""When a node was heard, and what it said of itself."""

from dataclasses import dataclass

from supervisor.model.wire import NodeFacts


@dataclass(slots=True)
class Heard:
    """What is known of one node."""

    expected_since: float
    last_heard: float | None = None
    is_up: bool = False
    is_reported_silent: bool = False
    address: str = ""
    facts: NodeFacts | None = None
