"""The supervisor's end of its line to the keeper: JSON lines over an inherited socket."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Self

import msgspec
import structlog

from supervisor.errors import SuperviseError
from supervisor.model.base import Fact
from supervisor.model.ids import AttemptNo

_log = structlog.stdlib.get_logger(__name__)

FD_VARIABLE: Final = "SUPERVISE_KEEPER_FD"


class KeeperState(Fact, frozen=True, kw_only=True, tag_field="is", tag="state"):
    """The keeper's first words: where it stands."""

    attempt: AttemptNo
    pid: int
    alive: bool
    code: int | None = None
    signal: int | None = None
    unsupervised: bool = False
    signals: tuple[int, ...] = ()


class Started(Fact, frozen=True, kw_only=True, tag_field="is", tag="started"):
    """The script runs."""

    attempt: AttemptNo
    pid: int


class Ended(Fact, frozen=True, kw_only=True, tag_field="is", tag="ended"):
    """The script has ended."""

    attempt: AttemptNo
    code: int | None = None
    signal: int | None = None


class Signalled(Fact, frozen=True, kw_only=True, tag_field="is", tag="signal"):
    """The batch pid received a signal."""

    number: int
    whole: bool = False


class Refused(Fact, frozen=True, kw_only=True, tag_field="is", tag="refused"):
    """The keeper did not start what it was asked to start."""

    why: str


Report = KeeperState | Started | Ended | Signalled | Refused

_decoder = msgspec.json.Decoder(Report)


class KeeperLink:
    """Speaks to the keeper. A keeper that is gone ends `reports()`: the job is over then."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def inherited(cls, env: Mapping[str, str] = os.environ) -> Self:
        """The link that the keeper passed on. Raises `SuperviseError` where this was not started by a keeper."""
        number = env.get(FD_VARIABLE, "")
        if not number.isdigit():
            raise SuperviseError(f"{FD_VARIABLE} is not set: the supervisor is started by the keeper, never by hand")
        try:
            ours = socket.socket(fileno=int(number))
        except OSError as exc:
            raise SuperviseError(f"{FD_VARIABLE}={number} is no line to a keeper ({exc.strerror})") from exc
        ours.set_inheritable(False)
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        return cls(reader, writer)

    async def reports(self) -> AsyncIterator[Report]:
        """What the keeper says, its whole state first."""
        while line := await self._line():
            try:
                yield _decoder.decode(line)
            except msgspec.MsgspecError as exc:
                _log.warning("keeper.not_understood", reason=exc)

    async def hung_up(self, *, deadline_s: float) -> None:
        """Wait until the keeper has hung up, for a bounded time: it has heard everything that was said."""
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                while await self._line():
                    pass

    def start(self, attempt: AttemptNo, changed: Mapping[str, str], unset: Sequence[str]) -> None:
        """Start the script as this attempt."""
        self._tell(do="start", attempt=attempt, set=dict(changed), unset=list(unset))

    def finish(self, *, code: int | None, signal: int | None) -> None:
        """End the job with this status."""
        self._tell(do="finish", code=code, signal=signal)

    def alive(self) -> None:
        """The loop of this process turns."""
        self._tell(do="alive")

    def busy(self, for_s: float) -> None:
        """A decision is under way: wait this long (at most 900 s) before the job ends or starts without us."""
        self._tell(do="busy", for_s=for_s)

    def signaled(self, number: int) -> None:
        """This process received the signal too, so the whole step did."""
        self._tell(do="signaled", number=number)

    def _tell(self, **words: Any) -> None:  # plain JSON, whatever the order holds
        # The standard library's: values of an environment may be no UTF-8, and go there and back as surrogates.
        if not self._writer.is_closing():
            self._writer.write(json.dumps(words).encode() + b"\n")

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except (ConnectionError, ValueError):
            return b""
