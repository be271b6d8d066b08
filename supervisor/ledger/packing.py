"""An older incident's bundle as one file: nothing of its evidence is lost, and a run folder has few files."""

from pathlib import Path
from typing import Final

import msgspec

from supervisor.ledger.whole_file import replace_file

PACKED: Final = "bundle.json"
"""An object: name of each part and its text. `supervise diagnose` reads it as it reads the parts."""


def pack(folder: Path, names: tuple[str, ...]) -> None:
    """Put these files of the folder into `bundle.json`, on disk before the first of them goes. Raises `OSError`.

    What is in one already stays: a supervisor was killed while the parts went.
    """
    parts = _packed(folder / PACKED)
    parts |= {name: (folder / name).read_bytes().decode(errors="replace") for name in names}
    replace_file(folder / PACKED, msgspec.json.encode(parts))
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _packed(path: Path) -> dict[str, str]:
    """What was packed before; nothing where that cannot be read as a bundle."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}
