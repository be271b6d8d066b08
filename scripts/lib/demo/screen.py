"""What a person sees: one line for each thing that happens, and the incident at the end."""

import sys
import time
from collections.abc import Sequence

from demo.outcome import Told

_LABEL = 16


class Screen:
    """Lines for people, on stderr, with the seconds since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """One line."""
        print(f"[{time.monotonic() - self._began:5.1f} s] {text}", file=sys.stderr, flush=True)

    def show(self, text: str) -> None:
        """Text as it is."""
        print(text, file=sys.stderr, flush=True)


def incident_text(told: Told) -> str:
    """What happened, what it was, what was done: the end of the demo."""
    return "\n".join(f"  {label:<{_LABEL}}{text}" for label, text in _rows(told))


def _rows(told: Told) -> Sequence[tuple[str, str]]:
    record = told.incident
    verdict = record["verdict"]
    blamed = verdict.get("blame", {}).get("nodes", ())
    return [
        ("what happened", told.deed),
        ("what it was", f"{verdict['cls']}/{verdict['cause']} (confidence {verdict['confidence']:.2f})"),
        ("proof", "; ".join(proof["text"] for proof in verdict.get("evidence", ())[:2]) or "none"),
        ("blamed", f"{', '.join(blamed) or 'no node'} (isolated to the {record.get('isolation', 'job')})"),
        ("detected", f"{told.detection_s:.1f} s after it happened (`why` counts from the last sign of life before)"),
        ("what was done", record.get("action_text") or record["action"]),
        ("running again", f"{_seconds(record.get('recovery_s'))} after the verdict"),
        ("part by part", split_text(record)),
        ("steps lost", f"{record.get('steps_lost', 'unknown')} (a checkpoint was written every {told.save_every})"),
        ("resumed", f"attempt {told.attempts} at step {record.get('resumed_step')}, from {record.get('resumed_from')}"),
        *told.more,
    ]


def split_text(record: dict[str, object]) -> str:
    """Where the time went once it was detected, part by part, in the order in which they follow each other."""
    split = record.get("split")
    parts = split if isinstance(split, dict) else {}
    order = ("collect", "decide", "stop", "launch", "init", "catch_up")
    known = [f"{name.replace('_', ' ')} {_seconds(parts[name])}" for name in order if parts.get(name) is not None]
    return ", ".join(known) or "no part is known"


def _seconds(value: object) -> str:
    return f"{value:.1f} s" if isinstance(value, float | int) else "unknown"
