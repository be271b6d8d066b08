"""`diagnose`: evidence in, verdict out. Pure but for the logs, which it reads piece by piece."""

from collections.abc import Sequence
from typing import Final

from supervisor.diagnose import changed
from supervisor.diagnose.bundle import Bundle
from supervisor.diagnose.evidence import states
from supervisor.diagnose.evidence.beats import NAMING
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.against import leave_out
from supervisor.diagnose.judge.blame import blame, ended_first, fingerprint, leaving
from supervisor.diagnose.judge.case import Case, build
from supervisor.diagnose.judge.choose import choose, family
from supervisor.diagnose.judge.confidence import confidence
from supervisor.diagnose.judge.rules.apply import apply_rules
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.diagnose.scan.labels import split_label
from supervisor.diagnose.taxonomy import UNATTRIBUTED, Cause, cause
from supervisor.model.verdict import Blame, Class, Evidence, Retry, Verdict

_ROOTS: Final = 5
_ECHOES: Final = 5
_CONTEXT: Final = 5
_TEXT_CHARS: Final = 400


def diagnose(bundle: Bundle, catalogue: Catalogue | None = None, against: Bundle | None = None) -> Verdict:
    """The verdict on this evidence; `unattributed` where it shows no cause. Raises `OSError` for an unreadable log.

    `against`: logs of a good run. What they say too is no evidence.
    """
    case = build(bundle, catalogue)
    if against is not None:
        leave_out(case, build(against, catalogue))
    apply_rules(case)
    return judge(case)


def judge(case: Case) -> Verdict:
    """The verdict on findings that the rules have gone over."""
    root = choose(case)
    if root is None:
        return _unattributed(case)
    what = cause(root.cause)
    who = blame(case, root)
    sure = confidence(case, root)
    gone = leaving(case, root, who, sure)
    return Verdict(
        cls=what.cls,
        cause=what.name,
        confidence=sure,
        summary=_standstill(case, root) if root.signature == states.HUNG else _summary(what, root, who),
        blame=who,
        retry=Retry.YES if gone and what.row.odd else what.row.retry,
        skip=_skip(root) if what.row.retry is Retry.SKIP else "",
        exclude_nodes=gone,
        fingerprint=fingerprint(case, root, who),
        evidence=_evidence(root, case.findings),
        echoes=sum(one.count for one in case.findings if one.role == "echo"),
        unread=_unread(case),
        changed=changed.told(case.bundle.environment) if what.cls is Class.SOFTWARE else None,
    )


def _skip(root: Finding) -> str:
    """What a rerun would have to leave out, as the program named it itself."""
    if root.file and not root.file.endswith(".py"):
        return root.file
    return f"step {root.step}" if root.step is not None else ""


def _unattributed(case: Case) -> Verdict:
    what = cause(UNATTRIBUTED)
    end = ended_first(case)
    how = f": {end.text}" if end else ""
    return Verdict(
        cls=what.cls,
        cause=what.name,
        confidence=0.0,
        summary=f"{what.row.says}{how}",
        blame=Blame(
            nodes=(end.node,) if end and end.node else (),
            ranks=(end.rank,) if end and end.rank is not None else (),
        ),
        retry=Retry.ONCE,
        fingerprint=fingerprint(case, None, Blame()),
        evidence=_evidence(None, case.findings),
        unread=_unread(case),
    )


def _unread(case: Case) -> tuple[str, ...]:
    """What could not be read, or not to its end."""
    damaged = (f"{one.log.name}: {one.log.damage}" for one in case.scanned if one.log.damage)
    return (*case.bundle.unread, *damaged)


def _summary(what: Cause, root: Finding, who: Blame) -> str:
    """`GPU memory ran out on rank 37 (node003): torch.OutOfMemoryError …`."""
    if root.signature == states.NODE_LOST:  # its text says it all
        return root.text
    where = f" at {root.frame}" if root.frame else ""
    return f"{what.row.says}{_place(who)}{where}: {split_label(root.text)[1][:_TEXT_CHARS]}"


def _standstill(case: Case, root: Finding) -> str:
    """`all ranks live and none has moved for 9 s: rank 3 on node002 is stopped (SIGSTOP)`."""
    named = [one.text for one in case.known(*NAMING) if one.role == "root"]
    return f"{root.text}{': ' + named[0] if named else ''}"


def _place(who: Blame) -> str:
    nodes = ", ".join(who.nodes[:3]) + (f" and {len(who.nodes) - 3} more" if len(who.nodes) > 3 else "")  # noqa: PLR2004
    if who.ranks:
        return f" on rank {who.ranks[0]}" + (f" ({who.nodes[0]})" if who.nodes else "")
    return f" on {nodes}" if nodes else ""


def _evidence(root: Finding | None, findings: Sequence[Finding]) -> tuple[Evidence, ...]:
    """The root, what agrees with it or explains it, and the first echo of each kind."""
    same = [one for one in findings if root and one.role == "root" and family(one.cause) == family(root.cause)]
    chosen = ([root] if root else []) + [one for one in same if one is not root][: _ROOTS - 1]
    chosen += _first_of_each(findings, "context", _CONTEXT) + _first_of_each(findings, "echo", _ECHOES)
    return tuple(
        Evidence(
            source=one.source,
            role="root" if one is root else one.role,
            signature=one.signature,
            text=one.text[:_TEXT_CHARS],
            at=one.time,
        )
        for one in dict.fromkeys(chosen)
    )


def _first_of_each(findings: Sequence[Finding], role: str, most: int) -> list[Finding]:
    first: dict[str, Finding] = {}
    for one in findings:
        if one.role == role:
            first.setdefault(one.signature, one)
    return list(first.values())[:most]
