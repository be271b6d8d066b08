"""The tar that agents run from (see `boot.py`): their modules and what these import, and nothing else."""

import os
from pathlib import Path
from typing import Final

from supervisor.errors import RunFolderUnusable
from supervisor.runtime.pack import files_of, own_files, tar_of, with_compiled

_OURS: Final = ("__init__", "errors", "agent", "beat", "bus", "model", "selftest", "telemetry")
_THEIRS: Final = ("aiomqtt", "msgspec", "paho", "pynvml", "typing_extensions")


def build_runtime(path: Path) -> None:
    """Have the tar there. The same installation gives the same bytes. Raises `RunFolderUnusable`.

    Where it lies there already nothing is written: the folder may be full or read-only by now.
    Not compressed: reading it is one stream, and unpacking costs no node more than it must.
    """
    content = tar_of(with_compiled([*own_files(_OURS), *files_of(_THEIRS)]))
    if _is_there(path, content):
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(content)
        fresh.chmod(0o600)
        fresh.replace(path)
    except OSError as error:
        raise RunFolderUnusable(f"{path} cannot be written ({error.strerror}): agents cannot start from it") from error


def _is_there(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
