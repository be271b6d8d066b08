"""How the job may end, asked when the supervisor begins."""

from typing import Any, cast

import pytest

from supervisor.daemon.assemble import Prospects, _ask_slurm
from supervisor.daemon.surroundings import Surroundings
from supervisor.errors import SlurmFailed
from supervisor.model.facts import JobFacts
from supervisor.model.ids import JobId
from supervisor.slurm.facts import SlurmConfig
from tests.core.facts import node, nodes

_AROUND = Surroundings(job_id=JobId("7"), raw_job_id=JobId("7"), nodes=nodes(1), here=node(1))


class _Slurm:
    """Answers about job 7, or about nothing."""

    def __init__(self, *, state: str = "RUNNING", is_silent: bool = False, is_mode_seen: bool = True) -> None:
        self._job = JobFacts(job_id=JobId("7"), state=state, end_time=5000.0)
        self._is_silent = is_silent
        self._is_mode_seen = is_mode_seen

    async def node_address(self, name: str, *, deadline_s: float) -> tuple[str, int]:
        del deadline_s
        return name, 6818

    async def config(self, *, deadline_s: float) -> SlurmConfig:
        del deadline_s
        return SlurmConfig()

    async def job(self, _job: JobId, *, deadline_s: float) -> JobFacts:
        if self._is_silent:
            raise SlurmFailed(f"no answer in {deadline_s} s")
        return self._job

    async def preempt_mode(self, _job: JobFacts, *, deadline_s: float) -> str:
        if not self._is_mode_seen:
            raise SlurmFailed(f"no answer in {deadline_s} s")
        return "CANCEL"


@pytest.mark.parametrize(
    ("slurm", "prospects"),
    [
        (_Slurm(), Prospects(walltime_at=5000.0, preempt_mode="CANCEL")),
        (_Slurm(is_mode_seen=False), Prospects(walltime_at=5000.0)),
        (_Slurm(is_silent=True), Prospects()),
    ],
    ids=["all known", "mode unseen", "silent"],
)
async def test_what_slurm_does_not_say_is_not_known(slurm: _Slurm, prospects: Prospects) -> None:
    """No answer costs only what depends on it."""
    assert (await _ask_slurm(cast("Any", slurm), _AROUND))[2] == prospects  # a part of the backend


async def test_a_job_that_is_being_cancelled_has_no_time_limit() -> None:
    """Its EndTime is the cancel: taken for the time limit, it would be a reason to submit the run again."""
    slurm = _Slurm(state="COMPLETING")
    assert (await _ask_slurm(cast("Any", slurm), _AROUND))[2].walltime_at is None  # a part of the backend
