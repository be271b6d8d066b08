"""A site's own signatures: packs in a folder, checked and compiled before the first line is read."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.diagnose.scan.linear import compile_linear
from supervisor.diagnose.scan.one_log import reading_catalogue
from supervisor.diagnose.signatures import Signature, built_in, checked, parse
from supervisor.errors import UsageError

SITE_FOLDER: Final = Path("/etc/supervise/packs.d")


def site_catalogue(folder: Path | None = None) -> Catalogue:
    """The product's signatures and those of this folder, of SUPERVISE_PACKS or of /etc/supervise/packs.d.

    Raises `UsageError` naming pack and signature that are wrong; a folder that was named must be there.
    """
    named = folder or (Path(os.environ["SUPERVISE_PACKS"]) if os.environ.get("SUPERVISE_PACKS") else None)
    if named is not None and not named.is_dir():
        raise UsageError(f"{named} is no folder of packs (*.toml); see docs/signatures.md")
    signatures = tuple(_read(named or SITE_FOLDER))
    try:
        tuple(checked(signatures, taken=frozenset(one.id for one in built_in())))
    except ValueError as exc:
        raise UsageError(f"{named or SITE_FOLDER}: {exc}") from exc
    for signature in signatures:
        compile_linear(signature)
    return reading_catalogue(signatures)


def _read(folder: Path) -> Iterator[Signature]:
    for path in sorted(folder.glob("*.toml")):
        try:
            yield from parse(path.read_text(encoding="utf-8"), str(path))
        except (OSError, ValueError) as exc:
            raise UsageError(str(exc)) from exc
