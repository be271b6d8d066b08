"""Pure rules of queues, memories and pauses."""

import asyncio

from supervisor.bus.asks import Ask, OpenAsks, Recent, fingerprint
from supervisor.bus.backoff import Backoff
from supervisor.bus.hub_inbox import HubInbox
from supervisor.bus.mailbox import Mailbox, replaceable
from supervisor.model.ids import Rank
from supervisor.model.wire import Checked, FromAgent, NodeFacts, RankGone, Stopped
from tests.bus.helpers import FIRST, NODE, OTHER, beats, check_node, stop_ranks, up


def _gone(rank: int) -> RankGone:
    return RankGone(node=NODE, at=1.0, attempt=FIRST, rank=Rank(rank), pid=1, step=2)


async def _drained(box: Mailbox[FromAgent]) -> list[FromAgent]:
    box.close()
    found = []
    while (item := await box.take()) is not None:
        found.append(item)
    return found


def _put(box: Mailbox[FromAgent], *messages: FromAgent) -> None:
    for message in messages:
        box.put(message, replaces=replaceable(message))


async def test_a_newer_beat_replaces_an_unread_one_of_the_same_node() -> None:
    """Nobody needs the beat of a second ago; other nodes' beats and all events stay, in order."""
    box: Mailbox[FromAgent] = Mailbox(10)
    _put(box, beats(1), beats(1, node=OTHER), _gone(3), beats(2))
    assert await _drained(box) == [beats(1, node=OTHER), _gone(3), beats(2)]


async def test_a_full_box_drops_beats_before_events() -> None:
    """An event is dropped only where there is no beat left to drop."""
    box: Mailbox[FromAgent] = Mailbox(2)
    _put(box, _gone(0), beats(1), _gone(1), _gone(2))
    assert await _drained(box) == [_gone(1), _gone(2)]
    assert box.dropped == 2


async def test_an_item_that_was_replaced_while_it_was_sent_is_not_lost() -> None:
    """Confirming the old one leaves the new one in the box."""
    box: Mailbox[FromAgent] = Mailbox(2)
    _put(box, beats(1))
    sent = await box.first()
    assert sent is not None
    _put(box, beats(2))
    box.done(sent)
    assert await _drained(box) == [beats(2)]


async def test_closing_lets_the_reader_go() -> None:
    """A reader that waits gets None when nothing more will come."""
    box: Mailbox[FromAgent] = Mailbox(2)
    reader = asyncio.create_task(box.take())
    await asyncio.sleep(0)
    box.close()
    async with asyncio.timeout(5):
        assert await reader is None


def test_a_memory_knows_what_it_saw_and_forgets_the_oldest() -> None:
    """The memory is bounded; within its bounds nothing is new twice."""
    recent = Recent(limit=2)
    assert [recent.is_new(each) for each in "aababca"] == [True, False, True, False, False, True, True]


def test_beats_and_statuses_may_be_repeated_but_answers_not() -> None:
    """Only what counts each has a fingerprint, and an answer's does not depend on its content."""
    assert fingerprint(beats()) is None
    assert fingerprint(up()) is None
    assert fingerprint(Stopped(node=NODE, ask="a")) == fingerprint(Stopped(node=NODE, ask="a", left=(1,)))


def test_a_hub_hears_an_answer_once() -> None:
    """Delivered twice, an answer is passed on once."""
    inbox = HubInbox(lambda: 0.0)
    for _ in range(2):
        inbox.accept(Stopped(node=NODE, ask="a"))
        inbox.accept(_gone(1))
    assert len(inbox._unread) == 2


def test_an_agent_that_comes_back_is_asked_again() -> None:
    """What a node was asked and did not answer is said again when it says that it is up, to it alone."""
    inbox = HubInbox(lambda: 0.0)
    inbox.asked(Ask(NODE, stop_ranks(), FIRST))
    assert inbox.accept(up(OTHER)) == []
    assert inbox.accept(up()) == [Ask(NODE, stop_ranks(), FIRST)]
    inbox.accept(Stopped(node=NODE, ask="ask-1"))
    assert inbox.accept(up()) == []


def test_a_question_to_all_stays_open_for_those_who_did_not_answer() -> None:
    """One node's answer does not close the question for another."""
    asks = OpenAsks(lambda: 0.0)
    asks.note(Ask(None, check_node(), FIRST))
    asks.answered(Checked(node=NODE, ask="ask-2", facts=NodeFacts()))
    assert asks.missed_by(NODE) == []
    assert asks.missed_by(OTHER) == [Ask(None, check_node(), FIRST)]


def test_an_old_question_is_not_asked_again() -> None:
    """Whoever asked half a minute ago has decided without the answer."""
    now = [0.0]
    asks = OpenAsks(lambda: now[0])
    asks.note(Ask(NODE, stop_ranks(), FIRST))
    now[0] = 31.0
    assert asks.missed_by(NODE) == []


def test_pauses_start_short_grow_and_stay_within_five_seconds() -> None:
    """The first retry comes within 0.1 to 0.3 s, none later than 5 s; success starts over."""
    for spread in (0.5, 1.5):
        backoff = Backoff(lambda _low, _high, factor=spread: factor)  # type: ignore[misc] # a lambda has no types
        delays = [backoff.next_delay() for _ in range(12)]
        assert 0.09 < delays[0] < 0.31
        assert delays == sorted(delays)
        assert max(delays) <= 5.0
        backoff.reset()
        assert backoff.next_delay() == delays[0]
