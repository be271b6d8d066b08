"""MQTT topics: how they are built, what may stand in them, what they say when read back."""

from typing import Final, Literal, NamedTuple

from supervisor.errors import PayloadRefused
from supervisor.model.ids import AttemptNo, NodeName, RunId
from supervisor.model.wire import Beats, CheckNode, FromAgent, SaveAndStop, Status, StopRanks, TellBeats, ToAgent

_ROOT: Final = "supervise/1"
"""The number is the version of what is said: another version is another tree, never a misread message."""
_FORBIDDEN: Final = frozenset("/+#")
_LONGEST_NAME: Final = 256
_LEVELS: Final = 7
ALL_NODES: Final = "*"
"""Stands where a node's name stands and means every node; no node can be called so."""
UP: Final = b"up"
DOWN: Final = b"down"

Kind = Literal["beats", "event", "status"]
KINDS: Final[tuple[Kind, ...]] = ("beats", "event", "status")


class NodeTopic(NamedTuple):
    """What the topic of an agent's message says of it."""

    run: RunId
    attempt: AttemptNo
    node: NodeName
    kind: Kind


def checked_name(name: str) -> str:
    """The name, if it may stand in a topic. Raises `PayloadRefused`."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or not _FORBIDDEN.isdisjoint(name):
        raise PayloadRefused(
            f"{name[:40]!r} cannot be a name in a topic: it is empty, too long or holds / + # or controls"
        )
    return name


def everything(run: RunId) -> str:
    """The filter under which all topics of a run lie."""
    return f"{_ROOT}/{checked_name(run)}/#"


def node_topic(run: RunId, attempt: AttemptNo, node: NodeName, kind: Kind) -> str:
    """Where an agent says something of this kind."""
    return f"{_ROOT}/{checked_name(run)}/{attempt:d}/node/{checked_name(node)}/{kind}"


def node_filter(run: RunId, kind: Kind) -> str:
    """Everything of one kind that any agent says in any attempt."""
    return f"{_ROOT}/{checked_name(run)}/+/node/+/{kind}"


def command_topic(run: RunId, attempt: AttemptNo, node: NodeName | None, message: ToAgent) -> str:
    """Where a command to one node, or to all (None), is said."""
    name = ALL_NODES if node is None else checked_name(node)
    return f"{_ROOT}/{checked_name(run)}/{attempt:d}/command/{name}/{verb(message)}"


def command_filters(run: RunId, node: NodeName) -> tuple[str, str]:
    """What an agent listens to: its own commands and those to every node."""
    start = f"{_ROOT}/{checked_name(run)}/+/command"
    return f"{start}/{checked_name(node)}/+", f"{start}/{ALL_NODES}/+"


def presence_topic(run: RunId) -> str:
    """Where the supervisor's end says, retained, `UP` or `DOWN`; every agent hears it among its commands."""
    return f"{_ROOT}/{checked_name(run)}/0/command/{ALL_NODES}/supervisor"


def kind(message: FromAgent) -> Kind:
    """Under which kind a message is said: beats may be lost, status is retained, the rest are events."""
    match message:
        case Beats():
            return "beats"
        case Status():
            return "status"
        case _:
            return "event"


def verb(message: ToAgent) -> str:
    """The last level of a command's topic."""
    match message:
        case StopRanks():
            return "stop_ranks"
        case CheckNode():
            return "check_node"
        case TellBeats():
            return "tell_beats"
        case SaveAndStop():
            return "save_and_stop"


def parse_node_topic(topic: str) -> NodeTopic:
    """The parts of an agent's topic. Raises `PayloadRefused` for any other topic."""
    levels = topic.split("/")
    if len(levels) != _LEVELS or not topic.startswith(f"{_ROOT}/") or levels[4] != "node" or not _is_number(levels[3]):
        raise PayloadRefused(f"{topic[:80]!r} is not a topic of an agent")
    for found in KINDS:
        if levels[6] == found:
            node, run = NodeName(checked_name(levels[5])), RunId(checked_name(levels[2]))
            return NodeTopic(run, AttemptNo(int(levels[3])), node, found)
    raise PayloadRefused(f"{topic[:80]!r} is of no kind that is known here")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len("999999999")
