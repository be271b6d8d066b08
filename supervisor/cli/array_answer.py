"""How an array stands: its tasks, each of which is a run of its own."""

from supervisor.cli.answer import json_answer
from supervisor.cli.known_runs import views
from supervisor.cli.slurms_word import with_slurms_words
from supervisor.ledger.array import count_tasks
from supervisor.report.many_runs import list_conclusion, list_json, list_text, listed
from supervisor.report.view import RunView, task_folders


def has_begun(view: RunView) -> bool:
    """It is an array of which some tasks have begun; before that it waits as one job does."""
    return view.is_array and bool(task_folders(view))


def array_answer(view: RunView, now: float, *, as_json: bool) -> str:
    """The tasks that have begun as a list, and how many have not."""
    tasks = listed(with_slurms_words(views([view.folder])), now)
    left = max(0, count_tasks(view.run.array) - len(tasks))
    more = f" {left} {'has' if left == 1 else 'have'} not begun." if left else ""
    text = f"Array {view.run.array}, each task is a run of its own. {list_conclusion(tasks)}{more}"
    if as_json:
        return json_answer(
            conclusion=text,
            job_id=view.job_id,
            run_id=view.run.run_id,
            cluster=view.cluster,
            log=view.log,
            tasks=list_json(tasks),
            not_begun=left,
        )
    example = f"One task: supervise why {view.job_id or '<job>'}_<task>"
    return "\n".join([text, *list_text(tasks, now=now), example])
