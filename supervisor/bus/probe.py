"""Whether a broker really is the run's own: one MQTT handshake by hand, over TLS pinned to its certificate."""

import asyncio
import contextlib
import ssl
from typing import Final

from supervisor.bus.credentials import Secrets
from supervisor.bus.tls import client_context

_CONNECT: Final = 0x10
_USER_PASSWORD_CLEAN: Final = 0xC2
_PROTOCOL: Final = b"\x00\x04MQTT\x04"
_KEEPALIVE_S: Final = 10
_ACCEPTED: Final = b"\x20\x02\x00\x00"
_DISCONNECT: Final = b"\xe0\x00"
_CLOSE_S: Final = 0.5


async def is_ours(secrets: Secrets, port: int, *, deadline_s: float) -> bool:
    """Whether who listens there shows the run's certificate and takes its password."""
    try:
        async with asyncio.timeout(deadline_s):
            return await _handshake(secrets, port)
    except (OSError, asyncio.IncompleteReadError, TimeoutError):
        return False


async def _handshake(secrets: Secrets, port: int) -> bool:
    reader, writer = await asyncio.open_connection(
        secrets.address, port, ssl=client_context(secrets.certificate_pem), server_hostname=secrets.address
    )
    try:
        writer.write(connect_packet("supervise-probe", secrets.user, secrets.password))
        answer = await reader.readexactly(len(_ACCEPTED))
        writer.write(_DISCONNECT)
    finally:
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await writer.wait_closed()
    return answer == _ACCEPTED


def connect_packet(client: str, user: str, password: str) -> bytes:
    """MQTT 3.1.1's first packet with a clean session and these three texts."""
    texts = b"".join(len(text.encode()).to_bytes(2, "big") + text.encode() for text in (client, user, password))
    body = _PROTOCOL + bytes([_USER_PASSWORD_CLEAN]) + _KEEPALIVE_S.to_bytes(2, "big") + texts
    return bytes([_CONNECT]) + _length(len(body)) + body


def _length(number: int) -> bytes:
    digits = bytearray()
    while True:
        number, digit = divmod(number, 128)
        digits.append(digit | (0x80 if number else 0))
        if not number:
            return bytes(digits)
