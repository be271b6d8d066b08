"""No job has more than its nodes could bear, whatever its user has written."""

from pathlib import Path

import msgspec
import pytest

from supervisor.ledger.site.history import JobHistory
from supervisor.ledger.site.read import read_site
from supervisor.model.site import SiteIncident, SiteJob, SiteSplit, SiteUse
from tests.ledger.site.made import AT, MONTH, RUN, incident, job, lay, use

_NODES = 2


def _read(root: Path, *lines: SiteJob | SiteIncident | SiteUse) -> JobHistory:
    lay(root, f"c1/{MONTH}/81234-{RUN}.jsonl", *lines)
    (found,) = read_site(root).jobs
    return found


def _used(history: JobHistory) -> tuple[float, float, float | None]:
    assert history.use is not None
    return history.use.held_node_s, history.use.computing_node_s, history.use.energy_j


def test_a_job_holds_its_nodes_for_no_longer_than_it_runs(tmp_path: Path) -> None:
    """A million node-years of one user would be those of the whole site; a second is for clocks."""
    found = _read(tmp_path, job(), use(1e15, at=AT + 99, computing_node_s=9e14, energy_j=1e15))
    assert _used(found) == (_NODES * 100.0, _NODES * 100.0, _NODES * 100.0 * 1e5)


def test_what_can_be_stays_as_it_is(tmp_path: Path) -> None:
    """To the last digit."""
    told = use(_NODES * 200.0, energy_j=_NODES * 200.0 * 7000)
    assert _read(tmp_path, job(), told).use == told


def test_a_job_that_was_started_again_and_again_has_its_time_once(tmp_path: Path) -> None:
    """A thousand starts at once would be a thousand times its nodes; of each the nodes may be others."""
    starts = [line for at in range(100) for line in (job(at=AT + at), use(200.0, at=AT + 199))]
    assert _used(_read(tmp_path, *starts))[0] == _NODES * 200.0
    grown = job(at=AT + 50, nodes=("n1", "n2", "n3"))
    assert _used(_read(tmp_path, job(), use(90.0, at=AT + 50), grown, use(450.0, at=AT + 199)))[0] == 540.0


@pytest.mark.parametrize(
    "lines", [(job(nodes=()), use(), incident(lost_node_s=9.0)), (use(), incident(lost_node_s=9.0))]
)
def test_without_known_nodes_nothing_is_held(
    tmp_path: Path, lines: tuple[SiteJob | SiteIncident | SiteUse, ...]
) -> None:
    """Neither held nor lost: nobody could say how much is possible."""
    found = _read(tmp_path, *lines)
    assert _used(found)[:2] == (0.0, 0.0)
    assert found.incidents == (incident(lost_node_s=0.0),)


def test_all_interruptions_together_cost_no_more_than_the_job_had(tmp_path: Path) -> None:
    """Each its share of that; what is possible is not touched."""
    lines = [incident(number, at=AT + 100, lost_node_s=number * 1e12) for number in (1, 3)]
    found = _read(tmp_path, job(), use(at=AT + 199), *lines)
    assert [one.lost_node_s for one in found.incidents] == [_NODES * 200.0 / 4, _NODES * 200.0 * 3 / 4]
    good = [incident(number, lost_node_s=150.0) for number in (1, 2)]
    assert _read(tmp_path, job(), use(at=AT + 199), *good).incidents == tuple(good)


def test_an_interruption_may_have_lasted_until_after_the_last_word_on_use(tmp_path: Path) -> None:
    """A job tells its use once an hour; what its recovery took is known before."""
    lost = incident(at=AT + 10, lost_node_s=_NODES * 300.0, split=SiteSplit(launch=100.0, catch_up=200.0))
    assert _read(tmp_path, job(), use(0.0, at=AT), lost).incidents == (lost,)
    (less,) = _read(tmp_path, job(), use(0.0, at=AT), msgspec.structs.replace(lost, split=SiteSplit())).incidents
    assert less.lost_node_s == pytest.approx(_NODES * 11.0)
