"""Nodes, checkpoints and verdicts that the stories are told with."""

from supervisor.model.facts import Checkpoint, Choice
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Blame, Class, Retry, Verdict


def node(number: int) -> NodeName:
    return NodeName(f"node{number:03d}")


def nodes(*numbers: int) -> tuple[NodeName, ...]:
    return tuple(node(number) for number in numbers)


def whole(step: int) -> Choice:
    return Choice(chosen=Checkpoint(path=f"/ck/{step}", step=step, kind="folder", verdict="whole"))


NONE_YET = Choice(chosen=None, why="the folder is empty")
NO_ANSWER = Choice(chosen=None, is_trustworthy=False, why="the store gives no answer")


def crash(*, retry: Retry = Retry.ONCE, fingerprint: str = "segfault:train") -> Verdict:
    return Verdict(
        cls=Class.SOFTWARE,
        cause="segfault",
        confidence=0.8,
        summary="rank 3 crashed",
        retry=retry,
        fingerprint=fingerprint,
    )


def unreachable(*lost: NodeName) -> Verdict:
    return Verdict(
        cls=Class.HARDWARE,
        cause="node_unreachable",
        confidence=0.95,
        summary=f"{', '.join(lost)} no longer answers",
        blame=Blame(nodes=lost),
        retry=Retry.YES,
        exclude_nodes=lost,
        fingerprint="node_unreachable",
    )
