"""`supervise replay RUN|JOBID [INCIDENT]`: what today's rules say of evidence that was kept. Changes nothing."""

from collections.abc import Iterator
from pathlib import Path

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.found_run import found_run
from supervisor.cli.one_incident import chosen
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.reading.packs import site_catalogue
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.errors import PayloadRefused
from supervisor.ledger.records import FEEDBACK, VERDICT, incident_folder
from supervisor.model.records import IncidentRecord
from supervisor.report.replayed import Replayed, replay_conclusion, replay_json, replay_text
from supervisor.report.view import RunView
from supervisor.version import VERSION


@click.command(
    name="replay",
    help=(
        "Judge the saved evidence of a run's incidents again, with today's rules and your site's packs, and show then "
        "and now side by side: supervise replay 81234. RUN is a job id, a run id or a run folder; INCIDENT one number. "
        "Where a person has corrected a verdict (supervise feedback), it is told whether the rules agree now. "
        "Exit code 0: all as before; 1: class, cause or blame of at least one differs. An incident whose evidence was "
        "not kept is told and counts as neither."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.option("--packs", type=click.Path(path_type=Path), help="folder with signatures of your own")
@click.argument("run")
@click.argument("incident", type=int, required=False)
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, packs: Path | None, run: str, incident: int | None) -> None:
    """Judge again and tell the difference."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    view = found_run(run)
    catalogue = site_catalogue(packs)
    records = view.records if incident is None else (chosen(view, incident),)
    found = [_replayed(view, record, catalogue) for record in records]
    text, blockers = replay_conclusion(found, VERSION)
    code = ExitCode.FAILED if any(one.differs for one in found) else ExitCode.OK
    if as_json:
        head = {"job_id": view.job_id, "run_id": view.run.run_id, "cluster": view.cluster, "log": view.log}
        print(json_answer(conclusion=text, blockers=blockers, ends_with=code, **head, **replay_json(found)))
    else:
        print("\n".join(_screen(text, blockers, found)))
    ctx.exit(code)


def _screen(text: str, blockers: tuple[str, ...], found: list[Replayed]) -> Iterator[str]:
    yield text
    yield from (f"  to do: {blocker}" for blocker in blockers)
    if found:
        yield ""
        yield from replay_text(found)


def _replayed(view: RunView, record: IncidentRecord, catalogue: Catalogue) -> Replayed:
    feedback = view.feedback.get(record.incident)
    folder = incident_folder(view.folder, record.incident)
    if not any(path.name not in {VERDICT, FEEDBACK} for path in folder.glob("*")):
        return Replayed(record=record, now=None, why_not="its evidence was not kept", feedback=feedback)
    try:
        now = diagnose(read_bundle(folder), catalogue)
    except (OSError, PayloadRefused) as exc:
        return Replayed(record=record, now=None, why_not=str(exc), feedback=feedback)
    return Replayed(record=record, now=now, feedback=feedback)
