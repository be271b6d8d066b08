"""A bundle as the files of its folder: what `reading/folder.py` reads back as the same bundle. Pure.

For what the supervisor knows: lines, facts, places and beats. A run folder has room for few files.
"""

from collections.abc import Iterator
from itertools import filterfalse
from typing import Any

import msgspec

from supervisor.diagnose import rank_tails
from supervisor.diagnose.bundle import Bundle, Facts, Place


def files_of(bundle: Bundle) -> dict[str, bytes]:
    """Name and content of each file; what is not known has none."""
    return dict(_files(bundle))


def _files(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    if tails := rank_tails.joined(bundle.logs):
        yield rank_tails.FILE, tails.encode(errors="replace")
    for log in filterfalse(rank_tails.is_tail, bundle.logs):
        yield log.name, b"".join(log.data())
    slurm = _slurm(bundle.facts)
    if slurm:
        yield "slurm.json", _encoded(slurm)
    own = msgspec.structs.replace(bundle.facts, job_state="", job_reason="", exit_code=None, exit_signal=None)
    if own != Facts():
        yield "facts.json", _encoded(own)
    if bundle.nodes or bundle.places:
        ranks = {str(rank): _place(place) for rank, place in sorted(bundle.places.items())}
        yield "job.json", _encoded({"nodes": bundle.nodes, "ranks": ranks})
    if bundle.environment:
        yield "environment.json", _encoded(bundle.environment)
    if bundle.beats:
        yield "beats.json", _encoded(bundle.beats)


def _slurm(facts: Facts) -> dict[str, str]:
    """As Slurm writes it: `code:signal`."""
    known = {"state": facts.job_state, "reason": facts.job_reason}
    if facts.exit_code is not None or facts.exit_signal is not None:
        known["exit_code"] = f"{facts.exit_code or 0}:{facts.exit_signal or 0}"
    return {name: value for name, value in known.items() if value}


def _place(place: Place) -> dict[str, Any]:
    """With a GPU that is `null` where none is known: a reader would take the local rank for it."""
    return {"node": place.node, "local_rank": place.local_rank, "gpu": place.gpu}


def _encoded(value: Any) -> bytes:  # facts, or built-in types
    return msgspec.json.encode(value)
