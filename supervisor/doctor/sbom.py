"""What this installation is made of: our distribution and all that it requires and that is installed here."""

import re
from collections.abc import Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any, Final

from supervisor.doctor.security import Component
from supervisor.version import VERSION

OURS: Final = "slurm-supervise"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LICENCE_CHARS: Final = 60


def components() -> tuple[Component, ...]:
    """By name; ours first. What is required and not installed (an extra) is left out."""
    found: dict[str, Component] = {}
    waiting = [OURS]
    while waiting:
        name = _normal(waiting.pop())
        if name in found:
            continue
        try:
            dist = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = Component(name=name, version=dist.version, licence=_licence(dist))
        required = dist.requires or ()
        # Our own extras count where they are installed; those of others we do not ask for.
        waiting += [_NAME.findall(text)[0] for text in required if name == OURS or "extra ==" not in text]
    return tuple(found[name] for name in sorted(found, key=lambda name: (name != OURS, name)))


def cyclonedx(parts: Sequence[Component]) -> dict[str, Any]:
    """The smallest document that readers of CycloneDX 1.5 take."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": OURS, "version": VERSION}},
        "components": [
            {
                "type": "library",
                "name": part.name,
                "version": part.version,
                "purl": f"pkg:pypi/{part.name}@{part.version}",
                "licenses": [{"license": {"name": part.licence}}],
            }
            for part in parts
            if part.name != OURS
        ],
    }


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _licence(dist: Distribution) -> str:
    """As the distribution says it: an expression, a classifier, or the first line of a text."""
    told = dist.metadata
    classifiers = [text.rpartition(" :: ")[2] for text in told.get_all("Classifier", []) if text.startswith("License")]
    names = [*told.get_all("License-Expression", []), *classifiers, *told.get_all("License", [])]
    first = next((name for name in names if name and name != "UNKNOWN"), "not told")
    return first.splitlines()[0][:_LICENCE_CHARS]
