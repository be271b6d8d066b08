"""Stacks of hung ranks: most wait in a collective; the one that does not is the one they wait for."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.model.ids import Rank

_PYSPY: Final = re.compile(
    r"^\s{1,16}(?P<name>[\w.<>:~]{1,200}) \((?P<file>[^()]{1,300}?)(?::(?P<line>\d{1,9}))?\)\s*$"
)
_FAULT: Final = re.compile(r'^\s{1,16}File "(?P<file>[^"]{1,300})", line (?P<line>\d{1,9}) in (?P<name>.{1,200})$')
_COLLECTIVE: Final = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|_wait|wait_tensor|synchroni[sz]e|recv|send|"
    r"gather|scatter|nccl|mpi_|allreduce|exchange|reduce_grads|finish_grad_sync",
    re.IGNORECASE,
)
_LOCAL_WAIT: Final = re.compile(
    r"dataloader|threading\.py|queue|(?<!b)lock|acquire|popen|\bfork|subprocess|socket|\bopen\b|(?:\b|_)read(?:\b|_)",
    re.IGNORECASE,
)
_FRAMES: Final = 8
MAIN: Final = '"MainThread"'
"""What a dump of py-spy says of the thread that counts."""


def frame_of(line: str) -> str | None:
    """The frame that a line of py-spy or faulthandler shows: `name (file:line)`."""
    match = _PYSPY.match(line) or _FAULT.match(line)
    if match is None:
        return None
    return f"{match['name'].strip()} ({match['file'].rpartition('/')[2]}:{match['line'] or '?'})"


def main_thread(lines: Iterable[str]) -> tuple[str, ...]:
    """Frames of the main thread, innermost first; empty where there are none."""
    frames: list[str] = []
    is_inside = False
    for line in lines:
        if MAIN in line or line.startswith("Current thread"):
            frames, is_inside = [], True
        elif is_inside and (frame := frame_of(line)):
            frames.append(frame)
        elif is_inside and frames:
            break
    return tuple(frames[:_FRAMES])


def find(stacks: Mapping[Rank, tuple[str, ...]], sources: Mapping[Rank, str]) -> Iterator[Finding]:
    """The ranks whose main thread is not in a collective while those of others are."""
    waiting = {rank for rank, frames in stacks.items() if _is_in_collective(frames)}
    odd = [rank for rank, frames in stacks.items() if frames and rank not in waiting]
    if not waiting or not odd or len(odd) > len(waiting):
        return
    for rank in sorted(odd):
        frames = stacks[rank]
        yield Finding(
            signature="stack_not_in_collective",
            role="echo",
            cause="deadlock",
            weight=0.62,
            source=sources[rank],
            text=f"rank {rank} is in {frames[0]} while {len(waiting)} others wait in a collective",
            rank=rank,
        )


def _is_in_collective(frames: tuple[str, ...]) -> bool:
    """Its innermost frames are those of a collective. One that waits for its own loader or a lock is not."""
    inner = frames[:3]
    return any(_COLLECTIVE.search(frame.partition(" (")[0]) for frame in inner) and not _LOCAL_WAIT.search(inner[0])
