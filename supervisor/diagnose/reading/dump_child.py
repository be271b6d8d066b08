"""Reads one flight-recorder dump, with no name allowed in it, in a process of its own with little to lose.

Started as `python -I FILE`: takes a pickle or JSON on stdin, writes what counts of it as JSON on stdout. Exit 3: it is
no plain dump.
"""

import io
import json
import pickle
import resource
import sys
from typing import Any, NoReturn

_MEMORY_BYTES = 1 << 30
_CPU_S = 20
_OUTPUT_BYTES = 16 << 20
_VALUES = 3_000_000
"""Values and, by the hundred, characters of a dump at most: a few bytes can stand for very many by references."""
_ENTRIES = 20_000
_KEPT = (
    "pg_id",
    "process_group",
    "collective_seq_id",
    "is_p2p",
    "profiling_name",
    "input_sizes",
    "input_dtypes",
    "state",
    "retired",
)


class _Inert(pickle.Unpickler):
    """Containers, strings and numbers only: real dumps use nothing else."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"the dump asks for {module}.{name}: it is no flight-recorder dump")

    def persistent_load(self, pid: Any) -> NoReturn:  # whatever the file claims
        raise pickle.UnpicklingError(f"the dump refers to {str(pid)[:40]!r}: it is no flight-recorder dump")


def main() -> int:
    """Exit code for the parent."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    try:
        text = read(sys.stdin.buffer.read())
    except (Exception, RecursionError) as exc:  # noqa: BLE001 - a hostile pickle may raise anything; the parent is told
        sys.stderr.write(f"{type(exc).__name__}: {str(exc)[:200]}\n")
        return 3
    if len(text) > _OUTPUT_BYTES:
        sys.stderr.write(f"it is too large: {len(text) >> 20} MiB of collectives\n")
        return 3
    sys.stdout.write(text)
    return 0


def read(data: bytes) -> str:
    """What counts of the dump, as JSON. Raises whatever a broken or hostile one makes its readers raise."""
    is_json = data[:64].lstrip()[:1] == b"{"
    told = json.loads(data) if is_json else _Inert(io.BytesIO(data)).load()
    kept = _condensed(told)
    _check_size(kept)
    return json.dumps(kept, default=str)


def _condensed(told: Any) -> "dict[str, Any]":  # whatever the file holds
    """What is looked at of the dump: the newest collectives with their innermost frames."""
    if not isinstance(told, dict):
        raise pickle.UnpicklingError("the dump is no dictionary")
    entries = told.get("entries")
    return {
        **{name: told.get(name) for name in ("version", "pg_config", "pg_status")},
        "entries": [_entry(one) for one in entries[-_ENTRIES:] if isinstance(one, dict)]
        if isinstance(entries, list)
        else [],
    }


def _check_size(told: Any) -> None:
    """Raises where the dump, written out, would be far larger than any real one; also where it holds itself."""
    count, ahead = 0, [told]
    while ahead:
        one = ahead.pop()
        count += 1 + len(one) // 100 if isinstance(one, str | bytes | bytearray) else 1
        if count > _VALUES:
            raise pickle.UnpicklingError("the dump is larger than any real one")
        if isinstance(one, dict):
            ahead += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            ahead += one


def _entry(told: "dict[str, Any]") -> "dict[str, Any]":
    frames = told.get("frames")
    own = [one for one in frames if isinstance(one, dict)] if isinstance(frames, list) else []
    outside = [one for one in own if "-packages/torch/" not in str(one.get("filename"))]
    return {
        **{name: told[name] for name in _KEPT if name in told},
        "frames": outside[:1],
    }


if __name__ == "__main__":
    sys.exit(main())
