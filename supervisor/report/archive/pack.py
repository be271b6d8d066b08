"""Many files as one archive that is the same each time: sorted, without times, owners or links. Pure."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from typing import Final

from supervisor.errors import UsageError

FOLDER: Final = "supervise-evidence"
MANIFEST: Final = "MANIFEST"
"""One line for each other file, as `sha256sum -c` reads them."""
LARGEST_BYTES: Final = 64 << 20
_MODE: Final = 0o600


def pack(files: Mapping[str, bytes]) -> bytes:
    """A tar.gz of these files and their MANIFEST. Raises `UsageError` where they are too large together."""
    size = sum(map(len, files.values()))
    if size > LARGEST_BYTES:
        raise UsageError(
            f"the evidence is {size >> 20} MiB, more than {LARGEST_BYTES >> 20} MiB; ask for less time with --since"
        )
    whole = {**files, MANIFEST: _manifest(files)}
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(whole):
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.size, member.mode, member.mtime = len(whole[name]), _MODE, 0
            tar.addfile(member, io.BytesIO(whole[name]))
    return gzip.compress(plain.getvalue(), mtime=0)


def _manifest(files: Mapping[str, bytes]) -> bytes:
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines).encode()
