"""When a user's run may be drilled."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.drill.consent import plan, why_not
from supervisor.drill.suite import of_faults, read_suite
from supervisor.ledger.run_file import RunFile
from supervisor.model.ids import JobId, RunId
from supervisor.model.status import RunStatus
from supervisor.report.view import RunView
from supervisor.settings import Settings

SAFE = ("agent_killed", "rank_killed")
STATUS = RunStatus(run_id=RunId("llama-abcde"), job_id=JobId("7"), updated_at=1.0, stage="running")


def _view(
    *,
    status: RunStatus | None = STATUS,
    is_array: bool = False,
    jobs: tuple[JobId, ...] = (JobId("7"),),
    **settings: Any,
) -> RunView:
    run = RunFile(
        run_id=RunId("llama-abcde"), created_at=1.0, settings=Settings(**{"checkpoint": "/ck", **settings}), python="py"
    )
    return RunView(folder=Path("/r"), run=run, status=status, records=(), jobs=jobs, is_array=is_array)


def _status(**changes: Any) -> RunStatus:
    return msgspec.structs.replace(STATUS, **changes)


@pytest.mark.parametrize(
    ("view", "faults", "reason"),
    [
        (_view(is_array=True), SAFE, "name one of its tasks"),
        (_view(status=None), SAFE, "does not run"),
        (_view(status=_status(stage="finished")), SAFE, "does not run"),
        (_view(status=_status(job_id=JobId("0")), jobs=()), SAFE, "runs without Slurm"),
        (_view(), (), "none of these faults"),
        (_view(status=_status(mode="observe")), SAFE, "is in mode observe"),
        (_view(checkpoint=""), SAFE, "names no checkpoints"),
        (_view(status=_status(restarts=18)), SAFE, "has 2 restarts left"),
    ],
)
def test_a_run_that_would_lose_more_is_refused(view: RunView, faults: tuple[str, ...], reason: str) -> None:
    """Each reason says what to do instead."""
    assert reason in why_not(view, faults)


def test_a_run_with_checkpoints_and_restarts_may_be_drilled() -> None:
    """And without them, where nothing is interrupted."""
    assert why_not(_view(), SAFE) == ""
    assert why_not(_view(status=_status(mode="observe"), checkpoint=""), ("agent_killed",)) == ""


def test_what_would_be_done_is_told_first() -> None:
    """Whose run, each fault in words, the price, and what is not drilled at all."""
    suite = of_faults(SAFE, read_suite("standard@1"))
    text = plan(suite, _view())
    assert text[0] == "Would make 2 faults in your run llama-abcde (job 7); nothing was done yet."
    assert "a node's agent is killed" in text[1]
    assert "to be noticed in 10 s" in text[2]
    assert any("It costs 1 restart from the newest checkpoint" in line for line in text)
    assert any("the site's ledger" in line for line in text)
    assert text[-1].startswith("Not drilled: ")
    own = plan(read_suite("standard@1"), None)
    assert "in a small job of its own" in own[0]
    assert any("4 rounds" in line for line in own)
