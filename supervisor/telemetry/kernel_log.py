"""The kernel's log as its own device gives it: lines with a number that grows until the next boot."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_RECORD_BYTES: Final = 8192
_MOST_READS: Final = 200_000
_FACILITY: Final = 8
"""Numbers below it are the kernel's own words; what a program writes into the log has a higher facility."""
_TEXT_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class KernelLine:
    """One message."""

    number: int
    text: str


def lines(path: str) -> Iterator[KernelLine]:
    """What the kernel itself said since it booted, as far as its buffer goes back; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        rest = b""
        for _ in range(_MOST_READS):
            piece = _read(descriptor)
            if piece == b"":
                break
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if (found := parse(line)) is not None:
                    yield found
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    """The next record of the device, or piece of a file; empty at the end."""
    while True:
        try:
            return os.read(descriptor, _RECORD_BYTES)
        except BlockingIOError:
            return b""
        except OSError as exc:
            # The buffer went round while it was read: the next read is at the oldest line that is left.
            if exc.errno != errno.EPIPE:
                raise


def parse(line: bytes) -> KernelLine | None:
    """A line of /dev/kmsg (`priority,number,microseconds,flags;text`); None for all others and for programs' words."""
    head, is_split, text = line.partition(b";")
    priority, number, *_ = [*head.split(b",", 2), b"", b""]
    if not is_split or not priority.isdigit() or not number.isdigit() or int(priority) >= _FACILITY:
        return None
    return KernelLine(int(number), text[:_TEXT_CHARS].decode(errors="replace"))
