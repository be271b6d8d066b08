"""What stands on a terminal, in JSON and in CSV."""

import csv
import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.ledger.site.history import JobHistory, SiteHistory, UnseenFailure
from supervisor.model.ids import JobId, NodeName
from supervisor.model.site import SiteGpu
from supervisor.model.verdict import Class
from supervisor.report.fleet.as_csv import HEAD, as_csv
from supervisor.report.fleet.as_json import as_json
from supervisor.report.fleet.classes import BY
from supervisor.report.fleet.make import report_of
from supervisor.report.fleet.model import Cost, Interval
from supervisor.report.fleet.text import WIDTH, Style, text
from supervisor.report.fleet.window import Asked
from supervisor.report.fleet.wording import cost, energy, hours, many, number, per, percent
from tests.report.fleet.made import NOW, history, incident, report

_HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\n\u202e=cmd|' /C calc'!A0" + "x" * 300


def _week() -> JobHistory:
    return history(
        *(incident(number) for number in range(1, 20)),
        *(incident(number, cls=Class.SOFTWARE, cause="cuda_oom", nodes=()) for number in range(20, 31)),
        incident(31, cls=Class.UNKNOWN, cause="unattributed", nodes=()),
        energy_j=1e9,
    )


def test_the_screen_of_a_week() -> None:
    """In this order, each figure with its unit."""
    assert text(report(_week()), Style(now=NOW)).splitlines() == [
        "OK: 31 interruptions in 1 job, all handled without a person.",
        "31 interruptions, 1 job, 31 handled without a person (100.0%), 1 unknown (3.2%)",
        "hardware ████████████████████ 19  12.7 GPU-h   gpu_lost 19",
        "software ████████████         11   7.3 GPU-h   cuda_oom 11",
        "unknown  █                     1  0.67 GPU-h   unattributed 1",
        "ETTR 90.0%: effective training time 173 of 192 node-h held (1,536 GPU-h); lost 20.7 GPU-h, 3.7 kWh",
        "MTBI 1.5 h (95%: 1.1~2.3 h) at 3~4 nodes; all jobs: 3,875 (95%: 2,633~5,500) per 1,000 node-days",
        "detection median 2.0 s, p90 2.0 s, max 2.0 s; isolation median 0.5 s, p90 0.5 s, max 0.5 s; recovery",
        "  median 3.1 s, p90 3.1 s, max 3.1 s",
        "82.1% of recovery is catch up: steps are computed again: save checkpoints more often, or in the",
        "  background",
        "unlike Llama 3 405B, 54 days, 16,384 H100: faulty GPU 61.3% (there 35.3%), software bug 35.5% (there",
        "  12.9%), GPU HBM memory 0.0% (there 17.2%)",
        "suspicious nodes: node003; `supervise nodes` weighs each against chance",
    ]


def test_a_node_that_was_blamed_once_is_not_suspicious() -> None:
    """One interruption can be anybody's."""
    assert "suspicious" not in text(report(history(incident())), Style(now=NOW))


def test_what_is_not_over_stands_in_the_second_line() -> None:
    """It belongs to neither side of the share."""
    lost = incident(2, action="relaunch", recovery_s=None, is_closed=False, at=NOW - 900.0)
    lines = text(report(history(incident(1), lost, end="", ended_at=NOW - 600.0)), Style(now=NOW)).splitlines()
    assert lines[1] == ("2 interruptions, 1 job, 1 handled without a person (100.0%), 1 not over yet, 0 unknown (0.0%)")


def test_bars_are_scaled_and_unseen_failures_named() -> None:
    """The most frequent has the whole width; one is never nothing."""
    failure = UnseenFailure(at=NOW - 1, job=JobId("3"), state="NODE_FAIL", nodes=(NodeName("n1"),), held_s=7200.0)
    made = report_of(SiteHistory(jobs=(_week(),), unseen=(failure,)), Asked(until=NOW), source="sacct")
    lines = text(made, Style(now=NOW)).splitlines()
    assert lines[2].count("█") == 20
    assert lines[4].count("█") == 1
    assert "unseen by supervise: 1 NODE_FAIL in sacct of jobs that did not use it (at most 2 node-h)" in lines
    assert any(line.startswith("ETTR at most 90.0%") for line in lines)


def test_colour_only_where_it_is_wanted() -> None:
    """And it takes no place."""
    made = report(_week())
    plain, coloured = text(made, Style(now=NOW)), text(made, Style(now=NOW, colour=True))
    assert "\x1b" not in plain
    assert coloured.startswith("\x1b[1;32mOK\x1b[0m: ")
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_single_interruptions_are_shown_where_they_are_few() -> None:
    """A user's own run is told one by one."""
    one = incident(gpus=(SiteGpu(node=NodeName("node003"), gpu=5),))
    lines = text(report(history(one)), Style(now=NOW)).splitlines()
    assert lines[-2].split() == ["TIME", "JOB", "CAUSE", "WHERE", "DETECTED", "RECOVERED", "ACTION"]
    assert lines[-1].split()[2:] == [
        "17",
        "hardware/gpu_lost",
        "node003",
        "GPU",
        "5",
        "2.0",
        "s",
        "3.1",
        "s",
        "relaunch_on_spare",
    ]
    assert "TIME" not in text(report(_week()), Style(now=NOW))


@pytest.mark.parametrize("by", BY)
def test_a_further_histogram(by: str) -> None:
    """By whatever was asked for."""
    lines = text(report(_week()), Style(now=NOW, by=by)).splitlines()
    assert f"by {by}:" in lines


def test_a_long_histogram_is_cut() -> None:
    """And says where the rest is."""
    jobs = [history(incident(nodes=(NodeName(f"n{number}"),)), job=JobId(str(number))) for number in range(30)]
    lines = text(report(*jobs), Style(now=NOW, by="node")).splitlines()
    assert lines[-1] == "and 10 more: --json has all"


@settings(deadline=None)
@given(st.text(max_size=40) | st.just(_HOSTILE))
def test_names_cannot_steer_the_terminal(name: str) -> None:
    """No control characters, no line breaks of theirs, no line longer than the screen."""
    job = history(
        incident(nodes=(NodeName(name),), cause=name, action="stop"),
        incident(2, nodes=(NodeName(name),), action="stop"),
        user=name,
        partition=name,
        job=JobId(name),
        run=name,
        end="stopped",
    )
    for source in ("ledger", "runs"):
        for by in ("", *BY):
            told = text(report(job, source=source), Style(now=NOW, by=by))
            assert all(line.isprintable() and len(line) <= WIDTH for line in told.split("\n"))


def test_json_holds_every_value() -> None:
    """Conclusion and blockers are the answer's own fields."""
    made = report(_week())
    built = json.loads(json.dumps(as_json(made)))
    assert "conclusion" not in built
    assert built["interruptions"] == 31
    assert built["classes"][0]["causes"][0]["name"] == "gpu_lost"
    assert built["mtbi"]["mtbi_h"]["low"] < built["mtbi"]["mtbi_h"]["estimate"]


def test_csv_has_a_row_for_each_interruption() -> None:
    """As RFC 4180 has it: CR LF, quotes doubled; what is not known is empty."""
    told = as_csv(report(history(incident(nodes=(NodeName('a"b,c'),), recovery_s=None), gpus_per_node=0)))
    assert told.endswith("\r\n")
    assert '"a""b,c"' in told
    head, row = csv.reader(io.StringIO(told, newline=""))
    assert tuple(head) == HEAD
    found = dict(zip(head, row, strict=True))
    assert (found["recovery_s"], found["lost_gpu_h"], found["lost_kwh"], found["gpus_per_node"]) == ("", "", "", "")
    assert (found["class"], found["cause"], found["lost_node_h"]) == ("hardware", "gpu_lost", "0.0833")


@settings(deadline=None)
@given(st.text(max_size=20), st.sampled_from(["=", "+", "-", "@", "\t=", "\r", "\n", ""]))
def test_no_cell_is_a_formula(name: str, start: str) -> None:
    """A spreadsheet that opens it runs nothing, and a row stays one line."""
    job = history(incident(nodes=(NodeName(start + name),), cause=start + name), user=start + name, job=JobId(start))
    told = as_csv(report(job))
    assert told.count("\r\n") == told.count("\n") == 2
    for row in csv.reader(io.StringIO(told, newline="")):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)


def test_numbers_have_three_digits_and_units() -> None:
    """`~` for ranges, no space before `%`."""
    assert [number(value) for value in (0.0, 0.0324, 0.5, 4.12, 61.0, 1419.6)] == [
        "0",
        "0.032",
        "0.5",
        "4.1",
        "61",
        "1,420",
    ]
    assert percent(0.9524) == "95.2%"
    assert (many(0, "job"), many(1, "job"), many(20_000, "job")) == ("no jobs", "1 job", "20,000 jobs")
    assert cost(Cost(node_h=4, gpu_h=8, bare_node_h=3)) == "8 GPU-h + 3 node-h"
    assert cost(Cost()) == "0 node-h"
    assert (energy(None), energy(94.2)) == ("", "94.2 kWh")
    assert hours(Interval(estimate=4.1, low=3.0, high=5.7)) == "4.1 h (95%: 3~5.7 h)"
    assert hours(Interval(estimate=None, low=12.0, high=None)) == "more than 12 h (95%)"
    nothing = Interval(estimate=None, low=None, high=None)
    assert (hours(nothing), per(nothing, "a day")) == ("not known", "not known")
