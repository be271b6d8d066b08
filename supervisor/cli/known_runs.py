"""All runs that this user can be told about from here."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from supervisor.errors import NoSuchRun, RunFolderUnusable
from supervisor.ledger.find_run import list_runs
from supervisor.report.view import RunView, read_view, task_folders


def known_runs() -> list[RunView]:
    """Those of this folder and of the user's index, tasks of arrays one by one."""
    return views(list_runs(workdir=Path.cwd(), env=os.environ))


def views(folders: Iterable[Path]) -> list[RunView]:
    """A look at each; a folder that cannot be read is left out, an array gives its tasks once some have begun."""
    found: dict[Path, RunView] = {}
    for folder in folders:
        with suppress(NoSuchRun, RunFolderUnusable):
            view = read_view(folder)
            tasks = task_folders(view) if view.is_array else []
            found |= {task: read_view(task) for task in tasks} or {folder: view}
    return list(found.values())
