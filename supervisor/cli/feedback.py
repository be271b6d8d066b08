"""`supervise feedback RUN|JOBID [INCIDENT] --cause C`: a person says what it really was. Kept on this site only."""

import time

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.corrections import list_json, list_text
from supervisor.cli.found_run import found_run
from supervisor.cli.known_runs import known_runs
from supervisor.cli.one_incident import chosen
from supervisor.cli.taxonomy_words import ASK, all_causes, causes_json, known_cause
from supervisor.errors import UsageError
from supervisor.ledger.feedback import Feedback, write_feedback
from supervisor.model.ids import NodeName
from supervisor.model.records import IncidentRecord
from supervisor.report.correction import corrected_json, corrected_text
from supervisor.report.view import RunView
from supervisor.version import VERSION


@click.command(
    name="feedback",
    help=(
        "Say what an interruption really was: supervise feedback 81234 2 --cause cuda_oom --note 'eval batch'. "
        "RUN is a job id, a run id or a run folder; without INCIDENT its last one is meant. The correction is kept "
        "beside the verdict (feedback.json in the incident's folder) and leaves this site never; why shows it, "
        "replay tells whether today's rules agree. --list shows all corrections that are known here, or those of RUN."
    ),
)
@click.option("--cause", help="as verdicts name it; '?' lists all causes")
@click.option("--class", "cls", help="its class, as a check; a cause has only one")
@click.option("--node", "nodes", multiple=True, metavar="NODE", help="who was to blame; can be given several times")
@click.option("--note", default="", help="one sentence for those who read it later")
@click.option("--list", "is_list", is_flag=True, help="show corrections")
@click.option("--dry-run", is_flag=True, help="check it and show what would be kept")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("run", required=False)
@click.argument("incident", type=int, required=False)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    cause: str | None,
    cls: str | None,
    nodes: tuple[str, ...],
    note: str,
    is_list: bool,
    dry_run: bool,
    as_json: bool,
    run: str | None,
    incident: int | None,
) -> None:
    """Keep it, or list what was kept."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    if is_list:
        views = [found_run(run)] if run else known_runs()
        print(list_json(views) if as_json else "\n".join(list_text(views)))
        return
    if cause == ASK:
        print(causes_json() if as_json else "\n".join(all_causes()))
        return
    if not run or not cause:
        raise UsageError("say which run and what it really was: supervise feedback 81234 --cause cuda_oom")
    view = found_run(run)
    record = chosen(view, incident)
    what = known_cause(cause, cls)
    feedback = Feedback(
        at=time.time(),
        version=VERSION,
        cause=what.name,
        cls=what.cls,
        nodes=_known_nodes(nodes, record),
        note=note,
        was=f"{record.verdict.cls}/{record.verdict.cause}",
    )
    is_dry = dry_run or bool(getattr(ctx.obj, "dry_run", False))
    if not is_dry:
        write_feedback(view.folder, record.incident, feedback)
    print(_told(view, record, feedback, is_dry=is_dry, as_json=as_json))


def _told(view: RunView, record: IncidentRecord, feedback: Feedback, *, is_dry: bool, as_json: bool) -> str:
    would = "would be " if is_dry else ""
    head = (
        f"Incident {record.incident} of run {view.run.run_id} {would}{corrected_text(feedback)}; "
        f"the verdict was {feedback.was}."
    )
    if as_json:
        return json_answer(
            conclusion=head,
            job_id=view.job_id,
            run_id=view.run.run_id,
            cluster=view.cluster,
            log=view.log,
            incident=record.incident,
            corrected=corrected_json(feedback),
            is_kept=not is_dry,
        )
    name = view.job_id or str(view.folder)
    return f"{head}\nWhat today's rules say: supervise replay {name} {record.incident}"


def _known_nodes(nodes: tuple[str, ...], record: IncidentRecord) -> tuple[NodeName, ...]:
    """Raises `UsageError` for a node that the job did not have; where its nodes are not known, any is believed."""
    had = record.nodes_before
    foreign = [node for node in nodes if had and node not in had]
    if foreign:
        raise UsageError(f"{', '.join(foreign)} was not in the job at incident {record.incident}: {', '.join(had)}")
    return tuple(NodeName(node) for node in dict.fromkeys(nodes))
