"""Kept versions of ours that no run needs any more."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from supervisor.errors import NoSuchRun, RunFolderUnusable
from supervisor.ledger.run_folder import RUN_FILE, read_run
from supervisor.runtime.kept import unused


def old_versions(bases: Iterable[Path], *, without: Iterable[Path] = ()) -> Iterator[Path]:
    """Of these folders of run folders, once the runs in `without` have gone.

    Where one run cannot be read, or a folder cannot be listed, all versions beside it stay.
    """
    gone = set(without)
    for base in dict.fromkeys(bases):
        try:
            runs = [place for place in base.iterdir() if place not in gone and (place / RUN_FILE).exists()]
            used = {read_run(run).runtime for run in runs}
            yield from unused(base, used, now=time.time())
        except (OSError, NoSuchRun, RunFolderUnusable):
            continue
