"""Orders to a running job: laid down in its run folder, and answered by its supervisor."""

import os
import secrets
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import click

from supervisor.cli.answer import json_answer
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.found_run import found_run
from supervisor.errors import UsageError
from supervisor.ledger.orders import FOLDER, withdraw_order, write_order
from supervisor.ledger.site.walk import user_name
from supervisor.model.base import plain
from supervisor.model.order import Answer, PersonOrder, refused
from supervisor.report.view import FINISHED, RunView, read_view
from supervisor.report.words import duration

_WAIT_S: Final = 15.0
_LOOK_S: Final = 0.25
_DEAD_S: Final = 600.0
"""A supervisor that is killed is followed by another within seconds."""

Make = Callable[[str, float, str], PersonOrder]
"""The order from its id, the time and the user."""


def give(ctx: click.Context, run: str, make: Make, *, as_json: bool) -> None:
    """Give the order to the run's supervisor, and tell its answer. Exit code 1: nothing was changed."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    view = found_run(run)
    is_dry = bool(getattr(ctx.obj, "dry_run", False))
    answer = _why_not(view) or (_planned(view, make) if is_dry else _answered(view, make))
    code = ExitCode.OK if answer.is_done else ExitCode.FAILED
    if as_json:
        head: dict[str, Any] = {
            "ends_with": code,
            "blockers": [] if answer.is_done else [answer.text],
            "job_id": view.job_id,
            "run_id": view.run.run_id,
            "cluster": view.cluster,
            "log": view.log,
        }
        print(json_answer(conclusion=answer.text, done=answer.is_done, **head))
    else:
        print(f"{view.run.run_id}: {answer.text}", file=sys.stdout if answer.is_done else sys.stderr)
    ctx.exit(code)


def _planned(view: RunView, make: Make) -> Answer:
    """With --dry-run: what would be ordered of whom."""
    wanted = {
        name: value for name, value in plain(make("", 0.0, "")).items() if name not in {"id", "at", "by"} and value
    }
    said = ", ".join(str(value) if name == "what" else f"{name} {value}" for name, value in wanted.items())
    return Answer(text=f"would order the supervisor of job {view.job_id}: {said}; nothing was ordered")


def _why_not(view: RunView) -> Answer | None:
    """Nobody is there to order: what to do instead. None: a supervisor is, or will be again."""
    if view.is_array:
        raise UsageError(f"{view.run.run_id} is an array: name one of its tasks, such as {view.job_id or 'JOB'}_0")
    waits_for = view.expected_job
    if view.status is None or (view.status.stage == FINISHED and waits_for):
        job = waits_for or view.job_id
        return refused(
            f"job {job} has not begun: scancel {job} takes it out of the queue, and "
            f"scontrol update JobId={job} ExcNodeList=NODES keeps it from nodes"
        )
    if view.status.stage == FINISHED:
        return refused("the run is over; submit it again to go on from its newest checkpoint")
    return None


def _answered(view: RunView, make: Make) -> Answer:
    now = time.time()
    order = make(f"{int(now)}-{secrets.token_hex(4)}", now, user_name(os.geteuid()))
    try:
        write_order(view.folder, order)
    except OSError as exc:
        return refused(f"{view.folder} cannot be written ({exc.strerror}): only the run's owner and root may order")
    ends = time.monotonic() + _WAIT_S
    while time.monotonic() < ends:
        time.sleep(_LOOK_S)
        status = read_view(view.folder).status
        if status is not None and order.id in status.answers:
            return status.answers[order.id]
    silent = read_view(view.folder).silent_s(time.time())
    if silent and silent > _DEAD_S:
        return _withdrawn(view, order, silent)
    why = f"its supervisor has been silent for {duration(silent)}" if silent else "its supervisor has not answered"
    return refused(f"no answer within {_WAIT_S:.0f} s: {why}; the order stays and is carried out when it looks")


def _withdrawn(view: RunView, order: PersonOrder, silent: float) -> Answer:
    """Nobody looks any more. An order that stayed would meet a job of the run that begins days later."""
    try:
        withdraw_order(view.folder, order.id)
    except OSError as exc:
        return refused(
            f"the order could not be taken back ({exc.strerror}): remove {view.folder / FOLDER / order.id}.json"
        )
    return refused(
        f"its supervisor has been silent for {duration(silent)}: the order is taken back; squeue tells whether job "
        f"{view.job_id} lives, scancel {view.job_id} ends it"
    )
