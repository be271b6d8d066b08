"""The next job of a run: the user's own request again, without the nodes that failed. Pure.

Same script, arguments and options; what would hold it back or send it back to a bad node is taken out, each with a
reason. The environment is the job's own without what Slurm and the attempt put there.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from supervisor.errors import PayloadRefused
from supervisor.ledger.run_file import RunFile
from supervisor.ledger.run_folder import SUBMITTED
from supervisor.model.base import Fact
from supervisor.model.facts import NodeState
from supervisor.model.ids import NodeName
from supervisor.slurm.directives import masked, parse_directives
from supervisor.slurm.hostlist import compress, expand
from supervisor.slurm.sbatch_options import CommandLine, Option, effective, options_of_environment, parse
from supervisor.slurm.spares import with_spares
from supervisor.slurm.submission import OWN_VARIABLES, argv_for

EXCLUDE_LIMIT_BYTES: Final = 120_000
"""The kernel takes 128 kB for one argument; a little is left for the option's name."""
# States in which a node does not come back by itself within a job's patience.
_UNUSABLE: Final = frozenset({"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "MAINT", "ERROR", "UNKNOWN"})
_DROPPED: Final = frozenset({"begin", "dependency", "hold", "wait", "quiet", "verbose", "parsable"})
"""Fulfilled by the first job (`--begin=20:00` would wait for tomorrow), or meant for the terminal it was typed in."""
_RUN_PATTERN: Final = re.compile(r"%[\djJAaxsNntu%]*[jJAa]")


class Successor(Fact, frozen=True, kw_only=True):
    """One resubmission, complete."""

    argv: tuple[str, ...]
    """Begins with `env`, which gives sbatch the job's own locale whatever the caller sets for itself."""
    environment: dict[str, str]
    cwd: str
    files: dict[str, bytes] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """Files of the run folder to be written (mode 0700) before: the script, where a line of it must not hold again."""
    excluded: tuple[NodeName, ...] = ()
    """Nodes excluded by us that made it into the request."""
    spares: int = 0
    reasons: tuple[str, ...] = ()


class Affordable(Fact, frozen=True, kw_only=True):
    """Which exclusions leave enough nodes."""

    kept: tuple[NodeName, ...]
    dropped: tuple[NodeName, ...]
    spares: int
    """As many of the wished spares as there is room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the caller had to find out for a resubmission."""

    env: Mapping[str, str]
    """The environment the batch script was started with."""
    script: str
    """`submitted/<script_name>` as it lies in the run folder."""
    known: Collection[NodeName] | None = None
    """Every node of the cluster; None: could not be asked, then no name is checked."""
    array_task: str = ""
    """The task to repeat, where the run is a task of an array."""
    user_excluded: tuple[NodeName, ...] | None = None
    """Names in the user's `--exclude`, where that is a file; None: not read."""


def affordable(
    exclude: Sequence[NodeName],
    *,
    nodes: Sequence[NodeState],
    user_excluded: Collection[NodeName],
    needed: int,
    spares: int = 0,
) -> Affordable:
    """Which exclusions can be kept so that `needed` nodes remain; of too many sbatch makes a job that pends for ever.

    `exclude` stands with the worst node first: the last ones are let go first. `nodes` are the partition's. A node that
    is down or drained costs nothing to exclude. Spares are given up before an exclusion is.
    """
    usable = {state.node for state in nodes if not _UNUSABLE.intersection(state.states)} - set(user_excluded)
    kept: list[NodeName] = []
    dropped: list[NodeName] = []
    for node in dict.fromkeys(exclude):
        if node not in usable or len(usable) - 1 >= needed:
            usable.discard(node)
            kept.append(node)
        else:
            dropped.append(node)
    room = max(0, min(spares, len(usable) - needed))
    return Affordable(kept=tuple(kept), dropped=tuple(dropped), spares=room)


def lesser(room: Affordable) -> tuple[Affordable, ...]:
    """What to ask for, the most wished first: then one spare less at a time, then the last exclusion, and so on."""
    fewer_spares = [msgspec.structs.replace(room, spares=spares) for spares in range(room.spares, -1, -1)]
    fewer_names = [
        msgspec.structs.replace(
            room,
            kept=room.kept[:count],
            dropped=(*room.kept[count:], *room.dropped),
            spares=0,
        )
        for count in range(len(room.kept) - 1, -1, -1)
    ]
    return (*fewer_spares, *fewer_names)


def successor(run: RunFile, folder: str, *, exclude: Sequence[NodeName], spares: int, at: Circumstances) -> Successor:
    """The resubmission of this run without the nodes in `exclude` (worst first), with so many spares.

    `folder` is the run folder. Raises `UsageError` where spares cannot be kept, as at the first submission.
    """
    command = parse([*run.sbatch_args, f"{folder}/{SUBMITTED}/{run.script_name}", *run.script_args])
    directives = parse_directives(at.script)
    options = effective(directives.options(), options_of_environment(at.env), command.options)
    reasons: list[str] = []
    ours = _known(exclude, at.known, reasons)
    merged = _merged_exclude(options.get("exclude", ""), ours, at.user_excluded, reasons)
    pinned = _pinned(options.get("nodelist", ""), merged.ours, reasons)
    is_heterogeneous = command.is_heterogeneous or directives.is_heterogeneous
    extra = [
        *with_spares(options, spares, is_heterogeneous=is_heterogeneous),
        *merged.options,
        *([Option("nodelist", pinned)] if pinned else []),
        *_output(options),
        *([Option("array", at.array_task)] if at.array_task else []),
        Option("parsable"),
    ]
    gone = _gone(options, is_pin_dropped="nodelist" in options and not pinned, reasons=reasons)
    text = masked(at.script, gone)
    return Successor(
        argv=(*_locale(at.env), "sbatch", *_arguments(command, gone, extra, folder, run)),
        environment=_environment(at.env),
        cwd=run.workdir,
        files={} if text == at.script else {_file(run): text.encode(errors="surrogateescape")},
        excluded=merged.ours,
        spares=spares,
        reasons=tuple(reasons),
    )


def is_waited_for(run: RunFile, env: Mapping[str, str]) -> bool:
    """Whether the first sbatch of the run waits for the end of the job that it submitted (`--wait`)."""
    options = effective(
        parse_directives(run.script_text).options(), options_of_environment(env), parse(run.sbatch_args).options
    )
    return "wait" in options


@dataclass(frozen=True, slots=True)
class _Merged:
    options: list[Option]
    ours: tuple[NodeName, ...]


def _known(exclude: Sequence[NodeName], known: Collection[NodeName] | None, reasons: list[str]) -> tuple[NodeName, ...]:
    """Only names that the cluster has: one unknown name and sbatch refuses the whole submission."""
    unknown = [node for node in exclude if known is not None and node not in known]
    if unknown:
        reasons.append(f"not excluded, since this cluster does not know it: {', '.join(unknown)}")
    return tuple(node for node in dict.fromkeys(exclude) if node not in unknown)


def _merged_exclude(
    users: str, ours: tuple[NodeName, ...], read: tuple[NodeName, ...] | None, reasons: list[str]
) -> _Merged:
    """The user's exclusions and ours as one list: of two `--exclude` sbatch obeys only the last."""
    own = read if read is not None else _names(users)
    if own is None:
        reasons.append(f"our exclusions are left out: the user's --exclude={users} cannot be read, and it goes first")
        return _Merged([], ())
    sizes = range(len(ours) + 1)
    fitting = bisect_right(sizes, EXCLUDE_LIMIT_BYTES, key=lambda count: len(compress([*own, *ours[:count]]).encode()))
    kept = ours[: max(0, fitting - 1)]
    if len(kept) < len(ours):
        reasons.append(f"{len(ours) - len(kept)} nodes are not excluded: the list is at the kernel's limit")
    if not kept:
        return _Merged([], ())
    reasons.append(f"without {compress(kept)}")
    return _Merged([Option("exclude", compress([*own, *kept]))], kept)


def _names(users: str) -> tuple[NodeName, ...] | None:
    """The names of a list; None where it is a file (it has a `/`) or no list that we can read."""
    if "/" in users:
        return None
    try:
        return expand(users)
    except PayloadRefused:
        return None


def _pinned(users: str, ours: tuple[NodeName, ...], reasons: list[str]) -> str:
    """The user's `-w` without the excluded nodes: sbatch refuses a node that is both required and excluded."""
    names = _names(users)
    if not names:
        return users
    left = [name for name in names if name not in ours]
    if len(left) < len(names):
        gone = compress(set(names) - set(left))
        reasons.append(f"--nodelist={users} is used without {gone}" if left else f"--nodelist={users} is dropped")
    return compress(left)


def _output(options: Mapping[str, str]) -> list[Option]:
    """A file name that is the same for both jobs would be emptied by the second."""
    fixed = any(name in options and not _RUN_PATTERN.search(options[name]) for name in ("output", "error"))
    return [Option("open-mode", "append")] if fixed and "open-mode" not in options else []


def _gone(options: Mapping[str, str], *, is_pin_dropped: bool, reasons: list[str]) -> frozenset[str]:
    """The options that must not hold again."""
    gone = _DROPPED | ({"nodelist"} if is_pin_dropped else set())
    # A number there is a file descriptor of the first sbatch; the job's environment has what was read from it.
    if options.get("export-file", "").isdecimal():
        gone |= {"export-file"}
    told = [name for name in ("begin", "dependency", "hold", "export-file") if name in gone and name in options]
    reasons += [f"--{name} held for the first job and is left out" for name in told]
    return gone


def _arguments(
    command: CommandLine, gone: frozenset[str], extra: list[Option], folder: str, run: RunFile
) -> tuple[str, ...]:
    stripped = parse([*command.without(gone), f"{folder}/{_file(run)}", *run.script_args])
    return argv_for(stripped, extra, f"{folder}/{_file(run)}")


def _file(run: RunFile) -> str:
    return f"{SUBMITTED}/{run.script_name}"


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The job's environment as its user meant it: SLURM_* describe the old job, and would steer the new one."""
    # SBATCH_WAIT would let sbatch wait for the end of the new job.
    own = {*OWN_VARIABLES, "SBATCH_WAIT", *({"BASH_FUNC_srun%%"} if "SUPERVISE_SHIM_SRUN" in env else ())}
    return {
        name: value
        for name, value in env.items()
        if name not in own and (name == "SLURM_CONF" or not name.startswith(("SLURM_", "SLURMD_")))
    }


def _locale(env: Mapping[str, str]) -> tuple[str, ...]:
    """Our own calls run under LC_ALL=C; the successor inherits sbatch's environment and must get the user's."""
    return ("env", f"LC_ALL={env['LC_ALL']}") if "LC_ALL" in env else ("env", "-u", "LC_ALL")
