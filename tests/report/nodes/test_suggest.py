"""The drain that is suggested."""

import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from supervisor.ledger.site.history import SiteHistory
from supervisor.model.ids import NodeName
from supervisor.model.site import SiteGpu
from supervisor.redact.text import redacted
from supervisor.report.nodes.make import nodes_report
from supervisor.report.nodes.names import word
from supervisor.report.nodes.text import nodes_text
from tests.report.nodes.fleets import DAY_S, HOUR_S, LOOK, SINCE, incident, job, names, record

_AT = SINCE + 2 * DAY_S
_FLEET = names(64)


def _suggested(**changes: str) -> str:
    found = nodes_report(SiteHistory(), [record(_AT, "fatal", **{"rule": "remap_failure"} | changes)], LOOK, redacted)
    return found.suggestions[0].command


def test_the_command_names_node_and_reason() -> None:
    """Word for word as it is to be typed."""
    said = _suggested(gpu="GPU-5f9c1e", text="GPU 3: remapping a row of its memory failed")
    assert said == (
        'scontrol update NodeName=n000 State=DRAIN Reason="[supervise] remap_failure GPU-5f9c1e '
        'GPU 3: remapping a row of its memory failed"'
    )


def test_of_a_node_that_is_only_counted_the_reason_tells_the_numbers() -> None:
    """And the causes with their GPUs, without users."""
    gpu = SiteGpu(node=NodeName("n000"), gpu=3)
    jobs = tuple(
        job(incident(_AT + at * 2 * HOUR_S, "n000", gpus=(gpu,)), nodes=_FLEET, run=who, job=who, owner=who)
        for at, who in enumerate("abc")
    )
    said = nodes_report(SiteHistory(jobs=jobs), (), LOOK, redacted).suggestions[0].command
    assert said.endswith(
        '"[supervise] 3 incidents in 14 d, 0 expected, p=0.00024 corrected for 64 looks: hardware/gpu_lost GPU 3"'
    )


@given(st.text(max_size=400))
def test_whatever_stands_in_a_record_the_shell_sees_four_words(text: str) -> None:
    """No expansion, no second command, one line, bounded."""
    said = _suggested(text=text, gpu=text)
    assert len(shlex.split(said)) == 5
    assert re.fullmatch(r'scontrol update NodeName=n000 State=DRAIN Reason="\[supervise\] [^"`$\\!\n]{1,200}"', said)


def test_secrets_stay_out_of_the_reason() -> None:
    """All users of Slurm read it."""
    assert "hunter2" not in _suggested(text="password=hunter2hunter2")


def test_no_more_than_a_share_of_the_nodes_at_once() -> None:
    """The worst; the others are named, and why."""
    records = [record(_AT, "fatal", "gpu_lost", node=node) for node in names(20)]
    report = nodes_report(SiteHistory(jobs=(job(nodes=_FLEET),)), records, LOOK, redacted)
    assert len(report.suggestions) == 6
    assert len(report.held_back) == 14
    said = nodes_text(report, is_all=False)
    assert "No more than 10% of the nodes at once" in said
    assert said.count("scontrol update") == 6


def test_one_node_may_always_be_suggested() -> None:
    """However small the fleet."""
    assert len(nodes_report(SiteHistory(), [record(_AT, "fatal", "gpu_lost")], LOOK, redacted).suggestions) == 1


@given(st.text())
def test_words_of_others_are_harmless(text: str) -> None:
    """Plain ASCII on one line."""
    assert word(text).isascii()
    assert word(text).isprintable()
