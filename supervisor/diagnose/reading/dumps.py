"""Flight-recorder dumps: small JSON as it is, the rest through a limited child that allows no names."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from supervisor.diagnose.evidence.flight import Dump, parse
from supervisor.diagnose.reading.files import check_regular
from supervisor.errors import PayloadRefused
from supervisor.model.ids import Rank

_FILE_BYTES: Final = 256 << 20
_JSON_BYTES: Final = 4 << 20
"""Larger JSON goes through the child: `[[],[],...` takes twenty times its size in memory."""
_CHILD_S: Final = 30.0
_RANK: Final = re.compile(r"(?<![0-9])([0-9]{1,7})(?:\.(?:json|pickle|pkl))?$")
_LIBRARIES: Final = "LD_LIBRARY_PATH"
"""All that the child keeps of the environment: a Python from a module needs it to start."""


def read_dump(path: Path) -> Dump:
    """One rank's dump. Raises `PayloadRefused` for what is none, `OSError` for what cannot be read."""
    check_regular(path)
    named = _RANK.search(path.name)
    if named is None:
        raise PayloadRefused(f"{path} does not end with a rank's number, as flight-recorder dumps do")
    if path.stat().st_size > _FILE_BYTES:
        raise PayloadRefused(f"{path} is larger than {_FILE_BYTES >> 20} MiB")
    with path.open("rb") as file:
        data = file.read(_FILE_BYTES)
    is_plain = data[:64].lstrip()[:1] == b"{" and len(data) <= _JSON_BYTES
    text = data if is_plain else _condensed(path, data)
    try:
        told = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as exc:
        raise PayloadRefused(f"{path} is no flight-recorder dump: {exc}") from exc
    return parse(told, Rank(int(named[1])), f"{path.parent.name}/{path.name}")


def _condensed(path: Path, data: bytes) -> bytes:
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("dump_child.py"))]
    env = {_LIBRARIES: os.environ[_LIBRARIES]} if _LIBRARIES in os.environ else {}
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=_CHILD_S, check=False, env=env)
    except subprocess.TimeoutExpired as exc:
        raise PayloadRefused(f"{path} cannot be read within {_CHILD_S:g} s") from exc
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()[-300:] or f"the reader ended with {done.returncode}"
        raise PayloadRefused(f"{path} is no flight-recorder dump: {why}")
    return done.stdout
