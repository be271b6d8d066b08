"""Lines that mean something, as data: `packs/*.toml` and a site's own packs, checked. See docs/signatures.md."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final, Literal

import msgspec

from supervisor.diagnose.taxonomy import causes
from supervisor.model.base import Fact

Role = Literal["root", "echo", "context"]
Scope = Literal["own", "peer", "job"]
Kind = Literal["ranks", "slurm", "kernel", "any"]
"""What a log holds; `any`: everything in one file."""
Mark = Literal[
    "began",
    "evaluating",
    "finished",
    "good",
    "history",
    "loading",
    "no_progress",
    "peer_gone",
    "saved",
    "saving",
    "silent_storage",
    "teardown",
    "timeout",
]

GROUPS: Final = frozenset(
    {"node", "tasks", "rank", "gpu", "pci", "code", "signal", "file", "pid", "peer", "errno", "ms", "step", "number"}
)
_LITERAL_CHARS: Final = 3
"""A shorter literal would send nearly every line to the regular expressions."""


class Signature(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of line."""

    id: str
    role: Role
    literals: tuple[str, ...]
    """A line without any of them is not looked at."""
    pattern: str
    source: str = ""
    """Where the meaning was read: a vendor's document, source code, an issue thread."""
    cause: str = ""
    """What the line shows; empty: only how something ended, or a mark."""
    weight: float = 0.0
    """0 to 1: how sure the cause is from this line alone."""
    scope: Scope = "own"
    """Whose failure the line tells of: the writer's own process, device or node, another's, the whole job."""
    marks: tuple[Mark, ...] = ()
    """What the rules may conclude from the line beside its cause."""
    signal: int | None = None
    """The signal that the line tells of in words."""
    sources: tuple[Kind, ...] = ()
    """Logs it is looked for in; empty: all."""

    def fits(self, kind: Kind) -> bool:
        """The signature is looked for in a log of this kind."""
        return not self.sources or kind == "any" or kind in self.sources


class _Pack(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signature: tuple[Signature, ...] = ()


@cache
def built_in() -> tuple[Signature, ...]:
    """The signatures that come with the product, in the order of the packs' names. Tests check them, not each start."""
    folder = files("supervisor.diagnose").joinpath("packs")
    packs = sorted(
        (one.name, one.read_text(encoding="utf-8")) for one in folder.iterdir() if one.name.endswith(".toml")
    )
    return tuple(one for name, text in packs for one in parse(text, name))


def parse(text: str, name: str = "pack") -> tuple[Signature, ...]:
    """One pack's signatures. Raises `ValueError` with the pack's name for what is no pack."""
    try:
        return msgspec.convert(tomllib.loads(text), _Pack).signature
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as exc:
        raise ValueError(f"{name}: {exc}") from exc


def checked(signatures: Iterable[Signature], taken: frozenset[str] = frozenset()) -> Iterator[Signature]:
    """The same. Raises `ValueError` naming a signature that would never match, or would blame without a cause.

    `taken`: ids of other packs.
    """
    seen: set[str] = set(taken)
    for signature in signatures:
        if signature.id in seen:
            raise ValueError(f"signature {signature.id} stands there twice")
        seen.add(signature.id)
        _check(signature)
        yield signature


def _check(signature: Signature) -> None:
    name = signature.id
    if not signature.literals:
        raise ValueError(f"signature {name} has no literals: each line would be looked at")
    if short := [one for one in signature.literals if len(one) < _LITERAL_CHARS]:
        raise ValueError(f"signature {name} has the literal {short[0]!r}, which is too short to choose lines by")
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
