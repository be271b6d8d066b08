"""The supervisor's own log: one line per fact, names and values, bounded in size."""

import logging
import logging.handlers
import time
from pathlib import Path

_BYTES = 5 * 1024 * 1024


def log_to(path: Path) -> None:
    """Send every logger's lines to this file, and to one older file at most. Raises `OSError`."""
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=_BYTES, backupCount=1, encoding="utf-8")
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    # A full disk must not print tracebacks into the job's output.
    logging.raiseExceptions = False
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
