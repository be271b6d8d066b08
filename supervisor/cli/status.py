"""`supervise status RUN|JOBID`: how a run is doing at this moment."""

import time

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.array_answer import array_answer, has_begun
from supervisor.cli.found_run import found_run
from supervisor.cli.slurms_word import with_slurms_word
from supervisor.report.conclusion import conclude
from supervisor.report.one_run import status_json, status_text


@click.command(
    name="status",
    help=(
        "How a run is doing: supervise status 81234. "
        "RUN is a job id, a task of an array (81234_3), a run id or a run folder."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("run")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, run: str) -> None:
    """Tell it from what the supervisor wrote last; Slurm is asked only of a job that has not begun."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    view, now = found_run(run), time.time()
    if has_begun(view):
        print(array_answer(view, now, as_json=as_json))
        return
    view = with_slurms_word(view)
    found = conclude(view, now)
    if not as_json:
        print("\n".join(status_text(view, found, now=now)))
        return
    print(
        json_answer(
            conclusion=found.text,
            blockers=found.blockers,
            job_id=view.job_id,
            run_id=view.run.run_id,
            cluster=view.cluster,
            log=view.log,
            standing=str(found.standing),
            **status_json(view, now),
        )
    )
