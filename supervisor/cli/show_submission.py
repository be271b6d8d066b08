"""A submission for people and for scripts: what `--dry-run` prints. Pure."""

import shlex
from collections.abc import Mapping
from typing import Any

from supervisor.cli.answer import json_answer
from supervisor.cli.shown_value import shown
from supervisor.slurm.submission import Submission


def as_text(submission: Submission, origin: Mapping[str, str]) -> str:
    """The submission, conclusion first."""
    lines = [_conclusion(submission), f"  command  {shlex.join(['sbatch', *submission.argv])}"]
    if submission.folder:
        lines.append(f"  folder   {submission.folder}")
    lines += [f"  unset    {name}" for name in submission.unset]
    lines += [f"  why      {reason}" for reason in submission.reasons]
    lines += [f"  setting  {line}" for line in _settings(submission, origin)]
    lines += [f"  script   {number:4d} {line}" for number, line in enumerate(submission.script.splitlines(), start=1)]
    return "\n".join(lines)


def as_json(submission: Submission, origin: Mapping[str, str]) -> str:
    """The submission as a `--json` answer."""
    shown: dict[str, Any] = {
        "argv": ["sbatch", *submission.argv],
        "unset": list(submission.unset),
        "reasons": list(submission.reasons),
        "folder": submission.folder,
        "files": sorted(submission.files),
        "settings_origin": dict(origin),
        "script": submission.script.encode(errors="replace").decode(),
    }
    run_id = submission.run.run_id if submission.run else ""
    return json_answer(conclusion=_conclusion(submission), run_id=run_id, submission=shown)


def _conclusion(submission: Submission) -> str:
    who = f"run {submission.run.run_id}" if submission.run else "a job without supervision"
    return f"Would submit {who}; nothing was submitted."


def _settings(submission: Submission, origin: Mapping[str, str]) -> list[str]:
    if submission.run is None:
        return []
    settings = submission.run.settings
    return [f"{name} = {shown(name, getattr(settings, name))} ({place})" for name, place in origin.items()]
