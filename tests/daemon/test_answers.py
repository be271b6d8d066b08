"""Which answer belongs to which question, and how long a question waits."""

import asyncio

from supervisor.daemon.answers import Answers
from supervisor.model.ids import NodeName
from supervisor.model.wire import Stopped

_N1, _N2 = NodeName("n1"), NodeName("n2")
_WAIT_S = 30.0


async def test_a_question_ends_with_its_last_answer() -> None:
    """Nobody waits for the deadline once all have answered."""
    answers = Answers()
    answers.expect("a", [_N1, _N2])
    collecting = asyncio.create_task(answers.collect("a", deadline_s=600.0))
    for node in (_N1, _N2):
        await asyncio.sleep(0)
        assert not collecting.done()
        answers.arrived(Stopped(node=node, ask="a"))
    async with asyncio.timeout(_WAIT_S):
        assert set(await collecting) == {_N1, _N2}


async def test_an_answer_before_anybody_waits_is_kept() -> None:
    """Agents may be quicker than the one who asks."""
    answers = Answers()
    answers.expect("a", [_N1])
    answers.arrived(Stopped(node=_N1, ask="a", left=(7,)))
    assert (await answers.collect("a", deadline_s=0.0))[_N1] == Stopped(node=_N1, ask="a", left=(7,))


async def test_at_the_deadline_the_silent_are_missing() -> None:
    """Who did not answer is not in the result; who did, is."""
    answers = Answers()
    answers.expect("a", [_N1, _N2])
    answers.arrived(Stopped(node=_N2, ask="a"))
    assert set(await answers.collect("a", deadline_s=0.01)) == {_N2}


async def test_answers_go_to_their_own_question() -> None:
    """Two questions may be open at once; an answer to one is none to the other."""
    answers = Answers()
    answers.expect("a", [_N1])
    answers.expect("b", [_N1])
    answers.arrived(Stopped(node=_N1, ask="b"))
    assert await answers.collect("a", deadline_s=0.01) == {}
    assert set(await answers.collect("b", deadline_s=0.01)) == {_N1}


async def test_answers_to_nothing_are_dropped() -> None:
    """One that comes after the deadline, or was never asked for, changes nothing."""
    answers = Answers()
    answers.expect("a", [_N1])
    await answers.collect("a", deadline_s=0.01)
    answers.arrived(Stopped(node=_N1, ask="a"))
    answers.expect("a", [_N1])
    assert await answers.collect("a", deadline_s=0.01) == {}


async def test_nobody_waits_for_a_node_that_is_gone() -> None:
    """A last will ends the wait of each question that only this node has left open."""
    answers = Answers()
    for ask in ("a", "b"):
        answers.expect(ask, [_N1, _N2])
        answers.arrived(Stopped(node=_N1, ask=ask))
    answers.give_up(_N2)
    async with asyncio.timeout(_WAIT_S):
        assert set(await answers.collect("a", deadline_s=600.0)) == {_N1}
        assert set(await answers.collect("b", deadline_s=600.0)) == {_N1}


async def test_a_question_to_nobody_has_its_answer() -> None:
    """No node, no wait."""
    answers = Answers()
    answers.expect("a", [])
    async with asyncio.timeout(_WAIT_S):
        assert await answers.collect("a", deadline_s=600.0) == {}


async def test_a_cancelled_question_is_forgotten() -> None:
    """The supervisor goes on to something else: late answers find nothing to hold on to."""
    answers = Answers()
    answers.expect("a", [_N1])
    collecting = asyncio.create_task(answers.collect("a", deadline_s=600.0))
    await asyncio.sleep(0)
    collecting.cancel()
    await asyncio.wait({collecting}, timeout=_WAIT_S)
    answers.arrived(Stopped(node=_N1, ask="a"))
    answers.expect("a", [_N1])
    assert await answers.collect("a", deadline_s=0.0) == {}
