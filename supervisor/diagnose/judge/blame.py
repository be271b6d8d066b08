"""Who is at fault, which nodes must go, and what makes two failures the same."""

import re
from dataclasses import replace
from typing import Final

from supervisor.diagnose.evidence.beats import FIRST, GONE
from supervisor.diagnose.findings import Finding, failures
from supervisor.diagnose.judge.against import place_of, without_chance
from supervisor.diagnose.judge.case import Case, listed
from supervisor.diagnose.judge.choose import family
from supervisor.diagnose.taxonomy import UNATTRIBUTED, cause
from supervisor.model.ids import NodeName, Rank
from supervisor.model.verdict import Blame, Class, GpuRef

_NAME: Final = re.compile(r"[A-Za-z][\w-]{0,62}")
_DEVICES: Final = ("kernel/", "nvml/", "rdma/")
_RANKS: Final = 16
_NODES: Final = 512
_ODD: Final = 0.85
_MANY: Final = 2
"""Of two nodes nobody can say which one is the odd one."""
_TEXT_CHARS: Final = 80
_AS_SURE: Final = 0.25
"""Findings of the same cause that are less sure by more than this blame nobody."""
_WAITED: Final = "nccl_timeout_unattributed"
_SURE_ENOUGH: Final = 0.5
"""Below this confidence no node has to go."""


def blame(case: Case, root: Finding) -> Blame:
    """Nodes, GPUs and ranks of the root first, then of other findings with the same cause."""
    placed = _placed(case, root)
    same = [placed, *(one for one in case.findings if one is not root and _agrees(one, root))]
    nodes: dict[NodeName, None] = {}
    gpus: dict[tuple[NodeName, int], None] = {}
    ranks: dict[Rank, None] = {}
    for one in same:
        node, gpu = case.node_of(one), case.gpu_of(one)
        if one.scope == "peer" and (one.peer or one.role == "root"):  # its writer is the victim
            nodes.update(dict.fromkeys(_accused(case, one)))
            continue
        nodes.update(dict.fromkeys([node] if node else listed(one.names)))
        if node and gpu is not None:
            gpus[node, gpu] = None
        if one.rank is not None:
            ranks[one.rank] = None
    return Blame(
        nodes=tuple(nodes or _only_node(case, root))[:_NODES],
        gpus=tuple(GpuRef(node=node, gpu=gpu) for node, gpu in gpus)[:_RANKS],
        ranks=tuple(ranks)[:_RANKS],
    )


def _accused(case: Case, one: Finding) -> list[NodeName]:
    """Whom a complaint is about: by its peer's name, by the node it captured, or the one other node that it names."""
    if accused := case.accused_by(one):
        return [*accused]
    if one.role == "root" and (one.node or not one.peer):
        return [one.node] if one.node else [*listed(one.names)]
    named = {node for node in _NAME.findall(one.text) if node in case.nodes and node != case.node_of(one)}
    return [NodeName(next(iter(named)))] if len(named) == 1 else []


def leaving(case: Case, root: Finding, who: Blame, confidence: float) -> tuple[NodeName, ...]:
    """The nodes that must go: none for what a node's absence would not cure, none on a mere guess."""
    what = cause(root.cause)
    known = case.nodes
    if root.role == "echo":
        return ()  # whoever complains is mostly the victim, and whom it names may be one, too
    if what.row.odd and root.scope == "own" and len(who.nodes) == 1 and _is_odd(case, root):
        return who.nodes
    if not what.row.exclude or confidence < _SURE_ENOUGH:
        return ()
    if what.cls is Class.SOFTWARE and len(known) > 1 and set(who.nodes) >= known:
        return ()  # all nodes are set up like this: leaving one out changes nothing
    if what.row.spreads and len(who.nodes) > 1 and not root.source.startswith(_DEVICES):
        return ()  # both ends complain, and nobody knows whose link it is
    return who.nodes[:1] if what.row.spreads else who.nodes


def _is_odd(case: Case, root: Finding) -> bool:
    """Other nodes are known to be set up well, or to see what this one does not."""
    if root.cause == "host_oom":
        return any(one.node == root.node for one in case.known("foreign_process")) and root.node is not None
    if root.cause == "shared_fs_outage":
        kernels = {one.log.node for one in case.scanned if one.log.kind == "kernel" and one.log.node}
        silent = {case.node_of(one) for one in case.findings if one.has("silent_storage") and one.node in kernels}
        return len(kernels) > 1 and silent == {root.node}
    heard = {case.node_of(one) for one in case.findings if one.is_line} | {
        case.places[one.log.rank].node for one in case.scanned if one.log.rank in case.places
    }
    return root.weight >= _ODD and len(case.nodes) > _MANY and bool(heard - {case.node_of(root), None})


def fingerprint(case: Case, root: Finding | None, who: Blame) -> str:
    """Equal for two failures of the same kind at the same place: cause, innermost own frame, file; else node or end."""
    if root is None:
        return f"{UNATTRIBUTED}|{_how(case)}"
    if root.frame:
        return f"{root.cause}|{place_of(str(root.frame), case.nodes)}|{_where(case, root)}"
    if cause(root.cause).cls in {Class.HARDWARE, Class.NETWORK}:
        return f"{root.cause}|{','.join(sorted(who.nodes))}"
    if cause(root.cause).cls is Class.PLANNED:
        return root.cause
    return f"{root.cause}|{root.signature}|{_where(case, root) or without_chance(root.text, case.nodes)[:_TEXT_CHARS]}"


def ended_first(case: Case) -> Finding | None:
    """The task that failed by itself, else one that was ended, else the rank that beats show to have stopped first."""
    told = _ends(case)
    named = [one for one in told if one.rank is not None]
    return next(iter([*named, *_gone(case), *told]), None)


def _ends(case: Case) -> list[Finding]:
    """Findings that tell how a task ended: of those that failed by themselves, where there are any."""
    return list(failures(case.findings)) or [one for one in case.findings if one.code or one.signal]


def _gone(case: Case) -> list[Finding]:
    return case.known(GONE) or case.known(FIRST)


def _how(case: Case) -> str:
    """As the log tells it: whether beats have noticed yet is chance."""
    end = next(iter(_ends(case)), None)
    if end is None:
        return "gone" if _gone(case) else ""
    return f"signal {end.signal}" if end.signal else f"exit {end.code}"


def _where(case: Case, root: Finding) -> str:
    """The file, else the step at which data went wrong; empty where neither is told."""
    if root.file:
        return place_of(root.file, case.nodes)
    is_data = cause(root.cause).cls is Class.DATA
    return f"step {root.step}" if is_data and root.step is not None else ""


def _agrees(one: Finding, root: Finding) -> bool:
    """Of the same cause, and as sure. Ranks that waited for the same one agree too, but are no more to blame for it."""
    if one.cause == _WAITED and one.has("timeout"):
        return False
    return one.role == root.role and family(one.cause) == family(root.cause) and one.weight >= root.weight - _AS_SURE


def _placed(case: Case, root: Finding) -> Finding:
    """A root that does not tell its rank is that of the first task that failed by itself, or of a rank that is gone.

    Where the node would have to leave for it, only if its task failed and no other node's; never for a device's fault,
    which may be another node's.
    """
    what = cause(root.cause)
    if root.rank is not None or root.node or root.names or root.scope != "own":
        return root
    if what.cls in {Class.PLANNED, Class.HARDWARE} or what.name == _WAITED:
        return root
    failed = list(failures(case.findings)) or ([] if what.row.exclude else _gone(case))
    if not failed or (what.row.exclude and len({one.node for one in failed}) > 1):
        return root
    return replace(root, rank=failed[0].rank, node=failed[0].node)


def _only_node(case: Case, root: Finding) -> list[NodeName]:
    """The one node that any line names, or whose kernel log was kept: good enough to look at, not to give it up."""
    if cause(root.cause).row.exclude or cause(root.cause).cls is Class.PLANNED:
        return []
    kept = {one.log.node for one in case.scanned if one.log.kind == "kernel" and one.log.node}
    for named in (case.nodes, kept):
        if len(named) == 1:
            return [*named]
    return []
