"""What the jobs that ran on a node tell beside their incidents: what was interrupted, what went well. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from supervisor.ledger.site.history import JobHistory
from supervisor.report.nodes.blame import MACHINE, PROGRAM, Signs, blamed_nodes
from supervisor.report.nodes.model import Jobs, Look
from supervisor.report.nodes.names import is_node
from supervisor.report.nodes.persons import Persons, RunKey


@dataclass(slots=True)
class _Tally:
    ran: int = 0
    completed: int = 0
    interrupted: int = 0
    program_faults: int = 0
    excluded: int = 0
    left: set[RunKey] = field(default_factory=set)
    """Runs that left the node out."""


def jobs_of(jobs: Sequence[JobHistory], blame: dict[str, Signs], look: Look) -> dict[str, Jobs]:
    """For each node."""
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    went_on: set[RunKey] = set()
    persons = Persons(jobs)
    for history in jobs:
        run = persons.run(history)
        _add(history, run, look, tallies)
        if _went_well(history):
            went_on.add(run)
    return {node: _jobs(tally, blame.get(node, Signs()), went_on) for node, tally in tallies.items()}


def _add(history: JobHistory, run: RunKey, look: Look, tallies: defaultdict[str, _Tally]) -> None:
    begin, end, completed = history.job.at, history.last_at, _went_well(history)
    machine = [one.at for one in history.incidents if one.cls in MACHINE]
    program = [one.at for one in history.incidents if one.cls in PROGRAM]
    blamed = {node for one in history.incidents for node in blamed_nodes(history, one)}
    excluded = [(node, one.at) for one in history.incidents for node in one.left]
    for node in dict.fromkeys(history.job.nodes):
        if not is_node(node) or end < look.begin(node) or begin >= look.until:
            continue
        tally = tallies[node]
        tally.ran += 1
        tally.completed += completed and node not in blamed
        if not history.incidents:
            continue
        tally.interrupted += any(look.has(node, at) for at in machine)
        tally.program_faults += sum(look.has(node, at) for at in program)
        left = sum(gone == node and look.has(node, at) for gone, at in excluded)
        tally.excluded += left
        if left:
            tally.left.add(run)


def _went_well(history: JobHistory) -> bool:
    """To its end: with a run that had left a node out, the program and its data were not the cause."""
    return history.use is not None and history.use.end == "completed"


def _jobs(tally: _Tally, signs: Signs, went_on: set[RunKey]) -> Jobs:
    return Jobs(
        ran=tally.ran,
        completed=tally.completed,
        interrupted=tally.interrupted,
        blaming=len({sign.job for sign in signs.counted}),
        users=len(signs.persons),
        program_faults=tally.program_faults,
        went_on_without=len(tally.left & went_on & {sign.run for sign in signs.all}),
        excluded=tally.excluded,
    )
