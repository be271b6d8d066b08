"""Lines of the stdout transport: short enough to arrive whole, put together again where a message needs several."""

from collections import OrderedDict
from typing import Final

from supervisor.bus.codec import MAX_PAYLOAD_BYTES

LINE_BYTES: Final = 1000
# slurmstepd passes a task's output on in pieces of at most 1024 bytes, between which other tasks' pieces may come.
_PART: Final = b"~"
_FIELDS: Final = 5
_MOST_PARTS: Final = 2 * MAX_PAYLOAD_BYTES // LINE_BYTES
_MOST_SENDERS: Final = 20_000


def lines_of(sender: str, serial: int, payload: bytes) -> list[bytes]:
    """The lines that carry one message, each with its newline and at most `LINE_BYTES` long.

    A short message is its own line; a longer one goes in parts, `~sender serial index count text`.
    """
    if len(payload) < LINE_BYTES:
        return [payload + b"\n"]
    room = LINE_BYTES - len(f"~{sender} {serial} 9999 9999 \n".encode())
    parts = [payload[start : start + room] for start in range(0, len(payload), room)]
    heads = (f"~{sender} {serial} {index} {len(parts)} ".encode() for index in range(len(parts)))
    return [head + part + b"\n" for head, part in zip(heads, parts, strict=True)]


class LineBuffer:
    """Bytes as they come in, whole lines out. A line beyond the size of any honest message is left out."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_too_long = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their newlines; empty ones are left out."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if lines and self._is_too_long:
            self._is_too_long = False
            del lines[0]
        if len(self._rest) > MAX_PAYLOAD_BYTES:
            self._rest, self._is_too_long = b"", True
        return [line for line in lines if line]

    def skip_to_newline(self) -> None:
        """The reading starts amid a line: what comes before the next newline is none."""
        self._is_too_long = True


class Parts:
    """Puts messages together that came in parts; what never becomes whole is forgotten with the next one."""

    def __init__(self) -> None:
        self._open: OrderedDict[bytes, tuple[bytes, dict[int, bytes]]] = OrderedDict()

    def take(self, line: bytes) -> bytes | None:
        """The message that is whole with this line, None where more must come or the line is no part of any."""
        if not line.startswith(_PART):
            return line
        fields = line[1:].split(b" ", _FIELDS - 1)
        if len(fields) != _FIELDS or not (fields[2].isdigit() and fields[3].isdigit()):
            return None
        sender, serial, index, count, text = fields
        return self._add(sender, serial + b"/" + count, int(index), int(count), text)

    def _add(self, sender: bytes, message: bytes, index: int, count: int, text: bytes) -> bytes | None:
        found = self._open.pop(sender, None)
        parts = found[1] if found is not None and found[0] == message else {}
        if not index < count <= _MOST_PARTS:
            return None
        parts[index] = text
        if len(parts) == count:
            return b"".join(parts[each] for each in range(count))
        self._open[sender] = (message, parts)
        if len(self._open) > _MOST_SENDERS:
            self._open.popitem(last=False)
        return None
