"""The policy of each cause, as a row of a table and in words: taxonomy, table of policy and settings together. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from supervisor.core import policy_table
from supervisor.diagnose.taxonomy import Cause, causes
from supervisor.model.verdict import Class, Retry
from supervisor.report.words import duration
from supervisor.settings import Settings

HEAD: Final = ("CAUSE", "RERUN", "PAUSE", "RESTARTS", "NODE", "ALSO")
_RERUN: Final = {
    Retry.YES: "yes",
    Retry.ONCE: "yes",
    Retry.NO: "no",
    Retry.SKIP: "left out",
    Retry.NEVER: "never",
}
_WORDS: Final = {
    Retry.YES: "yes: it can succeed without a change",
    Retry.ONCE: "yes, until the same failure comes again with no new step between",
    Retry.NO: "no: it would fail the same way",
    Retry.SKIP: "no: it would meet the same data (--skip-data true, where the program leaves out SUPERVISE_SKIP)",
    Retry.NEVER: "never: a person ended it",
}
_LADDER: Final = (
    "same nodes, a spare, fewer nodes (--min-nodes), another job without the excluded nodes, Slurm's requeue, stop"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cause."""

    what: Cause
    policy: policy_table.Row
    skips: bool
    """The program leaves out what it is told to."""
    most: int
    """Restarts of any kind."""

    @property
    def cause(self) -> str:
        """Its name."""
        return self.what.name

    @property
    def is_final(self) -> bool:
        """No rerun at all."""
        retry = self.what.row.retry
        is_hopeless = retry is Retry.NO and not self.policy.one_more
        return retry is Retry.NEVER or is_hopeless or (retry is Retry.SKIP and not self.skips)

    @property
    def rerun(self) -> str:
        """Whether one is made."""
        if self.what.row.retry is Retry.NO and self.policy.one_more:
            return "one more"
        return "no" if self.is_final and self.what.row.retry is not Retry.NEVER else _RERUN[self.what.row.retry]

    def cells(self) -> tuple[str, ...]:
        """Of the table."""
        limit = min([self.most, *(one.budget for one in self.policy.limits)])
        also = [*(["roll back"] if self.policy.rollback else []), *([self.what.row.how] if self.what.row.how else [])]
        return (
            f"{self.what.cls}/{self.cause}",
            self.rerun,
            duration(self.policy.wait_s) if self.policy.wait_s and not self.is_final else "-",
            "-" if self.is_final else str(limit),
            "leaves" if self.what.row.exclude else "stays",
            ", ".join(dict.fromkeys(also)) or "-",
        )

    def as_json(self) -> dict[str, Any]:
        """For a script."""
        return {
            "class": str(self.what.cls),
            "cause": self.cause,
            "retry": str(self.what.row.retry),
            "rerun": self.rerun,
            "exclude": self.what.row.exclude,
            "wait_s": self.policy.wait_s,
            "wait_most_s": self.policy.wait_most_s,
            "one_more": self.policy.one_more,
            "rollback": self.policy.rollback,
            "budgets": {one.name: one.budget for one in self.policy.limits},
        }


def rows(settings: Settings) -> list[Row]:
    """All causes, in the taxonomy's order."""
    table, skips, most = policy_table.table(settings.policy), settings.skip_data, settings.max_restarts
    return [Row(what=one, policy=table.row(one.name, one.cls), skips=skips, most=most) for one in causes().values()]


def head(settings: Settings) -> list[str]:
    """What counts for all causes."""
    mode = "" if settings.mode == "act" else "In mode observe nothing of this is done. "
    bounds = (
        f"A run is restarted at most {settings.max_restarts} times, at most {settings.max_restarts_without_progress} "
        f"times in a row without a new step, and until interruptions have cost {settings.max_lost_share:.0%} of its "
        "node time."
    )
    return [
        mode + bounds,
        "The same failure twice with no new step between stops it (but for hardware and network).",
        *([f"Changed here: {settings.policy}"] if settings.policy else []),
    ]


def about(row: Row, settings: Settings) -> str:
    """Everything about one cause."""
    return "\n".join(
        [
            f"{row.what.cls}/{row.cause}: {row.what.row.says}",
            *(f"  {name:<10}{text}" for name, text in _sentences(row, settings)),
        ]
    )


def _sentences(row: Row, settings: Settings) -> Iterator[tuple[str, str]]:
    yield "rerun", _rerun_words(row)
    leaves = "the blamed node leaves the job, and another job does not get it" if row.what.row.exclude else ""
    if row.what.row.odd:
        leaves = "the blamed node leaves only where this one node is set up differently"
    if leaves:
        yield "node", leaves
    if row.is_final:
        if row.what.row.next:
            yield "then", row.what.row.next
        return
    yield "where", _LADDER
    if row.policy.wait_s:
        times = (
            f"{duration(row.policy.wait_s)}, then twice as long each time, at most {duration(row.policy.wait_most_s)}"
        )
        yield "pause", times
    if row.policy.rollback:
        yield "from", "a checkpoint that the attempt could not even begin with is not used again"
    limits = [f"{one.budget} for {_of(one.name)}" for one in row.policy.limits]
    yield "restarts", ", ".join([*limits, f"{settings.max_restarts} in all"])


def _of(name: str) -> str:
    return f"all of class {name}" if name in {str(one) for one in Class} else "this cause"


def _rerun_words(row: Row) -> str:
    retry = row.what.row.retry
    if retry is Retry.SKIP and row.skips:
        return "yes, once for each file or step, which the program is asked to leave out (SUPERVISE_SKIP)"
    if retry is Retry.NO and row.policy.one_more:
        return "one more, if the attempt had made a step: a bad sample or a race can look just the same"
    return _WORDS[retry]
