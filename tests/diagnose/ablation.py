"""Incidents seen with less: the engine's answers while some signatures are off, as to unknown failures."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from supervisor.diagnose.bundle import Bundle
from supervisor.diagnose.engine import judge
from supervisor.diagnose.judge.case import build
from supervisor.diagnose.judge.rules.apply import apply_rules
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.diagnose.scan.one_log import reading_catalogue
from supervisor.diagnose.signatures import Kind, built_in
from supervisor.model.verdict import Verdict
from tests.diagnose.corpus import Incident, incidents

_PARTS: Final = 4


@dataclass(slots=True)
class _Partial(Catalogue):
    """A catalogue of which some signatures are off."""

    off: frozenset[str] = field(default=frozenset())

    def search(self, index: int, text: str, kind: Kind) -> re.Match[str] | None:
        """None also where the signature is off."""
        is_off = index < len(self.signatures) and self.signatures[index].id in self.off
        return None if is_off else Catalogue.search(self, index, text, kind)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine said of an incident with less."""

    incident: Incident
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        """The class is."""
        return self.verdict.cls in self.incident.accepted


def answers(folder: Path) -> Iterator[Answer]:
    """Of each incident in view: without what decided it, without the next one too, without each quarter of all."""
    whole = reading_catalogue()
    catalogue = _Partial(whole.signatures, triggers=whole.triggers, place=whole.place)
    quarters = _quarters()
    for incident in incidents("tuned"):
        bundle = read_bundle(incident.write(folder / incident.name))
        deciding: frozenset[str] = frozenset()
        for _ in range(2):
            deciding |= _deciding(_seen(bundle, catalogue, deciding))
            yield Answer(incident, _seen(bundle, catalogue, deciding))
        for part in quarters:
            yield Answer(incident, _seen(bundle, catalogue, part))


def _seen(bundle: Bundle, catalogue: _Partial, off: frozenset[str]) -> Verdict:
    catalogue.off = off
    catalogue._memories.clear()  # what lines meant with others off
    case = build(bundle, catalogue)
    case.findings = [one for one in case.findings if one.signature not in off]
    apply_rules(case)
    return judge(case)


def _deciding(verdict: Verdict) -> frozenset[str]:
    return frozenset(one.signature for one in verdict.evidence[:1] if one.role == "root")


def _quarters() -> list[frozenset[str]]:
    """By chance, but always the same."""
    names = [one.id for one in built_in()]
    return [frozenset(one for one in names if zlib.crc32(one.encode()) % _PARTS == part) for part in range(_PARTS)]
