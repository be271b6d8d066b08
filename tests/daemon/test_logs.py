"""The supervisor's own log."""

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog

from supervisor.daemon.logs import log_to
from supervisor.errors import SlurmFailed
from supervisor.ledger.writer import Writer


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level, logging.raiseExceptions
    yield
    for handler in root.handlers:
        if handler not in before[0]:
            handler.close()
    root.handlers[:], root.level, logging.raiseExceptions = before
    structlog.reset_defaults()


@pytest.fixture
def log() -> Any:
    """As the modules have it: made before `log_to` is called."""
    return structlog.stdlib.get_logger("supervisor.daemon.main")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_event_is_one_line_with_its_fields(tmp_path: Path, log: Any) -> None:
    """One JSON object for each event: its name, its fields, how grave, and when, in UTC."""
    with closing(Writer()) as writer:
        log_to(tmp_path / "log", writer)
        log.info("agents.step_ended", nodes="n[1-3]", code=None)
    (line,) = _lines(tmp_path / "log")
    at = line.pop("at")
    assert line == {"event": "agents.step_ended", "nodes": "n[1-3]", "code": None, "level": "info"}
    assert at.endswith("Z")
    assert abs((datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()) < 60


def test_an_error_is_told_by_its_message(tmp_path: Path, log: Any) -> None:
    """A reason given as an exception reads like the message people see."""
    with closing(Writer()) as writer:
        log_to(tmp_path / "log", writer)
        log.warning("slurm.no_answer", reason=SlurmFailed("squeue: exit 1\nInvalid job id"))
    (line,) = _lines(tmp_path / "log")
    assert line["reason"] == "squeue: exit 1\nInvalid job id"


def test_a_traceback_stays_within_its_line(tmp_path: Path, log: Any) -> None:
    """What broke is in the line of the event, though another thread writes it."""
    with closing(Writer()) as writer:
        log_to(tmp_path / "log", writer)
        try:
            int("why it broke")
        except ValueError:
            log.exception("hands.broke", order="Launch")
    (line,) = _lines(tmp_path / "log")
    assert line["order"] == "Launch"
    assert "why it broke" in line["exception"]


def test_the_standard_library_writes_to_the_same_log(tmp_path: Path) -> None:
    """Lines of rooms that know no structlog, and asyncio's, are kept in the same shape."""
    with closing(Writer()) as writer:
        log_to(tmp_path / "log", writer)
        logging.getLogger("asyncio").error("Task exception was never %s", "retrieved", exc_info=OSError("gone"))
        logging.getLogger("asyncio").debug("Using selector")
    (line,) = _lines(tmp_path / "log")
    assert line["event"] == "Task exception was never retrieved"
    assert line["level"] == "error"
    assert "OSError: gone" in line["exception"]


def test_the_log_is_bounded(tmp_path: Path, log: Any) -> None:
    """At 5 MB a new file begins, and one older file is kept."""
    path = tmp_path / "log"
    with closing(Writer()) as writer:
        log_to(path, writer)
        for number in range(13):
            log.info("big", number=number, text="x" * 1024 * 1024)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log", "log.1"]
    assert all(file.stat().st_size <= 5 * 1024 * 1024 for file in tmp_path.iterdir())
    assert _lines(path)[-1]["number"] == 12


def test_a_filesystem_without_answer_holds_nobody_up(tmp_path: Path, log: Any) -> None:
    """A line is handed over and not written by the caller."""
    writer = _Stuck()
    log_to(tmp_path / "log", writer)
    log.info("anything")
    assert writer.deeds == 1
    assert not (tmp_path / "log").exists()


class _Stuck(Writer):
    """A writer that never writes."""

    deeds = 0

    def __init__(self) -> None:
        """No thread."""

    def do(self, deed: Any) -> bool:
        del deed
        self.deeds += 1
        return True
