"""The site's ledger, read: every job of a window of time, and what could not be read."""

import gc
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from supervisor.ledger.site.answering import must_answer
from supervisor.ledger.site.gather import Gatherer
from supervisor.ledger.site.history import JobHistory, SiteHistory
from supervisor.ledger.site.lines import Lines
from supervisor.ledger.site.one_file import Keeps, OneFile
from supervisor.ledger.site.share import Share
from supervisor.ledger.site.users import read_key
from supervisor.ledger.site.walk import Opened, Problems, Window, open_files

_WHOLE: Final = Share()
_STEP: Final = 2 * 1024 * 1024
"""Bytes of lines that are read one after the other: to change from reading to counting and back for every small file
costs more than it saves memory."""


def read_site(
    root: Path,
    since: float | None = None,
    until: float | None = None,
    clusters: Collection[str] | None = None,
) -> SiteHistory:
    """What the ledger knows of jobs that ran between these times (seconds since the epoch), each job whole.

    Nothing in a file is believed beyond its owner, and nothing that is wrong with one costs the others. Raises
    `UsageError` where the ledger itself cannot be read, `SuperviseError` where it gives no answer.
    """
    must_answer(root)
    window, problems = Window(since=since, until=until, clusters=clusters), Problems()
    gatherer = Gatherer(read_key(root), problems)
    with without_collection():
        for _ in read_files(root, window, gatherer, problems):
            pass  # one after the other: all are wanted at once
        jobs = gatherer.jobs()
    return SiteHistory(jobs=tuple(job for job in jobs if is_asked_for(job, window)), problems=problems.all())


def read_files(root: Path, window: Window, keeps: Keeps, problems: Problems, share: Share = _WHOLE) -> Iterator[None]:
    """Give away every line of a share of the ledger, some in each step. Raises as `read_site` does."""
    size = 0
    for opened in open_files(root, window, problems, share):
        for piece in _read(opened, keeps, problems):
            size += piece
            if size >= _STEP:
                size = 0
                yield
    yield


def _read(opened: Opened, keeps: Keeps, problems: Problems) -> Iterator[int]:
    """The sizes of its pieces."""
    lines, owner = Lines(), opened.owner
    file = OneFile(keeps, opened.path, opened.folder, owner, is_of_ledger=opened.is_of_ledger)
    at, end = opened.begin, opened.end
    try:
        while at < end and (piece := os.pread(opened.descriptor, min(lines.room, end - at), at)):
            at += len(piece)
            file.take(lines.take(piece))
            yield len(piece)
    except OSError as exc:
        problems.add(f"{opened.path} ({owner}) cannot be read to its end: {exc.strerror}")
    lines.end()
    file.end()
    if lines.left_out:
        problems.add(f"{opened.path} ({owner}): left out: {lines.left_out}")
    for told in file.refused():
        problems.add(f"{opened.path} ({owner}) {told}")


def is_asked_for(history: JobHistory, window: Window) -> bool:
    """The job ran within the window."""
    is_in_time = (window.until is None or history.job.at < window.until) and (
        window.since is None or history.last_at >= window.since
    )
    return is_in_time and (window.clusters is None or history.job.cluster in window.clusters)


@contextmanager
def without_collection() -> Iterator[None]:
    """Without the collector: a million facts hold no cycles, and looking for some takes four times as long as they do.

    Nothing else runs in a process that reads a ledger. What was read is not looked at later either.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
