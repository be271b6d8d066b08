"""What git knows of the job's code, asked with deadlines and without touching the repository."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from supervisor.diagnose.hunks import parse_diff
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.software import Git, Hunk
from supervisor.redact.text import redacted
from supervisor.slurm.process import run

_log = structlog.stdlib.get_logger(__name__)

ASK_S: Final = 5.0
"""For one question to git: the repository may lie on a slow filesystem."""
_LINES: Final = 400
"""Of all files together whose lines are kept."""
_FILE_BYTES: Final = 256_000
_WIDTH: Final = 300
_FILES: Final = 200
# No lock, no question, no download, no hook or filter of the repository's own.
_QUIET: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
_GIT: Final = ("git", "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_DIFF: Final = ("diff", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules")


async def read_git(folder: str) -> Git | None:
    """Commit, branch and uncommitted changes of the repository around this folder; None where git tells of none."""
    head = (await _ask(folder, "rev-parse", "--show-toplevel", "HEAD", "--abbrev-ref", "HEAD")).splitlines()
    if len(head) != 3:  # noqa: PLR2004  # root, commit, branch
        return None
    root, commit, branch = head
    files, hunks, is_cut = await _differences(root, "HEAD")
    return Git(root=root, commit=commit, branch=branch, dirty=files, hunks=hunks, is_cut=is_cut)


async def differences(root: str, old: str, new: str) -> tuple[Hunk, ...]:
    """How two commits differ, as far as that is little; nothing where git does not know one of them any more."""
    return (await _differences(root, old, new))[1]


async def _differences(root: str, *commits: str) -> tuple[tuple[str, ...], tuple[Hunk, ...], bool]:
    """Files that differ, lines of the small ones, and whether there is more."""
    counts = _counts(await _ask(root, *_DIFF, "--numstat", "-z", *commits, "--"))
    small = _small(Path(root), counts)
    hunks: tuple[Hunk, ...] = ()
    if small:
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        hunks = parse_diff(await _ask(root, *_DIFF, "-U0", *prefixes, *commits, "--", *small))
    kept = tuple(map(_without_secrets, hunks))
    files = tuple(name for name, _ in counts)
    return files[:_FILES], kept, len({hunk.path for hunk in kept}) < len(files)


def _counts(numstat: str) -> list[tuple[str, int]]:
    """File and changed lines, from `--numstat -z`; a binary file has more than can be kept."""
    found = []
    for entry in filter(None, numstat.split("\0")):
        added, removed, name = (*entry.split("\t", 2), "", "")[:3]
        is_text = added.isdecimal() and removed.isdecimal()
        found.append((name, int(added) + int(removed) if is_text else _LINES + 1))
    return found


def _small(root: Path, counts: Sequence[tuple[str, int]]) -> list[str]:
    """Files whose lines are kept: those with the fewest changes first, until there are too many."""
    chosen, left = [], _LINES
    for name, lines in sorted(counts, key=lambda one: one[1]):
        if lines <= left and _size(root / name) <= _FILE_BYTES:
            chosen.append(name)
            left -= lines
    return chosen[:_FILES]


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # deleted: its lines come from git
        return 0


def _without_secrets(hunk: Hunk) -> Hunk:
    return Hunk(path=hunk.path, line=hunk.line, old=_shown(hunk.old), new=_shown(hunk.new))


def _shown(lines: Sequence[str]) -> tuple[str, ...]:
    """All lines at once: a private key has many, and none of them tells what it is."""
    return tuple(line[:_WIDTH] for line in redacted("\n".join(lines)).split("\n")) if lines else ()


async def _ask(folder: str, *words: str) -> str:
    """What git prints; nothing where it refuses, is missing or is late: then the job's code is not known."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        answer = await run([*_GIT, "-C", folder, *words], deadline_s=ASK_S, env={**env, **_QUIET})
    except (SlurmFailed, NoSlurm) as exc:
        _log.info("git.no_answer", folder=folder, reason=exc)
        return ""
    return answer.stdout if answer.code == 0 else ""
