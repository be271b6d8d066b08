"""Pure: what the nodes' answers say about which of them may take part in the next launch."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from supervisor.model.ids import NodeName
from supervisor.model.wire import Checked

CLOCK_TOLERANCE_S: Final = 5.0
"""Certificates, rendezvous time-outs and the order of log lines bear less than this."""
SHM_LEAST_BYTES: Final = 64 << 20
"""What a container gives when nobody asks; data loaders and NCCL need more."""

Answers = Mapping[NodeName, Checked]
Finding = tuple[NodeName, str]


class Judgement(NamedTuple):
    """Every node asked is in exactly one of the three, in the order asked."""

    good: tuple[NodeName, ...]
    bad: dict[NodeName, str]
    """What is wrong with it, in words with values."""
    silent: tuple[NodeName, ...]
    """No answer: unknown, neither healthy nor broken."""


def judge(answers: Answers, asked: Sequence[NodeName]) -> Judgement:
    """Sort the nodes asked, in their order, into good, bad and silent.

    What a node lacks by its own account or although others have it is blamed on it, unless all lack it: then the
    question was wrong. What merely differs is blamed on a strict minority: where nodes are split without a majority,
    nobody is. Of two nodes that cannot reach each other, the one is blamed that fails with more of the others.
    """
    heard = {node: answers[node] for node in asked if node in answers}
    words: dict[NodeName, list[str]] = {}
    for find in _FINDERS:
        for node, text in find(heard):
            words.setdefault(node, []).append(text)
    return Judgement(
        good=tuple(node for node in heard if node not in words),
        bad={node: "; ".join(words[node]) for node in heard if node in words},
        silent=tuple(node for node in asked if node not in heard),
    )


def _short_of_devices(heard: Answers) -> Iterator[Finding]:
    lacking = {
        node: f"{facts.gpu_count} devices of {facts.expected_gpu_count}"
        for node, facts in ((node, answer.facts) for node, answer in heard.items())
        if facts.gpu_count is not None
        and facts.expected_gpu_count is not None
        and facts.gpu_count < facts.expected_gpu_count
    }
    yield from _unless_all(lacking, heard)


def _short_of_shm(heard: Answers) -> Iterator[Finding]:
    lacking = {
        node: f"/dev/shm has {free >> 20} MB free, {SHM_LEAST_BYTES >> 20} MB are needed"  # noqa: S108 - a sentence
        for node, answer in heard.items()
        if (free := answer.facts.shm_free_bytes) is not None and free < SHM_LEAST_BYTES
    }
    yield from _unless_all(lacking, heard)


def _folders_missing(heard: Answers) -> Iterator[Finding]:
    for folder in dict.fromkeys(folder for answer in heard.values() for folder in answer.facts.mounts_missing):
        lacking = {
            node: f"{folder} is missing or does not answer"
            for node, answer in heard.items()
            if folder in answer.facts.mounts_missing
        }
        yield from _unless_all(lacking, heard)


def _driver_differs(heard: Answers) -> Iterator[Finding]:
    versions = {node: answer.facts.driver_version or "none" for node, answer in heard.items()}
    usual, count = Counter(versions.values()).most_common(1)[0] if versions else ("", 0)
    if 2 * count <= len(versions):
        return
    for node, version in versions.items():
        if version != usual:
            yield node, f"driver {version}, {count} of {len(versions)} nodes have {usual}"


def _clock_off(heard: Answers) -> Iterator[Finding]:
    clocks = {node: at for node, answer in heard.items() if (at := answer.facts.clock_s) is not None}
    if not clocks:
        return
    middle = statistics.median(clocks.values())
    off = {
        node: f"clock is {at - middle:+.1f} s off the nodes' median"
        for node, at in clocks.items()
        if abs(at - middle) > CLOCK_TOLERANCE_S
    }
    yield from _if_few(off, clocks)


def _peers_unreachable(heard: Answers) -> Iterator[Finding]:
    nodes_at = {answer.address: node for node, answer in heard.items() if answer.address}
    partners: dict[NodeName, set[NodeName]] = {}
    for node, answer in heard.items():
        # A peer that gave no answer itself is silent, which is worse; its neighbours are not to be blamed for it.
        for other in (nodes_at[peer] for peer in answer.unreachable_peers if peer in nodes_at):
            partners.setdefault(node, set()).add(other)
            partners.setdefault(other, set()).add(node)
    for node in heard:
        failed = partners.get(node, set())
        # One broken path has two ends and blames neither.
        if len(failed) > max((len(partners[other]) for other in failed), default=0):
            yield node, f"no connection with {', '.join(sorted(failed))}"


def _unless_all(lacking: Mapping[NodeName, str], heard: Answers) -> Iterator[Finding]:
    """One node alone may lack something; when several do and no other has it, the question was wrong."""
    if len(lacking) < len(heard) or len(heard) == 1:
        yield from lacking.items()


def _if_few(differing: Mapping[NodeName, str], among: Mapping[NodeName, object]) -> Iterator[Finding]:
    if 2 * len(differing) < len(among):
        yield from differing.items()


_FINDERS: Final[tuple[Callable[[Answers], Iterator[Finding]], ...]] = (
    _short_of_devices,
    _driver_differs,
    _folders_missing,
    _clock_off,
    _short_of_shm,
    _peers_unreachable,
)
