"""The newest whole checkpoint of a folder or URL. Blocks: to be called in a thread or process of its own."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from supervisor.checkpoint.listing import Candidate, candidates
from supervisor.checkpoint.store import Deadline, Store, store_of
from supervisor.checkpoint.verify import Checked, verify
from supervisor.errors import CheckpointsUnreadable
from supervisor.model.facts import Checkpoint, Choice

_PASSED_OVER: Final = 20
"""Broken ones that are looked at before we say that something is wrong with the store, not with them."""
_MUCH_SMALLER: Final = 0.5


def find_newest(
    url: str,
    *,
    deadline_s: float,
    known_step: int | None = None,
    avoid: Sequence[str] = (),
    clock: Callable[[], float] = time.time,
) -> Choice:
    """The newest whole checkpoint below `url`, and the newer ones that were passed over.

    `known_step`: the newest step that is known to have a checkpoint; an empty listing is then not believed.
    `avoid`: paths that an attempt could not begin with; they are passed over unseen.
    Never raises: a store that gives no trustworthy answer makes a `Choice` that says so and why. The deadline is
    kept between two questions to the store; a filesystem that never answers one blocks the caller's thread.
    """
    deadline = _deadline(url, deadline_s)
    passed: list[Checkpoint] = []
    try:
        store, path = store_of(url)
        found = candidates(store.entries(path))
        refused = [one for one in found if one.path in avoid]
        passed.extend(_refused(one) for one in refused)
        usable = [one for one in found if one not in refused]
        chosen = _choose(store, usable, passed, now=clock(), deadline=deadline)
    except FileNotFoundError:
        why = f"{url} does not exist"
        return Choice(chosen=None, is_trustworthy=known_step is None, why=_why(why, known_step))
    except CheckpointsUnreadable as exc:
        return Choice(chosen=None, passed_over=tuple(passed), is_trustworthy=False, why=str(exc))
    return _judged(url, found, chosen, passed, known_step)


def check_again(checkpoint: Checkpoint, *, deadline_s: float, clock: Callable[[], float] = time.time) -> Checkpoint:
    """The same checkpoint looked at anew, right before it is used. Never raises; blocks as `find_newest` does."""
    parent, _, name = checkpoint.path.rstrip("/").rpartition("/")
    deadline = _deadline(checkpoint.path, deadline_s)
    try:
        store, path = store_of(parent or "/")
        again = [one for one in candidates(store.entries(path)) if one.entries[0].name == name]
        if again:
            return verify(store, again[0], now=clock(), deadline=deadline).checkpoint
    except FileNotFoundError:
        pass
    except CheckpointsUnreadable as exc:
        return _with(checkpoint, "unreadable", str(exc))
    return _with(checkpoint, "gone", "it is no longer there")


def _with(checkpoint: Checkpoint, verdict: str, why: str) -> Checkpoint:
    return Checkpoint(
        path=checkpoint.path,
        step=checkpoint.step,
        kind=checkpoint.kind,
        verdict=verdict,  # type: ignore[arg-type]  # one of its words
        why=why,
    )


def _refused(candidate: Candidate) -> Checkpoint:
    why = "an attempt could not begin with it"
    return Checkpoint(path=candidate.path, step=candidate.step, kind="", verdict="corrupt", why=why)


def _deadline(url: str, deadline_s: float) -> Deadline:
    ends = time.monotonic() + deadline_s

    def check() -> None:
        if time.monotonic() > ends:
            raise CheckpointsUnreadable(f"{url} gave no answer within {deadline_s:g} s")

    return check


def _choose(
    store: Store, found: list[Candidate], passed: list[Checkpoint], *, now: float, deadline: Deadline
) -> Checkpoint | None:
    """The first whole one. One without an end of its own is compared with the next older one before it is believed."""
    doubtful: Checked | None = None
    for candidate in found:
        deadline()
        checked = verify(store, candidate, now=now, deadline=deadline)
        if doubtful and checked.checkpoint.verdict == "whole":
            if why := _is_smaller(doubtful, checked):
                passed.append(_with(doubtful.checkpoint, "incomplete", why))
                doubtful = None
            else:
                return doubtful.checkpoint
        if checked.checkpoint.verdict != "whole":
            passed.append(checked.checkpoint)
        elif checked.is_proven:
            return checked.checkpoint
        else:
            doubtful = doubtful or checked
        if len(passed) >= _PASSED_OVER:
            raise CheckpointsUnreadable(f"the newest {len(passed)} checkpoints are all broken: {passed[0].why}")
    return doubtful.checkpoint if doubtful else None


def _is_smaller(newer: Checked, older: Checked) -> str:
    """Why the newer one seems to lack something, empty where it does not."""
    if newer.files < older.files:
        return f"{newer.files} files, step {older.checkpoint.step} has {older.files}"
    if newer.checkpoint.size_bytes < older.checkpoint.size_bytes * _MUCH_SMALLER:
        return f"{newer.checkpoint.size_bytes} bytes, step {older.checkpoint.step} has {older.checkpoint.size_bytes}"
    return ""


def _judged(
    url: str, found: list[Candidate], chosen: Checkpoint | None, passed: list[Checkpoint], known_step: int | None
) -> Choice:
    """An unread one may be the newest, and a listing without the step we know of is a listing that lies."""
    over = tuple(one for one in passed if chosen is None or one.step >= chosen.step)
    unread = [one for one in over if one.verdict == "unreadable"]
    if unread:
        return Choice(chosen=chosen, passed_over=over, is_trustworthy=False, why=unread[0].why)
    if chosen:
        return Choice(chosen=chosen, passed_over=over)
    if not found:
        why = f"{url} holds nothing that is named by a step"
        return Choice(chosen=None, is_trustworthy=known_step is None, why=_why(why, known_step))
    return Choice(chosen=None, passed_over=over, why=f"none of {len(found)} in {url} is whole: {over[0].why}")


def _why(why: str, known_step: int | None) -> str:
    return why if known_step is None else f"{why}, but step {known_step} was saved there"
