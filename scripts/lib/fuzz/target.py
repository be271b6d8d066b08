"""What is fuzzed, run by the fuzzer's own Python: target.py TARGET CORPUS|INPUT [options of libFuzzer]."""

import json
import pickle
import resource
import sys
from collections.abc import Callable, Iterator

import atheris  # type: ignore[import-untyped]  # installed only where the fuzzer runs

with atheris.instrument_imports(include=["supervisor"]):
    from supervisor.diagnose.bundle import Bundle, Log
    from supervisor.diagnose.engine import diagnose
    from supervisor.diagnose.evidence.flight import parse
    from supervisor.diagnose.evidence.hang import find
    from supervisor.diagnose.reading.dump_child import read
    from supervisor.diagnose.scan.one_log import Scanned, scan_log
    from supervisor.model.ids import Rank

_MEMORY_BYTES = 1 << 30
"""As the child has it: a pickle that claims more is refused, and is no finding."""
_MOST_FINDINGS = 200_000
_KINDS = ("any", "ranks", "kernel", "slurm")
_REFUSALS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
"""What broken pickles make Python's own loader raise: the child tells its parent so."""


def scanner(data: bytes) -> None:
    """One log, whole and in two pieces: the same findings, a verdict, no error."""
    if not data:
        return
    kind, cut, text = _KINDS[data[0] % len(_KINDS)], data[0] * len(data) // 256, data[1:]
    whole = scan_log(_log(kind, text))
    parted = scan_log(_log(kind, text[:cut], text[cut:]))
    if _told(whole) != _told(parted):
        raise AssertionError("the findings depend on how the log is cut into pieces")
    if len(whole.findings) > _MOST_FINDINGS:
        raise AssertionError(f"{len(whole.findings)} findings")
    verdict = diagnose(Bundle(logs=(_log(kind, text[:cut]), _log(kind, text[cut:]))))
    if not 0 <= verdict.confidence <= 1:
        raise AssertionError(f"confidence {verdict.confidence}")


def dump(data: bytes) -> None:
    """A dump beside itself as another rank's: refused, or compared without an error."""
    try:
        told = json.loads(read(data))
    except _REFUSALS:
        return
    for one in find([parse(told, Rank(0), "rank_0"), parse(told, Rank(1), "rank_1"), parse({}, Rank(2), "rank_2")]):
        if not 0 < one.weight < 1:
            raise AssertionError(f"weight {one.weight}")


def _log(kind: str, *pieces: bytes) -> Log:
    def opened() -> Iterator[bytes]:
        return iter(pieces)

    return Log(name="job.log", pieces=opened, kind=kind)  # type: ignore[arg-type]  # one of the four


def _told(scanned: Scanned) -> object:
    return scanned.findings, scanned.lines, scanned.first, scanned.last, scanned.progress, scanned.end


TARGETS: dict[str, Callable[[bytes], None]] = {"scanner": scanner, "dump": dump}


def main() -> None:
    """Run until libFuzzer's limits; it ends the process."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
