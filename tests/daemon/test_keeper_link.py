"""The supervisor's end of its line to the keeper."""

import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from supervisor.daemon.keeper_link import (
    FD_VARIABLE,
    Ended,
    KeeperLink,
    KeeperState,
    Refused,
    Report,
    Signalled,
    Started,
)
from supervisor.errors import SuperviseError
from supervisor.model.ids import AttemptNo

_SAID = b"""\
{"is":"state","attempt":1,"pid":0,"alive":false,"code":null,"signal":9,"unsupervised":true,"signals":[10,15]}
{"is":"started","attempt":2,"pid":123}
{"is":"ended","attempt":2,"code":0,"signal":null}
{"is":"signal","number":15,"whole":true}
{"is":"refused","why":"attempt 2 after 2"}
"""
_HEARD = [
    KeeperState(attempt=AttemptNo(1), pid=0, alive=False, signal=9, unsupervised=True, signals=(10, 15)),
    Started(attempt=AttemptNo(2), pid=123),
    Ended(attempt=AttemptNo(2), code=0),
    Signalled(number=15, whole=True),
    Refused(why="attempt 2 after 2"),
]


class _Keeper:
    """The other end."""

    def __init__(self, link: KeeperLink, end: socket.socket) -> None:
        self.link = link
        self._end = end
        self._file = end.makefile("rb")

    def says(self, data: bytes) -> None:
        """Send, and hang up."""
        self._end.sendall(data)
        self._end.shutdown(socket.SHUT_WR)

    def heard(self) -> dict[str, Any]:
        """The next order."""
        words: dict[str, Any] = json.loads(self._file.readline())
        return words

    def close(self) -> None:
        self._file.close()
        self._end.close()


@asynccontextmanager
async def _linked() -> AsyncIterator[_Keeper]:
    ours, theirs = socket.socketpair()
    link = await KeeperLink.inherited({FD_VARIABLE: str(ours.detach())})
    keeper = _Keeper(link, theirs)
    theirs.settimeout(30)
    try:
        yield keeper
    finally:
        keeper.close()
        link._writer.transport.abort()


async def _reports(link: KeeperLink) -> list[Report]:
    return [report async for report in link.reports()]


async def test_every_message_of_the_contract_is_understood() -> None:
    """As docs/contracts.md writes them; the keeper's hanging up ends the reports."""
    async with _linked() as keeper:
        keeper.says(_SAID)
        assert await _reports(keeper.link) == _HEARD


async def test_what_cannot_be_understood_is_passed_over() -> None:
    """A word of a newer keeper costs nothing but itself."""
    async with _linked() as keeper:
        keeper.says(b'{"is":"new"}\nnonsense\n' + _SAID)
        assert await _reports(keeper.link) == _HEARD


async def test_every_order_of_the_contract_is_said() -> None:
    """As docs/contracts.md writes them."""
    async with _linked() as keeper:
        keeper.link.start(AttemptNo(3), {"K": "V"}, ("GONE",))
        keeper.link.alive()
        keeper.link.busy(60)
        keeper.link.signaled(15)
        keeper.link.finish(code=None, signal=9)
        assert [keeper.heard() for _ in range(5)] == [
            {"do": "start", "attempt": 3, "set": {"K": "V"}, "unset": ["GONE"]},
            {"do": "alive"},
            {"do": "busy", "for_s": 60},
            {"do": "signaled", "number": 15},
            {"do": "finish", "code": None, "signal": 9},
        ]


async def test_an_environment_that_is_no_utf_8_reaches_the_keeper() -> None:
    """PATH may hold any bytes."""
    async with _linked() as keeper:
        keeper.link.start(AttemptNo(1), {"PATH": "/caf\udce9"}, ())
        assert keeper.heard()["set"] == {"PATH": "/caf\udce9"}


async def test_a_keeper_that_is_gone_costs_no_exception() -> None:
    """Orders to nobody are dropped; the end of the reports tells it."""
    async with _linked() as keeper:
        keeper.close()
        keeper.link.alive()
        assert await _reports(keeper.link) == []
        keeper.link.alive()


async def test_the_line_is_not_inherited_by_what_the_supervisor_starts() -> None:
    """Else the keeper would not notice that its supervisor hung up."""
    async with _linked() as keeper:
        assert not os.get_inheritable(keeper.link._writer.get_extra_info("socket").fileno())


@pytest.mark.parametrize("env", [{}, {FD_VARIABLE: ""}, {FD_VARIABLE: "x"}, {FD_VARIABLE: "987654"}])
async def test_a_supervisor_started_by_hand_says_so(env: dict[str, str]) -> None:
    """No traceback, no hang."""
    with pytest.raises(SuperviseError, match=FD_VARIABLE):
        await KeeperLink.inherited(env)
