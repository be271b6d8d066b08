"""What `exclude` and `unexclude` share: an order about nodes."""

from typing import Final, Literal

import click

from supervisor.cli.ordering import give
from supervisor.errors import PayloadRefused, UsageError
from supervisor.model.ids import NodeName
from supervisor.model.order import PersonOrder
from supervisor.slurm.hostlist import expand

_MOST: Final = 4096


def order_about(
    ctx: click.Context, what: Literal["exclude", "unexclude"], run: str, written: tuple[str, ...], *, as_json: bool
) -> None:
    """Order it for these nodes, each a name or a host list such as `node[001-004]`."""
    nodes = _nodes(written)
    give(ctx, run, lambda number, at, by: PersonOrder(id=number, at=at, by=by, what=what, nodes=nodes), as_json=as_json)


def _nodes(written: tuple[str, ...]) -> tuple[NodeName, ...]:
    try:
        found = tuple(dict.fromkeys(node for text in written for node in expand(text)))
    except PayloadRefused as exc:
        raise UsageError(f"{' '.join(written)}: {exc}") from exc
    if len(found) > _MOST:
        raise UsageError(f"{len(found)} nodes: at most {_MOST} at once")
    return found
