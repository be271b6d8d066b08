"""Topics: what is built is read back; what cannot stand in one is refused."""

import pytest

from supervisor.bus import topics
from supervisor.errors import PayloadRefused
from supervisor.model.ids import NodeName
from tests.bus.helpers import FIRST, NODE, RUN, beats, check_node, stop_ranks, up


@pytest.mark.parametrize("kind", topics.KINDS)
def test_a_node_topic_is_read_back(kind: topics.Kind) -> None:
    """The parts of a topic come back as they were put in."""
    assert topics.parse_node_topic(topics.node_topic(RUN, FIRST, NODE, kind)) == (RUN, FIRST, NODE, kind)


def test_topics_are_those_of_the_contract() -> None:
    """Topics are spelled as agreed between the processes."""
    assert topics.node_topic(RUN, FIRST, NODE, "beats") == "supervise/1/llama-ab12c/1/node/node001/beats"
    assert (
        topics.command_topic(RUN, FIRST, NODE, stop_ranks()) == "supervise/1/llama-ab12c/1/command/node001/stop_ranks"
    )
    assert topics.command_topic(RUN, FIRST, None, check_node()) == "supervise/1/llama-ab12c/1/command/*/check_node"


@pytest.mark.parametrize("name", ["", "a/b", "a+b", "#", "a\nb", "a\x00", "x" * 300])
def test_a_name_that_would_change_a_topic_is_refused(name: str) -> None:
    """A node's name cannot reach into other topics."""
    with pytest.raises(PayloadRefused):
        topics.node_topic(RUN, FIRST, NodeName(name), "beats")


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "supervise/2/r/1/node/n/beats",
        "supervise/1/r/1/command/n/beats",
        "supervise/1/r/x/node/n/beats",
        "supervise/1/r/1/node/n/secrets",
        "supervise/1/r/1/node/n/beats/more",
        "supervise/1//1/node/n/beats",
        "supervise/1/r/²/node/n/beats",
    ],
)
def test_a_topic_of_no_agent_is_refused(topic: str) -> None:
    """Only exact topics of agents are read."""
    with pytest.raises(PayloadRefused):
        topics.parse_node_topic(topic)


def test_what_counts_each_is_an_event() -> None:
    """Beats and statuses have their own kinds; everything else is an event."""
    assert [topics.kind(beats()), topics.kind(up())] == ["beats", "status"]
