"""`supervise why RUN|JOBID`: where the run stands, what happened, what to do. Works while it lives and afterwards."""

import time

import click

from supervisor.cli.answer import REDACT_HELP, json_answer, without_secrets
from supervisor.cli.array_answer import array_answer, has_begun
from supervisor.cli.found_run import found_run
from supervisor.cli.slurms_word import with_slurms_word
from supervisor.model.verdict import Class
from supervisor.report.conclusion import RESUBMIT, conclude
from supervisor.report.one_run import why_json, why_text
from supervisor.report.standing import Conclusion, Standing
from supervisor.report.view import RunView


@click.command(
    name="why",
    help=(
        "What happened to a run, and what to do: supervise why 81234. "
        "RUN is a job id, a task of an array (81234_3), a run id or a run folder."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.option("--redact", is_flag=True, help=REDACT_HELP)
@click.argument("run")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, redact: bool, run: str) -> None:
    """Tell it; of an array, how its tasks stand."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    view, now = found_run(run), time.time()
    if has_begun(view):
        answer = array_answer(view, now, as_json=as_json)
    else:
        answer = _one(with_slurms_word(view), now, as_json=as_json)
    print(without_secrets(answer, as_json=as_json) if redact else answer)


def _one(view: RunView, now: float, *, as_json: bool) -> str:
    found = conclude(view, now)
    if as_json:
        return json_answer(
            conclusion=found.text,
            blockers=found.blockers,
            job_id=view.job_id,
            run_id=view.run.run_id,
            cluster=view.cluster,
            log=view.log,
            standing=str(found.standing),
            **why_json(view, now),
        )
    return "\n".join(why_text(view, found, now=now, advice=_advice(view, found)))


def _advice(view: RunView, found: Conclusion) -> str:
    """What the table of causes says that a person can do, where the run needs one."""
    if found.standing not in {Standing.STOPPED, Standing.FAILED} or not view.records:
        return ""
    from supervisor.diagnose.taxonomy import cause  # the table takes a moment to read and is seldom needed

    verdict = view.records[-1].verdict
    if verdict.cls in {Class.HARDWARE, Class.NETWORK, Class.PLANNED}:
        otherwise = RESUBMIT
    else:
        otherwise = "look for the reason in the job's output; submitted again, it goes on from its newest checkpoint"
    return cause(verdict.cause).row.next or otherwise
