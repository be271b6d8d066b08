"""Whether earlier jobs of the run have ended: only what Slurm says proves it."""

from typing import cast

import pytest

from supervisor.daemon import predecessor
from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId
from supervisor.slurm.backend import Backend

_GONE = SlurmFailed("scontrol refused", stderr="slurm_load_jobs error: Invalid job id specified")


class _Slurm:
    """Says one thing after the other about each job, the last one for ever."""

    def __init__(self, **said: "list[str | Exception]") -> None:
        self.asked: list[str] = []
        self._said = said

    async def job(self, job: JobId, *, deadline_s: float) -> JobFacts:
        assert deadline_s == 3.0
        self.asked.append(job)
        said = self._said[f"job{job}"]
        word = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(word, Exception):
            raise word
        return JobFacts(job_id=job, state=word)


async def _ended(slurm: _Slurm, *jobs: str, may_complete: bool = False, deadline_s: float = 60.0) -> list[JobId]:
    return await predecessor.ended(
        cast("Backend", slurm),
        [JobId(job) for job in jobs],
        may_complete=may_complete,
        ask_s=3.0,
        deadline_s=deadline_s,
    )


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses that no test has to wait for."""
    monkeypatch.setattr(predecessor, "_POLL_S", (0.01,))


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELLED", "FAILED", "NODE_FAIL", "TIMEOUT", "PENDING", "REQUEUED"])
async def test_a_job_that_does_not_run_is_asked_about_once(state: str) -> None:
    """It has ended, or waits in the queue: it cannot hold an attempt."""
    slurm = _Slurm(job7=[state])
    assert await _ended(slurm, "7") == []
    assert slurm.asked == ["7"]


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT"])
async def test_a_living_job_is_waited_for(state: str) -> None:
    """Its ranks may live; once it has ended the wait is over."""
    slurm = _Slurm(job7=[state, state, "COMPLETED"])
    assert await _ended(slurm, "7") == []
    assert slurm.asked == ["7"] * 3


async def test_at_the_deadline_the_living_are_named() -> None:
    """And only they."""
    assert await _ended(_Slurm(job7=["RUNNING"], job8=["COMPLETED"]), "7", "8", deadline_s=0.03) == ["7"]


async def test_completing_is_no_obstacle_where_all_was_proven_stopped() -> None:
    """Off a dead node a job completes for minutes; running is running."""
    assert await _ended(_Slurm(job7=["COMPLETING"]), "7", may_complete=True) == []
    assert await _ended(_Slurm(job7=["RUNNING"]), "7", may_complete=True, deadline_s=0.03) == ["7"]


async def test_a_job_that_slurm_has_forgotten_has_ended() -> None:
    """Minutes after its end (MinJobAge) Slurm does not know it."""
    assert await _ended(_Slurm(job7=[_GONE]), "7") == []


@pytest.mark.parametrize(
    "failure",
    [
        SlurmTimeout("no answer"),
        SlurmFailed("refused", stderr="Unable to contact slurm controller"),
        NoSlurm("no PATH"),
    ],
)
async def test_a_failed_query_proves_nothing(failure: Exception) -> None:
    """The job may live: asked again, and named at the deadline."""
    assert await _ended(_Slurm(job7=[failure]), "7", deadline_s=0.03) == ["7"]
    assert await _ended(_Slurm(job7=[failure, "COMPLETED"]), "7") == []


async def test_who_has_ended_is_not_asked_about_again() -> None:
    """One question for each that is still open."""
    slurm = _Slurm(job7=["RUNNING", "COMPLETED"], job8=["COMPLETED"])
    await _ended(slurm, "7", "8")
    assert slurm.asked == ["7", "8", "7"]


async def test_without_an_earlier_job_nobody_is_asked() -> None:
    """The first job of a run starts at once."""
    slurm = _Slurm()
    assert await _ended(slurm) == []
    assert slurm.asked == []
