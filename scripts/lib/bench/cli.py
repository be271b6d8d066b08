"""The command line of the benchmarks."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from product import packages, venv
from testbed.api import Testbed

from bench import agents, beat, command, ranks, recover
from bench.measure import Measure

_NAME = "bench"
_PACKAGES = ["python3-venv", "mosquitto"]

_ON_CLUSTER: dict[str, Callable[[Testbed, Path], Iterator[Measure]]] = {
    "sbatch": command.added_to_sbatch,
    "ranks": ranks.added_to_start,
    "agent": agents.measures,
    "steps": ranks.step_time,
    "recover": recover.measures,
}
_ALONE: dict[str, Callable[[Path], Iterator[Measure]]] = {"beat": beat.measures, "command": command.help_and_size}
_GROUPS = {"start": ("command", "sbatch", "ranks", "agent", "steps")}


def main(argv: Sequence[str] | None = None) -> int:
    """0 when all that was asked for could be measured, whether its bar was met or not."""
    arguments = _parser().parse_args(argv)
    names = _chosen(arguments.names)
    if any(name in _ON_CLUSTER for name in names) and os.geteuid() != 0:
        print("bench: needs root for a Slurm of its own; without it: scripts/bench beat command", file=sys.stderr)
        return 1
    if os.geteuid() == 0 and any(name in _ON_CLUSTER for name in names):
        packages.install(_PACKAGES)
    python = venv.environment()
    for measure in _measures(names, python):
        print(measure.as_json() if arguments.json else measure.as_text(), flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    known = ", ".join([*_GROUPS, *_ALONE, *_ON_CLUSTER])
    parser = argparse.ArgumentParser(prog="bench", description="Measures, each beside its bar.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure (default: all): {known}")
    parser.add_argument("--json", action="store_true", help="one object for each measure, one on a line")
    return parser


def _chosen(names: Sequence[str]) -> list[str]:
    """The single groups that were asked for, each once; ends the program at a name that there is not."""
    known = [*_ALONE, *_ON_CLUSTER]
    wanted = [part for name in names for part in _GROUPS.get(name, (name,))]
    if unknown := [name for name in wanted if name not in known]:
        sys.exit(f"bench: no measure {unknown[0]!r}; there are {', '.join([*_GROUPS, *known])}")
    return [name for name in known if name in (wanted or known)]


def _measures(names: Sequence[str], python: Path) -> Iterator[Measure]:
    for name in names:
        if name in _ALONE:
            yield from _ALONE[name](python)
    if not any(name in _ON_CLUSTER for name in names):
        return
    with Testbed(_NAME) as bed:
        bed.up(nodes=4)
        for name in names:
            if name in _ON_CLUSTER:
                yield from _ON_CLUSTER[name](bed, python)
