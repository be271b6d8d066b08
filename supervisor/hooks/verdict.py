"""From rules that fired to one record. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from supervisor.hooks.job import Job, clean
from supervisor.hooks.kernel_signs import KernelSign
from supervisor.hooks.reading import Reading
from supervisor.hooks.settings import HookSettings
from supervisor.model.node import SCHEMA, Hook, Level, NodeFinding, NodeRecord, SeenXid, Told
from supervisor.telemetry.gpu.state import NodeGpus

LEVELS: Final[tuple[Level, ...]] = ("ok", "watch", "suspect", "fatal")
_MOST_FINDINGS: Final = 64
_TEXT_CHARS: Final = 200


def rank(level: Level) -> int:
    """How bad, as a number."""
    return LEVELS.index(level)


def worst_first(findings: Iterable[NodeFinding], settings: HookSettings) -> tuple[NodeFinding, ...]:
    """Each rule and GPU once, at its worst, without those that the site ignores; texts cleaned, number bounded."""
    found: dict[tuple[str, str], NodeFinding] = {}
    for each in findings:
        key = (each.rule, each.gpu)
        if each.rule not in settings.ignore and (key not in found or rank(each.level) > rank(found[key].level)):
            found[key] = each
    ordered = sorted(found.values(), key=lambda each: (-rank(each.level), each.rule, each.gpu))
    return tuple(
        NodeFinding(
            level=each.level,
            rule=each.rule,
            cause=each.cause,
            gpu=clean(each.gpu),
            text=clean(each.text, _TEXT_CHARS),
        )
        for each in ordered[:_MOST_FINDINGS]
    )


def of_signs(signs: Iterable[KernelSign], gpus: NodeGpus | None) -> Iterator[NodeFinding]:
    """Signs in the kernel log as rules; a GPU by its UUID where its address is known."""
    for sign in signs:
        times = f", {sign.count} times" if sign.count > 1 else ""
        yield NodeFinding(
            level=sign.level,
            rule=sign.rule,
            cause=sign.cause,
            gpu=_uuid_at(sign.pci, gpus),
            text=f"{sign.text}{times}{f', PCI {sign.pci}' if sign.pci else ''}",
        )


def xids(signs: Iterable[KernelSign], gpus: NodeGpus | None) -> tuple[SeenXid, ...]:
    """The driver's messages among them."""
    return tuple(
        SeenXid(xid=sign.xid, pci=sign.pci, gpu=_uuid_at(sign.pci, gpus), count=sign.count)
        for sign in signs
        if sign.xid is not None
    )


def _uuid_at(pci: str, gpus: NodeGpus | None) -> str:
    """`0000:3b:00` and `00000000:3B:00.0` are the same place."""
    wanted = _place(pci)
    known = gpus.gpus.values() if gpus and wanted else ()
    return next((gpu.uuid for gpu in known if _place(gpu.pci) == wanted), "")


def _place(pci: str) -> tuple[int, ...]:
    try:
        return tuple(int(part, 16) for part in pci.partition(".")[0].split(":"))
    except ValueError:
        return ()


def of_told(told: Iterable[Told]) -> Iterator[NodeFinding]:
    """Another check's failure: worth knowing, and that check's own to act on."""
    for each in told:
        if each.is_failure:
            yield NodeFinding(level="watch", rule=f"{each.by}_failed", text=each.text)


def of_silence(reading: Reading) -> Iterator[NodeFinding]:
    """What hung, or took its process along. A reading that failed at once is on record, and no rule's."""
    for text in reading.unread:
        is_gpus = text.startswith("gpus:")
        if "no answer within" in text:
            rule = "nvml_hangs" if is_gpus else "reading_hangs"
        elif is_gpus and "died without" in text:
            rule = "nvml_crashed"
        else:
            continue
        level: Level = "suspect" if is_gpus else "watch"
        yield NodeFinding(level=level, rule=rule, cause="gpu_unknown_failure" if is_gpus else "", text=text)


def record(
    hook: Hook, job: Job, reading: Reading, findings: tuple[NodeFinding, ...], *, took_ms: int, **more: Any
) -> NodeRecord:
    """The line to write; `more` is what this hook alone knows."""
    worst = findings[0] if findings else None
    return NodeRecord(
        schema=SCHEMA,
        at=round(reading.at, 3),
        hook=hook,
        node=job.node,
        level=worst.level if worst else "ok",
        rule=worst.rule if worst else "",
        gpu=worst.gpu if worst else "",
        job=job.job_id,
        uid=job.uid,
        findings=findings,
        told=reading.told,
        unread=reading.unread,
        took_ms=took_ms,
        **more,
    )
