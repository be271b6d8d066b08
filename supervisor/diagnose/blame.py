"""Who is at fault, and what makes two failures the same."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from supervisor.diagnose.bundle import Bundle
from supervisor.diagnose.findings import Finding, failures
from supervisor.diagnose.taxonomy import UNATTRIBUTED, cause
from supervisor.errors import PayloadRefused
from supervisor.model.ids import NodeName, Rank
from supervisor.model.verdict import Blame, Class, GpuRef
from supervisor.slurm.hostlist import expand

_RANKS: Final = 16
_PER_TASK: Final = 2
"""Twice as many ranks as tasks: a launcher starts several in each."""
_NODES: Final = 512
_TEXT_CHARS: Final = 80


def blame(bundle: Bundle, root: Finding, findings: Sequence[Finding]) -> Blame:
    """Nodes, GPUs and ranks of the root first, then of other findings with the same cause."""
    placed = _placed(root, findings)
    same = [
        placed,
        *(one for one in findings if one.cause == root.cause and one.role == root.role and one is not root),
    ]
    hosts = _hosts(bundle, findings)
    nodes: dict[NodeName, None] = {}
    gpus: dict[tuple[NodeName, int], None] = {}
    ranks: dict[Rank, None] = {}
    for one in same:
        place = bundle.places.get(one.rank) if one.rank is not None else None
        node = one.node or (place and place.node) or (hosts.get(one.rank) if one.rank is not None else None)
        nodes.update(dict.fromkeys([node] if node else _listed(one.names)))
        if node and one.gpu is not None:
            gpus[node, one.gpu] = None
        if one.rank is not None:
            ranks[one.rank] = None
    return Blame(
        nodes=tuple(nodes or _only_node(root, findings))[:_NODES],
        gpus=tuple(GpuRef(node=node, gpu=gpu) for node, gpu in gpus)[:_RANKS],
        ranks=tuple(ranks)[:_RANKS],
    )


def _placed(root: Finding, findings: Sequence[Finding]) -> Finding:
    """A root that does not tell its rank is that of the first task that failed by itself, where there is one.

    Where the node would have to leave for it, only if no other node's task failed.
    """
    what = cause(root.cause)
    if root.rank is not None or root.node or root.names or what.cls is Class.PLANNED:
        return root
    failed = list(failures(findings))
    if not failed or (what.row.exclude and len({one.node for one in failed}) > 1):
        return root
    return replace(root, rank=failed[0].rank, node=failed[0].node)


def _only_node(root: Finding, findings: Sequence[Finding]) -> list[NodeName]:
    """The one node that any line names. Good enough to tell where to look, never to give up a node."""
    named = {one.node for one in findings if one.node}
    return [*named] if len(named) == 1 and not cause(root.cause).row.exclude else []


def fingerprint(root: Finding | None, who: Blame, ends: Sequence[Finding]) -> str:
    """Equal for two failures of the same kind at the same place: cause, innermost own frame, file; else node or end."""
    if root is None:
        end = next((one for one in ends if one.code or one.signal), None)
        how = f"signal {end.signal}" if end and end.signal else f"exit {end.code}" if end else ""
        return f"{UNATTRIBUTED}|{how}"
    if root.frame:
        return f"{root.cause}|{root.frame}|{root.file or ''}"
    if cause(root.cause).cls in {Class.HARDWARE, Class.NETWORK}:
        return f"{root.cause}|{','.join(sorted(who.nodes))}"
    if cause(root.cause).cls is Class.PLANNED:
        return root.cause
    text = re.sub(r"\d+", "#", root.text)[:_TEXT_CHARS]
    return f"{root.cause}|{root.signature}|{root.file or text}"


def _hosts(bundle: Bundle, findings: Sequence[Finding]) -> dict[Rank, NodeName]:
    """Nodes of ranks by what srun says of tasks; empty where a launcher starts several ranks per task."""
    ended = {one.rank: one.node for one in findings if one.signature.startswith("srun_task_") and one.rank is not None}
    ranks = {log.rank for log in bundle.logs if log.rank is not None}
    if ranks and ended and max(ranks) >= _PER_TASK * (max(ended) + 1):
        return {}
    return {rank: node for rank, node in ended.items() if node}


def _listed(names: str) -> tuple[NodeName, ...]:
    try:
        return expand(names, cap=_NODES)
    except PayloadRefused:
        return ()
