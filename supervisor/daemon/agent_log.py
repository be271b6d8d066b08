"""`agent.log`: what agents and their srun print, bounded although they write it themselves."""

import asyncio
from pathlib import Path

import structlog

from supervisor.ledger.begin_anew import cut
from supervisor.ledger.writer import Writer

_log = structlog.stdlib.get_logger(__name__)

NAME = "agent.log"
LIMIT_BYTES = 2_000_000
"""As much again is kept in `agent.log.1`. Agents print only what goes wrong: this is far more than anybody reads."""
_EVERY_S = 10.0


async def keep_bounded(folder: Path, writer: Writer, *, every_s: float = _EVERY_S) -> None:
    """Look at the log's size for ever, in the writer's thread."""
    while True:
        writer.do(lambda: _cut(folder / NAME))
        await asyncio.sleep(every_s)


def _cut(path: Path) -> None:
    if cut(path, limit_bytes=LIMIT_BYTES):
        _log.warning("agents.log_begins_anew", limit_bytes=LIMIT_BYTES)
