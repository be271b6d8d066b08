"""What a person is told: short, without secrets. Pure."""

from typing import Final, Literal

import msgspec

from supervisor.model.base import Fact, readable
from supervisor.model.ids import JobId, NodeName, RunId
from supervisor.redact.text import redacted

Kind = Literal["stopped", "interrupted", "planned", "resubmitted", "cancelled", "completed"]
_TITLE: Final = 200
_TEXT: Final = 2000
_NODES: Final = 32


class Message(Fact, frozen=True, kw_only=True):
    """One message; a webhook gets it as JSON."""

    schema: int = 1
    kind: Kind
    title: str
    """One line."""
    text: str
    """A few lines, the title not among them."""
    run_id: RunId
    job_id: JobId
    at: float
    """Seconds since the epoch."""
    cls: str = ""
    """hardware, network, software, data, planned or unknown; empty where nothing interrupted the run."""
    cause: str = ""
    nodes: tuple[NodeName, ...] = ()
    fingerprint: str = ""
    """The same failure has the same one."""
    held_back: int = 0
    """Messages of this run that were not sent before this one, since there were too many."""

    @property
    def key(self) -> str:
        """Two messages with one key tell the same: a stop is news though the interruption before it was told."""
        return f"{self.kind}:{self.fingerprint}"


def bounded(message: Message) -> Message:
    """As it may leave the job: without secrets, with words that print, of limited length."""
    return msgspec.structs.replace(
        message,
        title=_clean(" ".join(message.title.split()), _TITLE),
        text=_clean(message.text, _TEXT),
        nodes=message.nodes[:_NODES],
        fingerprint=redacted(message.fingerprint)[:_TITLE],
    )


def _clean(text: str, limit: int) -> str:
    told: str = readable(redacted(text))
    printable = "".join(letter for letter in told if letter == "\n" or letter.isprintable())
    return printable if len(printable) <= limit else f"{printable[: limit - 1]}…"
