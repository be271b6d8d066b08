"""The fault-tolerance report, for a person and for a script. Pure."""

from collections.abc import Sequence
from statistics import median
from typing import Any, Final

import msgspec

from supervisor.drill.judge import Result, blamed, judge
from supervisor.drill.kinds import NOT_DRILLED
from supervisor.drill.pace import PaceFound, compare
from supervisor.drill.record import DrillRecord
from supervisor.drill.suite import Suite
from supervisor.model.base import Fact, plain
from supervisor.model.records import Split
from supervisor.report.words import duration, one_line, table

_HEAD: Final = ("fault", "noticed", "verdict", "blames", "isolation", "back", "steps lost")
_SHOWN_FROM_S: Final = 0.05
_WIDTH: Final = 200


class Report(Fact, frozen=True, kw_only=True):
    """All that a drill has shown."""

    record: DrillRecord
    results: tuple[Result, ...]
    pace: PaceFound | None = None
    left_out: tuple[str, ...] = ()
    """Faults that the drill did not come to."""

    @property
    def handled(self) -> int:
        """Faults that were handled as they should be."""
        return sum(result.is_handled for result in self.results)

    @property
    def blockers(self) -> list[str]:
        """What is not as it should be, one sentence each."""
        wrong = [f"{one.seen.fault}: {', '.join(one.wrong)}" for one in self.results if one.wrong]
        if self.pace is not None and self.pace.wrong:
            wrong.append(self.pace.wrong)
        if self.record.problem:
            wrong.append(self.record.problem)
        return [one_line(text, _WIDTH) for text in wrong]

    @property
    def is_ok(self) -> bool:
        """Everything was drilled and handled."""
        return not self.blockers and not self.left_out


def report(record: DrillRecord, suite: Suite) -> Report:
    """Each fault judged by the suite's limits."""
    done = [seen.fault for seen in record.seen]
    return Report(
        record=record,
        results=tuple(judge(seen, suite.limits_of(seen.fault)) for seen in record.seen),
        pace=compare(record.paces, suite.pace) if record.paces is not None and suite.pace is not None else None,
        left_out=suite.faults[len(done) :],
    )


def conclusion(found: Report) -> str:
    """One sentence that can be acted on."""
    of = len(found.results) + len(found.left_out)
    suite = f" of {found.record.suite}" if found.record.suite else ""
    if not found.results:
        return f"UNKNOWN: nothing was drilled{suite}: {found.record.problem or 'it was interrupted'}."
    told = f"{found.handled} of {of} faults{suite} handled as they should be{_medians(found.results)}"
    if found.is_ok:
        return f"OK: {told}."
    if found.left_out:
        return f"UNKNOWN: {told}; {len(found.left_out)} not drilled."
    return f"NOT OK: {told}."


def _medians(results: Sequence[Result]) -> str:
    detected = [one.detection_s for one in results if one.detection_s is not None]
    back = [one.back_s for one in results if one.back_s is not None and one.seen.record is not None]
    parts = [f"noticed in {duration(median(detected))}"] if detected else []
    parts += [f"at the furthest step again in {duration(median(back))}"] if back else []
    return f", {' and '.join(parts)} (medians)" if parts else ""


def lines(found: Report) -> list[str]:
    """For a person: the conclusion and what blocks, each fault, the pace, what was not drilled, where it is kept."""
    text = [conclusion(found), *(f"  blocks: {blocker}" for blocker in found.blockers)]
    if found.left_out:
        text.append(f"  not reached: {', '.join(found.left_out)}")
    if found.results:
        text += ["", *_rows(found.results)]
    if found.pace is not None and found.pace.ratio is not None:
        text += ["", _pace_line(found.pace)]
    kept = f"Kept: {found.record.folder} (evidence: what each verdict was made of, for supervise diagnose)"
    return [*text, "", f"Not drilled: {NOT_DRILLED}.", kept]


def _rows(results: Sequence[Result]) -> list[str]:
    """Each fault's row, and below it where the time of its recovery went."""
    head, *rows = table(_HEAD, [_row(result) for result in results])
    text = [head]
    for result, row in zip(results, rows, strict=True):
        split = split_text(result.seen.record.split) if result.seen.record is not None else ""
        text += [row, f"    {split}"] if split else [row]
    return text


def _row(result: Result) -> tuple[str, ...]:
    record = result.seen.record
    mark = result.seen.fault if result.is_handled else f"{result.seen.fault} !"
    back = "-" if result.back_s is None else duration(result.back_s)
    if record is None:
        return mark, "-", "no interruption", "-", "-", back, "-"
    return (
        mark,
        "-" if result.detection_s is None else duration(result.detection_s),
        f"{record.verdict.cls}/{record.verdict.cause}",
        blamed(record.verdict),
        record.isolation,
        back if record.action != "stop" else "stopped",
        "-" if record.steps_lost is None else f"{record.steps_lost:,}",
    )


def split_text(split: Split) -> str:
    """`collect 0.2 s, stop 0.4 s, launch 0.6 s`: the parts that took any time."""
    parts = {name: getattr(split, name) for name in split.__struct_fields__}
    known = ((name.replace("_", " "), value) for name, value in parts.items() if value is not None)
    return ", ".join(f"{name} {duration(value)}" for name, value in known if value >= _SHOWN_FROM_S)


def _pace_line(pace: PaceFound) -> str:
    spread = "" if pace.low is None or pace.high is None else f" (95%: {pace.low:.3f} to {pace.high:.3f})"
    times = f"{(pace.ours_s or 0) * 1000:.1f} ms with us, {(pace.plain_s or 0) * 1000:.1f} ms without"
    return f"Step time: {times}, ratio {pace.ratio or 0:.3f}{spread}, {pace.rounds} rounds in one allocation."


def figures(found: Report) -> dict[str, Any]:
    """What `--json` has beyond the head of every answer."""
    return {
        "suite": found.record.suite,
        "is_own_job": found.record.is_own_job,
        "handled": found.handled,
        "faults": [_figures(result) for result in found.results],
        "left_out": list(found.left_out),
        "pace": None if found.pace is None else msgspec.to_builtins(found.pace),
        "not_drilled": NOT_DRILLED,
        "folder": found.record.folder,
    }


def _figures(result: Result) -> dict[str, Any]:
    seen, record = result.seen, result.seen.record
    told: dict[str, Any] = {
        "fault": seen.fault,
        "is_handled": result.is_handled,
        "wrong": list(result.wrong),
        "run_id": seen.run_id,
        "job_id": seen.job_id,
        "injected": None if seen.injection is None else plain(seen.injection),
        "detection_s": result.detection_s,
        "back_s": result.back_s,
        "incident": None,
    }
    if record is None:
        return told
    verdict = record.verdict
    return told | {
        "incident": record.incident,
        "class": verdict.cls,
        "cause": verdict.cause,
        "confidence": verdict.confidence,
        "blame": plain(verdict.blame),
        "isolation": record.isolation,
        "action": record.action,
        "evidence_at": record.evidence_at,
        "recovery_s": record.recovery_s,
        "split": {name: getattr(record.split, name) for name in record.split.__struct_fields__},
        "steps_lost": record.steps_lost,
    }
