"""When an agent takes the run over: never with fewer than the three signs, never out of turn."""

from hypothesis import given
from hypothesis import strategies as st

from supervisor.agent.takeover import Signs, decide, is_counting, is_late, is_majority, turn_s
from supervisor.model.ids import NodeName

LEASE = 30.0
NODES = tuple(NodeName(f"n{number}") for number in range(1, 8))
HOST, FIRST, SECOND = NODES[:3]


def _signs(silent_s: float, *votes: NodeName, here: NodeName = FIRST, is_clean: bool = True, voters: int = 6) -> Signs:
    return Signs(
        here=here, batch_host=HOST, nodes=NODES, silent_s=silent_s, is_clean=is_clean, votes=votes, voters=voters
    )


def test_with_all_three_signs_the_first_agent_takes_over() -> None:
    """Two leases of silence, and four of six agents say the same."""
    assert decide(_signs(60.0, *NODES[1:5]), lease_s=LEASE) == "take_over"


def test_less_than_two_leases_is_nothing_yet() -> None:
    """However many have voted."""
    assert decide(_signs(59.9, *NODES[1:]), lease_s=LEASE) == "watch"


def test_half_of_the_agents_is_no_majority() -> None:
    """Half of the nodes cut off from the other half: neither half may act, on either side."""
    assert decide(_signs(60.0, *NODES[1:4]), lease_s=LEASE) == "vote"


def test_without_a_majority_only_slurms_word_helps() -> None:
    """It is asked for two leases later."""
    assert decide(_signs(119.0, FIRST), lease_s=LEASE) == "vote"
    assert decide(_signs(120.0, FIRST), lease_s=LEASE) == "ask_slurm"


def test_a_node_whose_ranks_live_has_no_say() -> None:
    """A rank that cannot be killed would live beside the successor's."""
    assert decide(_signs(600.0, *NODES[1:], is_clean=False), lease_s=LEASE) == "watch"


def test_the_batch_host_never_takes_over_from_itself() -> None:
    """Its agent hears nobody because of its own machine."""
    assert decide(_signs(1e6, *NODES, here=HOST), lease_s=LEASE) == "watch"


def test_one_agent_alone_is_a_majority_of_one() -> None:
    """A job on two nodes."""
    assert decide(_signs(60.0, FIRST, voters=1), lease_s=LEASE) == "take_over"


def test_an_unknown_number_of_agents_has_no_majority() -> None:
    """A term that an older version wrote does not say it."""
    assert decide(_signs(60.0, *NODES[1:], voters=0), lease_s=LEASE) == "vote"


def test_the_next_agent_waits_for_its_turn() -> None:
    """So that one is at work already, and its claim seen, before the next one reads anything."""
    assert decide(_signs(60.0, *NODES[1:], here=SECOND), lease_s=LEASE) == "vote"
    assert not is_counting(_signs(60.0, here=SECOND), lease_s=LEASE)
    assert decide(_signs(62.0, *NODES[1:], here=SECOND), lease_s=LEASE) == "take_over"


def test_votes_of_the_batch_host_and_of_strangers_count_for_nothing() -> None:
    """Files lie in a folder that the run's owner can write to."""
    assert not is_majority(_signs(60.0, HOST, FIRST, NodeName("x1"), NodeName("x2"), NodeName("x3")))


def test_after_ten_minutes_a_claimed_takeover_is_late() -> None:
    """Its claimant has died; with a majority and without a claim it is still a takeover."""
    assert not is_late(_signs(599.0), lease_s=LEASE)
    assert is_late(_signs(600.0), lease_s=LEASE)
    assert decide(_signs(6000.0, *NODES[1:]), lease_s=LEASE) == "take_over"


@given(
    silent_s=st.floats(0, 2000),
    lease_s=st.floats(1, 300),
    votes=st.sets(st.sampled_from(NODES)),
    here=st.sampled_from(NODES),
    voters=st.integers(0, 6),
    is_clean=st.booleans(),
)
def test_nobody_acts_with_fewer_than_the_signs(
    *, silent_s: float, lease_s: float, votes: set[NodeName], here: NodeName, voters: int, is_clean: bool
) -> None:
    """Whatever the facts: a takeover has two leases of silence, a clean node and a majority behind it."""
    signs = Signs(
        here=here, batch_host=HOST, nodes=NODES, silent_s=silent_s, is_clean=is_clean, votes=votes, voters=voters
    )
    step = decide(signs, lease_s=lease_s)
    if step != "watch":
        assert here != HOST
        assert is_clean
        assert silent_s >= 2 * lease_s
    if step == "take_over":
        assert 2 * len(votes - {HOST}) > voters > 0
        assert silent_s >= 2 * lease_s + turn_s(signs)


@given(halves=st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_split_gives_one_side_the_say_at_most(halves: list[bool]) -> None:
    """However the agents are divided, two majorities cannot be."""
    one = [node for node, side in zip(NODES[1:], halves, strict=True) if side]
    other = [node for node, side in zip(NODES[1:], halves, strict=True) if not side]
    assert not (is_majority(_signs(60.0, *one)) and is_majority(_signs(60.0, *other)))
