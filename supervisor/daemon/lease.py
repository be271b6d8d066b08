"""Signs of life for others: the lease in `term.json` for the agents, and for the keeper."""

import asyncio
from pathlib import Path

from supervisor.daemon.clock import Clock
from supervisor.daemon.keeper_link import KeeperLink
from supervisor.ledger.writer import Writer
from supervisor.model.base import Fact, encode
from supervisor.model.ids import NodeName

_RENEW_S = 5.0
_ALIVE_S = 2.0


class Term(Fact, frozen=True, kw_only=True):
    """What agents read before they fence: who supervises, and since when he was not heard."""

    generation: int
    renewed_at: float
    batch_host: NodeName
    slurmd_address: str = ""


async def renew(path: Path, writer: Writer, clock: Clock, *, generation: int, here: NodeName, address: str) -> None:
    """Rewrite the lease for ever. A full or dead filesystem costs the renewal, never the run."""
    while True:
        term = Term(generation=generation, renewed_at=clock(), batch_host=here, slurmd_address=address)
        writer.write(path, encode(term))
        await asyncio.sleep(_RENEW_S)


async def tell_keeper(keeper: KeeperLink) -> None:
    """Tell the keeper for ever that the loop of this process turns: it kills a supervisor that is stuck."""
    while True:
        keeper.alive()
        await asyncio.sleep(_ALIVE_S)
