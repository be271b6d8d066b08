"""The command line of the benchmarks."""

import argparse
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from types import FrameType
from typing import NoReturn

from product import packages, venv
from product.packages import CannotInstall
from product.venv import CannotBuild
from story.job import NotSubmitted
from story.waiting import Late
from testbed.api import Testbed
from testbed.errors import TestbedError

from bench import agents, beat, command, diagnose, hooks, ranks, recover, report, steps, takeover
from bench.installed import Installed, installed
from bench.measure import Measure, header
from bench.place import Place

_NAME = "bench"
_PACKAGES = ["python3-venv", "mosquitto"]
_NODES = 4
_TERMINATED = 143
_FAULTS = (Late, NotSubmitted, CannotInstall, CannotBuild, TestbedError, OSError, subprocess.SubprocessError)

ALONE: dict[str, Callable[[Installed], Iterator[Measure]]] = {
    "beat": beat.measures,
    "command": command.help_and_size,
    "diagnose": diagnose.measures,
    "hook": hooks.measures,
    "report": report.measures,
}
ON_CLUSTER = ("sbatch", "ranks", "agent", "steps", "recover", "takeover")
GROUPS = {"start": ("command", "sbatch", "ranks", "agent", "steps")}


def main(argv: Sequence[str] | None = None) -> int:
    """0 when all that was asked for could be measured, whether its bar was met or not."""
    arguments = _parser().parse_args(argv)
    names = chosen(arguments.names)
    if needs_root(names) and os.geteuid() != 0:
        print("bench: needs root for a Slurm and for hooks; without root: scripts/bench beat command", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, _leave)
    with closing(socket.socket(socket.AF_UNIX)) as lock:
        try:
            _be_the_only_one(lock)
            _print(_measures(names, with_plain=arguments.with_plain), as_json=arguments.json)
        except _FAULTS as exc:
            print(f"bench: {exc}", file=sys.stderr)
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    known = ", ".join([*GROUPS, *ALONE, *ON_CLUSTER])
    parser = argparse.ArgumentParser(
        prog="bench", description="Measures, each beside its bar; a bar that is missed is shown and is no failure."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure (default: all): {known}")
    parser.add_argument("--json", action="store_true", help="one object for each measure, one on a line")
    parser.add_argument(
        "--with-plain",
        action="store_true",
        help="with recover: also measure sbatch --requeue and torchrun (about fifteen minutes)",
    )
    return parser


def chosen(names: Sequence[str]) -> list[str]:
    """The single measures that were asked for, each once; ends the program at a name that there is not."""
    known = [*ALONE, *ON_CLUSTER]
    wanted = [part for name in names for part in GROUPS.get(name, (name,))]
    if unknown := [name for name in wanted if name not in known]:
        sys.exit(f"bench: no measure {unknown[0]!r}; there are {', '.join([*GROUPS, *known])}")
    return [name for name in known if name in (wanted or known)]


def needs_cluster(names: Sequence[str]) -> bool:
    """Whether any of them takes place on a Slurm."""
    return any(name in ON_CLUSTER for name in names)


def needs_root(names: Sequence[str]) -> bool:
    """Whether any of them can be measured by root alone: a Slurm is to be set up, or does what only root may."""
    return needs_cluster(names) or "hook" in names


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """TERM ends the program as Ctrl-C does: everything is taken down."""
    sys.exit(_TERMINATED)


def _be_the_only_one(lock: socket.socket) -> None:
    """The name is the kernel's: it is free again when this process ends, however that happens."""
    try:
        lock.bind(f"\0supervise-bench-{_NAME}")
    except OSError as exc:
        raise Late("another bench runs on this machine; wait for its end") from exc


def _print(found: Iterator[Measure], *, as_json: bool) -> None:
    _say_load()
    if not as_json:
        print(header(), flush=True)
    for measure in found:
        print(measure.as_json() if as_json else measure.as_row(), flush=True)
    _say_load()


def _say_load() -> None:
    """A busy machine measures itself."""
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", file=sys.stderr)


def _measures(names: Sequence[str], *, with_plain: bool) -> Iterator[Measure]:
    if needs_cluster(names):
        packages.install(_PACKAGES)
    trainer = venv.environment()
    print("installing the product as a user would", file=sys.stderr)
    with installed(trainer) as product:
        for name in names:
            if name in ALONE:
                yield from ALONE[name](product)
        if needs_cluster(names):
            with Testbed(_NAME) as bed:
                yield from _on_cluster(names, Place(bed.up(nodes=_NODES), product, trainer), with_plain=with_plain)


def _on_cluster(names: Sequence[str], place: Place, *, with_plain: bool) -> Iterator[Measure]:
    known: dict[str, Callable[[Place], Iterator[Measure]]] = {
        "sbatch": command.added_to_sbatch,
        "ranks": ranks.added_to_start,
        "agent": agents.measures,
        "steps": steps.step_time,
        "recover": partial(recover.measures, with_plain=with_plain),
        "takeover": takeover.measures,
    }
    try:
        for name in names:
            if name in known:
                yield from known[name](place)
    except _FAULTS:
        # The testbed goes away, and what explains the failure with it.
        for job in place.jobs[-1:]:
            print(job.story(), file=sys.stderr)
        raise
