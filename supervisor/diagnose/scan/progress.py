"""Steps that a program reports while it works: how far it came, and whether it went on after something went wrong."""

import re
from dataclasses import dataclass
from typing import Final

from supervisor.model.ids import Rank

_STEPS: Final = re.compile(
    r"\b(?:global[_ ]?step|step|iter(?:ation)?|num_updates|update|batch|time ?step|nstep|episode|kimg)s?[\]\"']?"
    r"(?: ?[:=/#\[] ?| {1,12})[\"']?(?P<step>\d{1,12})(?:\] ?)?(?: ?(?:/|of) {0,8}(?P<total>\d{1,12}))?",
    re.IGNORECASE,
)
_EPOCHS: Final = re.compile(
    r"\bepochs?[\]\"']?(?: ?[:=/#\[] ?| {1,12})[\"']?(?P<step>\d{1,9})(?:\] ?)?(?: ?(?:/|of) {0,8}(?P<total>\d{1,9}))?",
    re.IGNORECASE,
)
"""Where the line tells no step."""
_FRACTION: Final = re.compile(r"(?<![\d./:-])(?P<step>\d{1,12}) ?/ ?\d{1,12}(?![\d./:-])")
"""`Epoch: [4][1200/5004]`, `811/2920 [====>`: beside words of training a part of a whole is a step of its epoch.

The epoch's end is not the run's, so the whole is no total."""
_BARE: Final = re.compile(r"^\W{0,4}(?:step|iter(?:ation)?|epoch|batch|time ?step)\W{1,3}\d", re.IGNORECASE)
_BAR: Final = re.compile(r"(?P<step>\d{1,12})/(?P<total>\d{1,12}) \[\d{1,3}:\d\d")
_SPENT: Final = re.compile(
    r"\b(?:loss|loss_\w{1,20}|\w{1,20}_loss|ppl|grad_norm|tps|it/s|s/it|throughput|lr|elapsed|eta|kimg|reward)\b",
    re.IGNORECASE,
)
_OF_BAR: Final = b" ["


@dataclass(frozen=True, slots=True)
class Progress:
    """One report."""

    line: int
    step: int
    total: int | None = None
    rank: Rank | None = None
    """Who wrote it, by the label of its line."""


def progress_of(number: int, line: str, rank: Rank | None = None) -> Progress | None:
    """The step that the line (without its label) reports; None where it reports none."""
    match = _BAR.search(line)
    spent = _SPENT.search(line)
    if match is None and (spent or _BARE.search(line)):
        match = _STEPS.search(line) or (_FRACTION.search(line) if spent else None) or _EPOCHS.search(line)
    if match is None:
        return None
    total = match.groupdict().get("total")
    return Progress(number, int(match["step"]), int(total) if total else None, rank)


def may_hold_progress(lines: bytes) -> bool:
    """False: `progress_of` finds nothing in any of these lines. Costs far less than asking it of each."""
    low = lines.lower()
    # `step` and `epoch` in one; spelled out, since this is asked of nearly every line that means something.
    is_step = b"ep" in low or b"iter" in low or b"batch" in low or b"update" in low or _OF_BAR in low
    return is_step or b"loss" in low or b"kimg" in low or b"eta" in low
