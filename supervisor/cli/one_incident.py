"""The incident that a person names by its number; without a number the last one."""

from supervisor.errors import UsageError
from supervisor.model.records import IncidentRecord
from supervisor.report.view import RunView


def chosen(view: RunView, number: int | None) -> IncidentRecord:
    """The record. Raises `UsageError` naming the incidents that there are."""
    if not view.records:
        raise UsageError(f"run {view.run.run_id} has no incident")
    if number is None:
        return view.records[-1]
    found = next((record for record in view.records if record.incident == number), None)
    if found is None:
        known = ", ".join(str(record.incident) for record in view.records)
        raise UsageError(f"run {view.run.run_id} has no incident {number}; it has {known}")
    return found
