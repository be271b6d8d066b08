"""What several nodes have in common, by `topology.json`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from supervisor.errors import PayloadRefused
from supervisor.slurm.hostlist import expand

_KINDS: Final = ("switch", "rack", "pdu", "chassis", "psu", "cdu", "rail")
_NODES: Final = 20_000


def shared_by(topology: dict[str, Any], nodes: Sequence[str], known: Iterable[str] = ()) -> tuple[str, str] | None:
    """The smallest group that holds all these nodes and not all nodes there are: its kind and name.

    `known`: nodes that are there, whether the topology has them or not.
    """
    groups = list(_groups(topology))
    everything = set(known).union(*(members for _, _, members in groups)) if groups else set()
    fitting = [one for one in groups if set(nodes) <= one[2] and one[2] != everything]
    if not fitting:
        return None
    kind, name, _ = min(fitting, key=lambda one: (len(one[2]), _KINDS.index(one[0])))
    return kind, name


def _groups(topology: dict[str, Any]) -> Iterator[tuple[str, str, set[str]]]:
    """Every group that is told, in any of the usual shapes.

    `{"switches": {"leaf1": [...]}}`, `{"switches": [{"name": ..., "nodes": ...}]}`,
    `{"node001": {"switch": "leaf1", "rack": "r1"}}`, the last also under `nodes`.
    """
    by_name: dict[tuple[str, str], set[str]] = {}
    for key, value in topology.items():
        for kind, name, members in _named_groups(key, value) or _by_place(key, value):
            by_name.setdefault((kind, name), set()).update(members)
    for (kind, name), members in by_name.items():
        if members:
            yield kind, name, members


def _named_groups(key: str, value: Any) -> list[tuple[str, str, set[str]]]:  # any JSON
    kind = _kind(key)
    if kind is None:
        return []
    if isinstance(value, dict):
        return [(kind, str(name), _members(members)) for name, members in value.items()]
    listed = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    return [
        (kind, str(one.get("name") or one.get("switch") or one.get("SwitchName") or ""), _members(one))
        for one in listed
    ]


def _by_place(key: str, value: Any) -> list[tuple[str, str, set[str]]]:  # any JSON
    if not isinstance(value, dict):
        return []
    return [
        (kind, str(name), {str(node)})
        for node, place in (value.items() if key == "nodes" else [(key, value)])
        for each, name in (place.items() if isinstance(place, dict) else ())
        if (kind := _kind(str(each))) and isinstance(name, str | int)
    ]


def _kind(key: str) -> str | None:
    word = key.lower()
    return next(
        (kind for kind in _KINDS if word.startswith(kind) or word.endswith((kind, f"{kind}s", f"{kind}es"))), None
    )


def _members(told: Any) -> set[str]:  # a list, Slurm's short form, or an object with `nodes`
    if isinstance(told, dict):
        told = told.get("nodes") or told.get("Nodes")
    if isinstance(told, str):
        try:
            return {str(one) for one in expand(told, cap=_NODES)}
        except PayloadRefused:
            return set()
    return {one for one in told if isinstance(one, str)} if isinstance(told, list) else set()
