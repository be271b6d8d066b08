"""Unpickles one flight-recorder dump, with no name allowed in it, in a process of its own with little to lose.

Started as `python -I FILE`: reads the pickle on stdin, writes JSON on stdout. Exit 3: it is no plain dump.
"""

import io
import json
import pickle
import resource
import sys
from typing import Any, NoReturn

_MEMORY_BYTES = 1 << 30
_CPU_S = 20


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
        told = _Inert(io.BytesIO(sys.stdin.buffer.read())).load()
        sys.stdout.write(json.dumps(told, default=str))
    except (Exception, RecursionError) as exc:  # noqa: BLE001 - a hostile pickle may raise anything; the parent is told
        sys.stderr.write(f"{type(exc).__name__}: {str(exc)[:200]}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
