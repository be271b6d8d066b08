"""The signs of the supervisor's side that do not come over the bus: the lease file and the batch host's slurmd."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from supervisor.model.agent_config import AgentConfig
from supervisor.model.ids import NodeName
from supervisor.model.term import FILE, Term
from supervisor.selftest.tier0 import accepts
from supervisor.telemetry.aside import aside


class Lease:
    """Asks the shared filesystem and the batch host. A filesystem that hangs is asked by one thread only."""

    def __init__(self, config: AgentConfig, *, read: Callable[[Path], bytes] = Path.read_bytes) -> None:
        self._path = Path(config.run_dir) / FILE if config.run_dir else None
        self._read = read
        self._is_reading = False
        self._job = (config.job_id, config.restarts)
        self._term: Term | None = None
        self._batch_host = config.batch_host
        self._address = config.slurmd_address

    @property
    def term(self) -> Term | None:
        """As it was read last; None: never yet."""
        return self._term

    @property
    def batch_host(self) -> NodeName:
        """Where the supervisor works now: after a takeover it is another node than the job began with."""
        return NodeName((self._term and self._term.batch_host) or self._batch_host)

    async def is_renewed(self, *, deadline_s: float) -> bool:
        """Whether the file has changed since the last question. Gone, unreadable or silent is no sign."""
        if self._path is None or self._is_reading:
            return False
        self._is_reading = True
        try:
            text = await aside(self._text, deadline_s=deadline_s, name="lease")
            term = msgspec.json.decode(text, type=Term)
        except (OSError, msgspec.MsgspecError):  # TimeoutError is an OSError
            return False
        if term.job_id and (term.job_id, term.restarts) != self._job:
            return False  # another job goes on with the run: nobody supervises this one
        is_new, self._term = term != self._term, term
        return is_new

    async def is_slurmd_there(self, *, deadline_s: float) -> bool:
        """Whether the batch host's slurmd accepts a connection."""
        address = (self._term and self._term.slurmd_address) or self._address
        try:
            async with asyncio.timeout(deadline_s):
                return await accepts(address)
        except TimeoutError:
            return False

    def _text(self) -> bytes:
        try:
            return self._read(self._path) if self._path else b""
        finally:
            self._is_reading = False
