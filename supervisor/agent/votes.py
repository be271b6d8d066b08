"""The agents' votes on the shared filesystem: the broker has died with the batch host, and agents have no other way.

One small file per agent, written whole, and only once a batch host seems dead. It speaks of one renewal of the term and
of no other, so an old vote counts for nothing and no clock is compared.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from supervisor.model.agent_config import AgentConfig
from supervisor.model.base import encode
from supervisor.model.ids import NodeName
from supervisor.model.takeover import Vote
from supervisor.model.term import Term
from supervisor.telemetry.aside import aside

FOLDER: Final = "votes"
_DEADLINE_S: Final = 5.0

_T = TypeVar("_T")


class Votes:
    """This agent's vote and those of the others. A filesystem that hangs is asked by one thread only."""

    def __init__(self, config: AgentConfig, node: NodeName) -> None:
        self._config = config
        self._node = node
        self._folder = Path(config.run_dir) / FOLDER
        self._is_asking = False
        self._cast: Term | None = None
        self._counted: tuple[Term | None, set[NodeName]] = (None, set())

    async def cast(self, term: Term) -> bool:
        """Say that this agent takes the batch host of this term for dead; whether the vote lies there."""
        if self._cast == term:
            return True
        vote = Vote(
            node=self._node,
            at=time.time(),
            job_id=self._config.job_id,
            restarts=self._config.restarts,
            generation=term.generation,
            renewed_at=term.renewed_at,
        )
        if await self._aside(lambda: self._write(encode(vote)), False):
            self._cast = term
        return self._cast == term

    async def withdraw(self) -> None:
        """Somebody was heard: the vote goes. A new renewal has made it void already."""
        if self._cast is not None and await self._aside(self._remove, False):
            self._cast = None

    async def of(self, term: Term) -> frozenset[NodeName]:
        """The nodes whose agents say the same of this very term; none where nobody can say."""
        return await self._aside(lambda: self._read(term), frozenset())

    async def _aside(self, call: Callable[[], _T], otherwise: _T) -> _T:
        if self._is_asking:
            return otherwise
        self._is_asking = True

        def asked() -> _T:
            try:
                return call()
            finally:
                self._is_asking = False

        try:
            return await aside(asked, deadline_s=_DEADLINE_S, name="votes")
        except OSError:  # TimeoutError is one
            return otherwise

    def _write(self, data: bytes) -> bool:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        fresh = self._folder / f".{self._node}"
        fresh.write_bytes(data)
        fresh.replace(self._folder / f"{self._node}.json")
        return True

    def _remove(self) -> bool:
        (self._folder / f"{self._node}.json").unlink(missing_ok=True)
        return True

    def _read(self, term: Term) -> frozenset[NodeName]:
        """Those whose file lies there; each file is read once a term."""
        names = {NodeName(path.stem) for path in self._folder.glob("[!.]*.json")}
        known = self._counted[1] if self._counted[0] == term else set()
        found = (known & names) | {node for node in names - known if self._says_so(node, term)}
        self._counted = (term, found)
        return frozenset(found)

    def _says_so(self, node: NodeName, term: Term) -> bool:
        with suppress(OSError, msgspec.MsgspecError):
            vote = msgspec.json.decode((self._folder / f"{node}.json").read_bytes(), type=Vote)
            job = (self._config.job_id, self._config.restarts)
            renewal = (term.generation, term.renewed_at)
            is_about = (vote.job_id, vote.restarts) == job and (vote.generation, vote.renewed_at) == renewal
            return is_about and vote.node == node
        return False
