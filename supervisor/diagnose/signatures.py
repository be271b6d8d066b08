"""Lines that mean something, as data: loaded from `signatures.toml`, checked, compiled."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from supervisor.diagnose.taxonomy import causes
from supervisor.model.base import Fact

Role = Literal["root", "echo", "context"]
Kind = Literal["ranks", "slurm", "kernel", "any"]
"""What a log holds; `any`: everything in one file."""

GROUPS = frozenset({"node", "tasks", "rank", "gpu", "pci", "code", "signal", "file"})


class Signature(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of line."""

    id: str
    role: Role
    literals: tuple[str, ...]
    """A line without any of them is not looked at."""
    pattern: str
    cause: str = ""
    """What the line shows; empty: only how something ended."""
    weight: float = 0.0
    """0 to 1: how sure the cause is from this line alone."""
    signal: int | None = None
    """The signal that the line tells of in words."""
    sources: tuple[Kind, ...] = ()
    """Logs it is looked for in; empty: all."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A signature ready for use."""

    signature: Signature
    pattern: re.Pattern[str]

    def find(self, line: str, kind: Kind) -> re.Match[str] | None:
        """Where the line shows it."""
        sources = self.signature.sources
        if sources and kind not in {"any", *sources}:
            return None
        if not any(literal in line for literal in self.signature.literals):
            return None
        return self.pattern.search(line)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All signatures, and one pattern that tells quickly that a line holds none of their literals."""

    entries: tuple[Compiled, ...]
    prefilter: re.Pattern[str]

    def find(self, line: str, kind: Kind = "any") -> tuple[Signature, re.Match[str]] | None:
        """The first signature that the line shows."""
        if not self.prefilter.search(line):
            return None
        for entry in self.entries:
            if match := entry.find(line, kind):
                return entry.signature, match
        return None


@cache
def catalogue() -> Catalogue:
    """The signatures that come with the product."""
    return parse(files("supervisor.diagnose").joinpath("signatures.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Catalogue:
    """The catalogue from its text. Raises `ValueError` naming the signature that is wrong."""
    signatures = msgspec.convert(tomllib.loads(text), dict[Literal["signature"], tuple[Signature, ...]])["signature"]
    seen: set[str] = set()
    for signature in signatures:
        if signature.id in seen:
            raise ValueError(f"signature {signature.id} stands there twice")
        seen.add(signature.id)
        _check(signature)
    literals = {literal for signature in signatures for literal in signature.literals}
    return Catalogue(
        entries=tuple(Compiled(signature, re.compile(signature.pattern)) for signature in signatures),
        prefilter=re.compile("|".join(re.escape(literal) for literal in sorted(literals))),
    )


def _check(signature: Signature) -> None:
    """Raise `ValueError` for what would never match, or would blame without a cause."""
    name = signature.id
    if not signature.literals or not all(signature.literals):
        raise ValueError(f"signature {name} has no literals: each line would be looked at")
    if signature.cause and signature.cause not in causes():
        raise ValueError(f"signature {name} proves {signature.cause}, which is no cause of the taxonomy")
    if signature.role == "root" and not (signature.cause and 0 < signature.weight <= 1):
        raise ValueError(f"signature {name} is a root and needs a cause and a weight between 0 and 1")
    try:
        unknown = set(re.compile(signature.pattern).groupindex) - GROUPS
    except re.error as exc:
        raise ValueError(f"signature {name} has a pattern that is none: {exc}") from exc
    if unknown:
        raise ValueError(f"signature {name} captures {', '.join(sorted(unknown))}, which nobody reads")
