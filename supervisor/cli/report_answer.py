"""The report as a `--json` answer: on stdout, and as the figures of the evidence."""

from supervisor.cli.answer import json_answer
from supervisor.cli.report_source import Wanted
from supervisor.report.fleet.as_json import as_json
from supervisor.report.fleet.model import FleetReport


def report_json(report: FleetReport, wanted: Wanted) -> str:
    """With the cluster where it is of one."""
    clusters = set(wanted.clusters or report.clusters)
    return json_answer(
        conclusion=report.conclusion,
        blockers=report.blockers,
        cluster=clusters.pop() if len(clusters) == 1 else "",
        **as_json(report),
    )
