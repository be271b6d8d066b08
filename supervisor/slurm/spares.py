"""`--spares K`: K nodes more than the job needs, asked for so that each node gets the same. Pure.

Only then can any node take the place of any other. What Slurm makes of each form was measured: a total that is not
scaled, or scaled without a per-node limit, gives the last node fewer CPUs or GPUs than the others.
"""

import re
from collections.abc import Mapping
from typing import Final

from supervisor.errors import UsageError
from supervisor.slurm.sbatch_options import Option

_NODES: Final = re.compile(r"(\d+)(?:-(\d+))?")
_GPUS: Final = re.compile(r"(?:(?P<type>[^:=\d][^:=]*):)?(?P<count>\d+)")


def fixed_nodes(options: Mapping[str, str]) -> int:
    """The number of nodes that the job asks for with a plain `-N 4` (or `4-4`); 0 where it is not one number."""
    match = _NODES.fullmatch(options.get("nodes", ""))
    return int(match[1]) if match and match[2] in {None, match[1]} else 0


def with_spares(options: Mapping[str, str], spares: int, *, is_heterogeneous: bool) -> list[Option]:
    """The options that ask for `spares` nodes more, to stand last on the command line.

    `options` is what sbatch would obey (`sbatch_options.effective`). Raises `UsageError` naming the form that works.
    """
    if spares == 0:
        return []
    nodes = _checked_nodes(options, spares, is_heterogeneous=is_heterogeneous)
    total = nodes + spares
    return [Option("nodes", str(total)), *_tasks(options, nodes, total, spares), *_gpus(options, nodes, total, spares)]


def _checked_nodes(options: Mapping[str, str], spares: int, *, is_heterogeneous: bool) -> int:
    """The fixed number of nodes, or a refusal."""
    if is_heterogeneous:
        raise _refused(spares, "a heterogeneous job (`:`) can have none", "submit it without --spares")
    if "nodefile" in options:
        why = f"-F {options['nodefile']} names the nodes one by one"
        raise _refused(spares, why, "ask for a number instead: -N 4 --ntasks-per-node=8")
    if "arbitrary" in options.get("distribution", "").lower():
        raise _refused(spares, "-m arbitrary binds each task to one node", "use -m block or -m cyclic")
    nodes = fixed_nodes(options)
    if not nodes:
        given = f"-N {options['nodes']}" if "nodes" in options else "no -N"
        why = f"it is not certain how many nodes the job gets without them ({given})"
        raise _refused(spares, why, "ask for one number of nodes and the tasks of each: -N 4 --ntasks-per-node=8")
    segment = options.get("segment", "")
    if segment.isdecimal() and int(segment) and (nodes + spares) % int(segment):
        why = f"{nodes} + {spares} nodes are no multiple of --segment={segment}"
        raise _refused(spares, why, f"let -N plus spares be a multiple of {segment}")
    return nodes


def _tasks(options: Mapping[str, str], nodes: int, total: int, spares: int) -> list[Option]:
    """A total of tasks becomes as many for each node."""
    tasks, per_node = options.get("ntasks"), options.get("ntasks-per-node")
    if tasks is None:
        return []
    if not tasks.isdecimal() or int(tasks) % nodes or int(tasks) == 0:
        raise _refused(spares, f"-n {tasks} is not the same on each of {nodes} nodes", _per_node(nodes, tasks))
    each = int(tasks) // nodes
    if per_node is not None and per_node != str(each):
        why = f"-n {tasks} is {each} on each of {nodes} nodes, but --ntasks-per-node={per_node}"
        raise _refused(spares, why, f"leave out -n {tasks}")
    return [Option("ntasks", str(each * total)), Option("ntasks-per-node", str(each))]


def _gpus(options: Mapping[str, str], nodes: int, total: int, spares: int) -> list[Option]:
    """A total of GPUs becomes as many for each node; requests per node or task stay as they are."""
    wanted = options.get("gpus")
    if not wanted:
        return []
    each = [_share(part, nodes) for part in wanted.split(",")]
    if not all(each):
        why = f"--gpus={wanted} is not the same on each of {nodes} nodes"
        raise _refused(spares, why, "ask for the GPUs of each node: --gpus-per-node=8")
    per_node = ",".join(f"{kind}{count}" for kind, count in filter(None, each))
    stated = options.get("gpus-per-node")
    if stated is not None and stated != per_node:
        why = f"--gpus={wanted} is {per_node} on each of {nodes} nodes, but --gpus-per-node={stated}"
        raise _refused(spares, why, f"leave out --gpus={wanted}")
    scaled = ",".join(f"{kind}{count * total}" for kind, count in filter(None, each))
    return [Option("gpus", scaled), Option("gpus-per-node", per_node)]


def _share(part: str, nodes: int) -> tuple[str, int] | None:
    """`a100:8` on two nodes is `("a100:", 4)`; None where it cannot be shared evenly."""
    match = _GPUS.fullmatch(part)
    if match is None or int(match["count"]) % nodes or int(match["count"]) == 0:
        return None
    return (f"{match['type']}:" if match["type"] else ""), int(match["count"]) // nodes


def _per_node(nodes: int, tasks: str) -> str:
    each = -(-int(tasks) // nodes) if tasks.isdecimal() else 0
    return f"use -N {nodes} --ntasks-per-node={max(1, each)}"


def _refused(spares: int, why: str, remedy: str) -> UsageError:
    are = "1 spare node is" if spares == 1 else f"{spares} spare nodes are"
    return UsageError(f"{are} not possible here: {why}. A spare must be able to replace any node; {remedy}")
