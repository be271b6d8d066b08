"""The screens of `supervise nodes` and `supervise node NAME`. Pure."""

import datetime as dt
from collections.abc import Iterator

from supervisor.report.nodes.model import Moment, NodesReport, Standing, Suggestion
from supervisor.report.nodes.names import word
from supervisor.report.nodes.suggest import MOST_SHARE
from supervisor.report.nodes.suspicion import p_text
from supervisor.report.words import clock, count, names, table

_HEAD = ("node", "level", "incidents", "expected", "p corrected", "node-h", "jobs", "users", "why")
_DAY_S = 86_400.0
_MOMENTS = 20
_MANY_H = 10.0
"""From here on hours are told whole."""


def nodes_text(report: NodesReport, *, is_all: bool) -> str:
    """The conclusion, what it rests on, the nodes that are not ok (or all), and what to type."""
    shown = [each for each in report.nodes if is_all or each.level != "ok"]
    lines = [report.conclusion, _basis(report)]
    if shown:
        lines += ["", *table(_HEAD, [_row(each) for each in shown])]
    if left := len(report.nodes) - len(shown):
        lines.append(f"{count(left, 'node')} more, all ok{'' if is_all else ': --all shows them'}")
    if report.suggestions:
        lines += ["", "to drain, after a look (not done: supervise nodes drains nothing):"]
        lines += [f"  {each.command}" for each in report.suggestions]
    if report.held_back:
        lines.append(
            f"not suggested now: {names(report.held_back)}. No more than {MOST_SHARE:.0%} of the nodes at once: "
            "look for a common cause first"
        )
    return "\n".join(lines)


def days_text(since: float, until: float) -> str:
    """`14 d`, `0.5 d`."""
    return f"{round((until - since) / _DAY_S, 1):g} d"


def _basis(report: NodesReport) -> str:
    rate = f", one per {hours_text(report.node_h / report.incidents)}" if report.incidents and report.node_h else ""
    return (
        f"In {days_text(report.since, report.until)}: {count(report.incidents, 'incident')} blaming a node, in "
        f"{hours_text(report.node_h)} of {count(report.jobs, 'job')}{rate}"
    )


def hours_text(node_h: float) -> str:
    """`336 node-h`, `0.053 node-h`."""
    return f"{node_h:,.0f} node-h" if node_h >= _MANY_H or not node_h else f"{node_h:.2g} node-h"


def _row(each: Standing) -> tuple[str, ...]:
    numbers = each.numbers
    return (
        each.node,
        each.level.upper() if each.level == "suspect" else each.level,
        str(numbers.incidents),
        f"{numbers.expected:.2g}" if numbers.is_tested else "n/a",
        p_text(numbers.p_corrected) if numbers.is_tested else "n/a",
        hours_text(numbers.exposure_h).removesuffix(" node-h"),
        str(each.jobs.ran),
        str(each.jobs.users),
        "; ".join(each.why) or "-",
    )


def node_text(each: Standing, report: NodesReport, *, now: float) -> str:
    """The screen of one node."""
    suggestion = next((one for one in report.suggestions if one.node == each.node), None)
    lines = [_verdict(each, suggestion, report), f"  {_jobs(each, report)}"]
    lines += [f"  {why}" for why in each.why]
    if each.telemetry.records:
        lines.append(f"  {_telemetry(each, now)}")
    if suggestion:
        lines.append(f"  to drain:   {suggestion.command}")
        lines.append(f"  ticket:     supervise ticket {each.node}")
    lines += [f"  {line}" for line in _timeline(each, now)]
    return "\n".join(lines)


def _verdict(each: Standing, suggestion: Suggestion | None, report: NodesReport) -> str:
    if each.level != "suspect":
        meaning = "worth knowing, no ground to drain it" if each.why else "nothing speaks against it"
        return f"{each.level.upper()}: {meaning}."
    if suggestion is None:
        others = len(report.suggestions)
        return f"SUSPECT, drain not suggested now: {count(others, 'node')} before it, and not too many at once."
    return "SUSPECT, drain suggested (not done: a person decides)."


def _jobs(each: Standing, report: NodesReport) -> str:
    jobs, numbers = each.jobs, each.numbers
    days = days_text(report.since, report.until)
    if not jobs.ran:
        return f"no job of supervise ran on it in {days}"
    said = (
        f"took part in {count(jobs.ran, 'job')} in {days}, {jobs.interrupted} interrupted by a machine, "
        f"{jobs.blaming} blaming it ({count(jobs.users, 'user')})"
    )
    if not numbers.is_tested:
        return f"{said}; no node time of it is known, so its number was not tested"
    return (
        f"{said}; {count(numbers.incidents, 'incident')} in {hours_text(numbers.exposure_h)}, "
        f"{numbers.expected:.2g} expected"
    )


def _telemetry(each: Standing, now: float) -> str:
    told = each.telemetry
    word_of = "first found" if told.is_over else "since"
    since = f"; {told.rule} {word_of} {clock(told.since, now=now)}" if told.since is not None else ""
    last_ok = f"; last found well {clock(told.ok_at, now=now)}" if told.ok_at is not None else ""
    drain = f"; hook: {told.drain}" if told.drain else ""
    return f"{count(told.records, 'record')} of its hooks{since}{last_ok}{drain}"


def _timeline(each: Standing, now: float) -> Iterator[str]:
    moments = each.timeline[-_MOMENTS:]
    if left := len(each.timeline) - len(moments):
        yield f"{left} earlier: --json has all"
    for moment in moments:
        yield f"{clock(moment.at, now=now)}  {moment_text(moment)}"


def moment_text(moment: Moment) -> str:
    """One line without its time."""
    parts = [moment.what, *moment.gpus]
    parts += [f"-> {moment.action}"] if moment.action else []
    parts += [f"[{moment.more}]"] if moment.more else []
    parts += ["(same run within the hour: not counted again)"] if not moment.is_counted else []
    return word("  ".join(parts), 300)


def utc(at: float) -> str:
    """`2026-12-01T01:12:44Z`."""
    return f"{dt.datetime.fromtimestamp(at, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
