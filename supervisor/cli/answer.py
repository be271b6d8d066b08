"""The one shape of every `--json` answer."""

from collections.abc import Sequence
from typing import Any

import msgspec

from supervisor.cli.exit_codes import ExitCode
from supervisor.version import VERSION

SCHEMA = 1
REDACT_HELP = "leave out what looks like a password, token or key: for a ticket or a mail"


def json_answer(
    *,
    conclusion: str,
    blockers: Sequence[str] = (),
    job_id: str = "",
    run_id: str = "",
    cluster: str = "",
    log: str = "",
    ends_with: int = ExitCode.OK,
    **more: Any,
) -> str:
    """One line of JSON: a conclusion that a person can act on, what stands in its way, who is meant, where to read on.

    `cluster` is empty where Slurm did not name one, `log` is the run's event log, `exit` the exit code that the command
    ends with: an answer that was kept in a file still has it. `more` is the command's own.
    """
    head = {"schema": SCHEMA, "version": VERSION, "cluster": cluster, "job_id": job_id, "run_id": run_id}
    body = {"log": log, "exit": int(ends_with), "conclusion": conclusion, "blockers": list(blockers)}
    return msgspec.json.encode({**head, **body, **more}).decode()


def without_secrets(answer: str, *, as_json: bool) -> str:
    """The answer as it may be shown to others. JSON stays JSON: each of its texts is gone over by itself."""
    from supervisor.redact.text import redacted, redacted_in  # seldom asked for, and its automaton takes a moment

    if not as_json:
        return redacted(answer)
    return msgspec.json.encode(redacted_in(msgspec.json.decode(answer))).decode()
