"""`diagnose`: evidence in, verdict out. Pure."""

from collections.abc import Sequence
from typing import Final

from supervisor.diagnose import known
from supervisor.diagnose.blame import blame, fingerprint
from supervisor.diagnose.bundle import Bundle
from supervisor.diagnose.choose import choose
from supervisor.diagnose.findings import Finding, find
from supervisor.diagnose.labels import split_label
from supervisor.diagnose.taxonomy import UNATTRIBUTED, Cause, cause
from supervisor.model.ids import NodeName
from supervisor.model.verdict import Blame, Evidence, Retry, Verdict

_ROOTS: Final = 5
_ECHOES: Final = 5
_CONTEXT: Final = 5
_TEXT_CHARS: Final = 400
_RIVAL: Final = 0.1
"""What another cause that is nearly as sure takes from the confidence."""


def diagnose(bundle: Bundle) -> Verdict:
    """The verdict on this evidence; `unattributed` where it shows no cause."""
    findings = [*known.find(bundle.facts), *find(bundle)]
    root = choose(findings)
    if root is None:
        return _unattributed(findings)
    what = cause(root.cause)
    who = blame(bundle, root, findings)
    return Verdict(
        cls=what.cls,
        cause=what.name,
        confidence=_confidence(root, findings),
        summary=_summary(what, root, who),
        blame=who,
        retry=what.row.retry,
        exclude_nodes=_leaving(what, who),
        fingerprint=fingerprint(root, who, findings),
        evidence=_evidence(root, findings),
    )


def _leaving(what: Cause, who: Blame) -> tuple[NodeName, ...]:
    if not what.row.exclude:
        return ()
    return who.nodes[:1] if what.row.spreads else who.nodes


def _unattributed(findings: Sequence[Finding]) -> Verdict:
    what = cause(UNATTRIBUTED)
    ends = [one for one in findings if one.code or one.signal]
    how = f": {ends[0].text}" if ends else ""
    return Verdict(
        cls=what.cls,
        cause=what.name,
        confidence=0.0,
        summary=f"{what.row.says}{how}",
        blame=Blame(
            nodes=tuple(one.node for one in ends[:1] if one.node),
            ranks=tuple(one.rank for one in ends[:1] if one.rank is not None),
        ),
        retry=Retry.ONCE,
        fingerprint=fingerprint(None, Blame(), findings),
        evidence=_evidence(None, findings),
    )


def _confidence(root: Finding, findings: Sequence[Finding]) -> float:
    rivals = [
        one for one in findings if one.role == "root" and one.cause != root.cause and one.weight > root.weight - _RIVAL
    ]
    return round(max(0.05, root.weight - (_RIVAL if rivals else 0.0)), 2)


def _summary(what: Cause, root: Finding, who: Blame) -> str:
    """`GPU memory ran out on rank 37 (node003): torch.OutOfMemoryError …`."""
    if root.signature == known.NODE_LOST:  # its text says it all
        return root.text
    where = f" at {root.frame}" if root.frame else ""
    return f"{what.row.says}{_place(who)}{where}: {split_label(root.text)[1][:_TEXT_CHARS]}"


def _place(who: Blame) -> str:
    nodes = ", ".join(who.nodes[:3]) + (f" and {len(who.nodes) - 3} more" if len(who.nodes) > 3 else "")  # noqa: PLR2004
    if who.ranks:
        return f" on rank {who.ranks[0]}" + (f" ({who.nodes[0]})" if who.nodes else "")
    return f" on {nodes}" if nodes else ""


def _evidence(root: Finding | None, findings: Sequence[Finding]) -> tuple[Evidence, ...]:
    """The root, what agrees with it or explains it, and the first echo of each kind."""
    roots = [one for one in findings if root and one.role == "root" and one.cause == root.cause and one is not root]
    chosen = ([root] if root else []) + roots[: _ROOTS - 1]
    chosen += _first_of_each(findings, "context", _CONTEXT) + _first_of_each(findings, "echo", _ECHOES)
    unique = list(dict.fromkeys(chosen))
    return tuple(
        Evidence(source=one.source, role=one.role, signature=one.signature, text=one.text[:_TEXT_CHARS])
        for one in unique
    )


def _first_of_each(findings: Sequence[Finding], role: str, most: int) -> list[Finding]:
    first: dict[str, Finding] = {}
    for one in findings:
        if one.role == role:
            first.setdefault(one.signature, one)
    return list(first.values())[:most]
