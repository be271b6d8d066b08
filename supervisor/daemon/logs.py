"""The supervisor's own log, `supervisor.log`: one JSON object per line and fact, bounded in size."""

import logging
import logging.handlers
from datetime import UTC, datetime
from pathlib import Path

import structlog

from supervisor.ledger.writer import Writer

_BYTES = 5 * 1024 * 1024


def log_to(path: Path, writer: Writer) -> None:
    """Send every logger's events to this file, and to one older file at most; the standard library's too.

    Lines look like `{"event": "agents.step_ended", "nodes": "n[1-3]", "level": "info", "at": "2026-01-02T…Z"}`, times
    in UTC. `writer` writes them: a filesystem that gives no answer costs lines and holds nobody up, and so
    does one that takes none.
    """
    file = logging.handlers.RotatingFileHandler(path, maxBytes=_BYTES, backupCount=1, encoding="utf-8", delay=True)
    file.setFormatter(_formatter())
    # A full disk must not print tracebacks into the job's output.
    logging.raiseExceptions = False
    logging.basicConfig(level=logging.INFO, handlers=[_Aside(file, writer)], force=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.format_exc_info,  # here, where the exception is still the current one
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


class _Aside(logging.Handler):
    """Hands lines to the thread that writes files."""

    def __init__(self, file: logging.Handler, writer: Writer) -> None:
        super().__init__()
        self._file = file
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        self._writer.do(lambda: self._file.emit(record))

    def close(self) -> None:
        self._file.close()
        super().close()


def _formatter() -> structlog.stdlib.ProcessorFormatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.processors.format_exc_info],
        processors=[
            _stamp,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(default=str),  # an error is told by its message
        ],
    )


def _stamp(_logger: object, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """When it happened, not when it was written."""
    record: logging.LogRecord = event["_record"]
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return {**event, "level": record.levelname.lower(), "at": at.replace("+00:00", "Z")}
