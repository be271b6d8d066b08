"""Questions to agents and who has answered: pairs commands with their answers by `ask`."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from supervisor.model.ids import NodeName
from supervisor.model.wire import Checked, Stopped

Answer = Checked | Stopped


@dataclass(slots=True)
class _Open:
    missing: set[NodeName]
    got: dict[NodeName, Answer] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Answers:
    """The open questions of this supervisor."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def expect(self, ask: str, nodes: Iterable[NodeName]) -> None:
        """From now on answers to `ask` are kept. Call it before the command is sent."""
        question = _Open(missing=set(nodes))
        if not question.missing:
            question.done.set()
        self._open[ask] = question

    def arrived(self, answer: Answer) -> None:
        """Note an answer; one to a question nobody asked is dropped."""
        question = self._open.get(answer.ask)
        if question is None:
            return
        question.got[answer.node] = answer
        question.missing.discard(answer.node)
        if not question.missing:
            question.done.set()

    def give_up(self, node: NodeName) -> None:
        """The node is gone: no question waits for it any longer."""
        for question in self._open.values():
            question.missing.discard(node)
            if not question.missing:
                question.done.set()

    async def collect(self, ask: str, *, deadline_s: float) -> dict[NodeName, Answer]:
        """The answers that came within the deadline; who is not in it did not answer."""
        question = self._open[ask]
        try:
            async with asyncio.timeout(deadline_s):
                await question.done.wait()
        except TimeoutError:
            pass
        finally:
            del self._open[ask]
        return question.got
