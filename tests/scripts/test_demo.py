"""What the demo says and answers, without running it."""

from dataclasses import replace
from typing import Any

import pytest
from demo import cli, explain
from demo.outcome import Told, answer, complaints
from demo.screen import incident_text, split_text

_INCIDENT: dict[str, Any] = {
    "opened_at": 103.25,
    "verdict": {"cls": "hardware", "cause": "node_unreachable", "confidence": 0.95, "blame": {"nodes": ["node003"]}},
    "action": "relaunch_on_spare",
    "action_text": "starting again on node004",
    "isolation": "node",
    "split": {"detect": 1.0, "stop": 0.5, "catch_up": None},
    "recovery_s": 0.75,
    "resumed_from": "/ck/step-000020.npz",
    "resumed_step": 20,
    "steps_lost": 7,
}
_TOLD = Told(
    deed="node003 was killed", done_at=100.0, completed=True, attempts=2, incidents=(_INCIDENT,), save_every=20
)
_EXPECTED: dict[str, Any] = {
    "cause": "hardware/node_unreachable",
    "nodes": ["node003"],
    "actions": ["relaunch_on_spare"],
}


def test_the_answer_has_the_promised_shape() -> None:
    """One object: how the job ended and each incident with its times in seconds from the deed and the verdict."""
    assert answer(_TOLD) == {
        "completed": True,
        "attempts": 2,
        "steps_lost": 7,
        "incidents": [
            {
                "class": "hardware",
                "cause": "node_unreachable",
                "nodes": ["node003"],
                "detection_s": 3.25,
                "recovery_s": 0.75,
                "action": "relaunch_on_spare",
            }
        ],
    }


def test_the_expected_incident_is_no_complaint() -> None:
    """One incident, of this cause, on this node, handled this way, in two attempts."""
    assert complaints(_TOLD, **_EXPECTED) == []


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (replace(_TOLD, completed=False), "did not complete"),
        (replace(_TOLD, incidents=()), "0 are recorded"),
        (replace(_TOLD, incidents=(_INCIDENT, _INCIDENT)), "2 are recorded"),
        (replace(_TOLD, attempts=3), "3 attempts"),
        (replace(_TOLD, incidents=({**_INCIDENT, "action": "stop"},)), "the action was stop"),
        (
            replace(_TOLD, incidents=({**_INCIDENT, "verdict": {"cls": "unknown", "cause": "unattributed"}},)),
            "unknown/",
        ),
    ],
)
def test_whatever_is_not_as_expected_is_a_complaint(told: Told, words: str) -> None:
    """Each in a sentence, so that the demo cannot end well by accident."""
    assert words in "; ".join(complaints(told, **_EXPECTED))


def test_the_screen_names_all_that_was_promised() -> None:
    """Cause, node, detection, recovery with its parts, steps lost, where it resumed."""
    text = incident_text(_TOLD)
    for words in ("hardware/node_unreachable", "node003", "3.2 s after", "0.8 s after the verdict", "7 (", "step 20"):
        assert words in text


def test_parts_of_a_recovery_that_did_not_happen_are_not_shown() -> None:
    """In the order in which they follow each other."""
    assert split_text(_INCIDENT) == "stop 0.5 s"
    assert split_text({}) == "no part is known"


def test_explain_touches_nothing_and_names_packages_users_and_folders(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is installed."""
    monkeypatch.setattr(cli, "why_not_a_cluster", lambda: "")
    assert cli.main(["--explain"]) == 0
    text = capsys.readouterr().out
    for word in (*explain.PACKAGES, "alice", "munge", "/var/lib/supervise-testbed/demo", "bridge"):
        assert word in text


def test_without_a_cluster_the_reason_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is done in its place."""
    monkeypatch.setattr(cli, "why_not_a_cluster", lambda: "This machine is no Debian")
    assert cli.main(["--explain"]) == 0
    assert "This machine is no Debian, so the demo tells the same story on this machine" in capsys.readouterr().out


def test_one_detection_figure_is_shown() -> None:
    """From the deed; the record's own, from the last sign of life, is `why`'s to tell."""
    text = incident_text(_TOLD)
    assert text.count("detect") == 1
    assert "3.2 s after it happened" in text
