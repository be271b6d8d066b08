"""When a batch host stops what it runs: only once nobody was reached for the whole lease."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.isolation import Contacts, is_cut_off, is_newer
from supervisor.model.ids import JobId

LEASE = 30.0


def _is_cut_off(now: float, **reached: float | None) -> bool:
    contacts = {"written_at": 100.0, "heard_at": 100.0, "answered_at": 100.0, **reached}
    return is_cut_off(Contacts(**contacts), since=0.0, now=now, lease_s=LEASE)  # type: ignore[arg-type]  # by name


def test_whoever_reaches_nobody_for_a_lease_is_cut_off() -> None:
    """A whole lease before any agent may take over."""
    assert not _is_cut_off(129.9)
    assert _is_cut_off(130.0)


@pytest.mark.parametrize("reached", ["written_at", "heard_at", "answered_at"])
def test_one_contact_is_enough(reached: str) -> None:
    """The run folder, an agent of another node, or Slurm: each alone keeps a run alive."""
    assert not _is_cut_off(500.0, **{reached: 499.0})


def test_where_nobody_could_take_over_nothing_is_stopped() -> None:
    """A job on one node, while the machine that serves its files and slurmctld starts anew: sbatch's would go on."""
    assert not _is_cut_off(1e6, heard_at=None)


def test_where_the_controller_is_unknown_nothing_is_certain() -> None:
    """A filesystem that hangs, and agents that are silent with it, stop no run."""
    assert not _is_cut_off(1e6, answered_at=None)


@given(
    written_at=st.floats(0, 100),
    heard_at=st.none() | st.floats(0, 100),
    answered_at=st.none() | st.floats(0, 100),
    since=st.floats(0, 100),
    now=st.floats(0, 300),
)
def test_never_before_a_lease_after_the_last_contact(
    *, written_at: float, heard_at: float | None, answered_at: float | None, since: float, now: float
) -> None:
    """Nor before a lease after this process began to look."""
    contacts = Contacts(written_at=written_at, heard_at=heard_at, answered_at=answered_at)
    if is_cut_off(contacts, since=since, now=now, lease_s=LEASE):
        assert answered_at is not None
        assert heard_at is not None
        assert all(now - at >= LEASE for at in (written_at, heard_at, answered_at, since))


@pytest.mark.parametrize(
    ("theirs", "is_so"), [(("8", 0), True), (("10", 0), True), (("7", 1), True), (("7", 0), False), (("6", 3), False)]
)
def test_a_later_start_is_newer(theirs: tuple[str, int], *, is_so: bool) -> None:
    """A successor has a higher number, a requeued job one restart more."""
    assert is_newer((JobId(theirs[0]), theirs[1]), (JobId("7"), 0)) is is_so


def test_a_term_of_an_older_version_names_no_job() -> None:
    """It is nobody else's then."""
    assert not is_newer((JobId(""), 0), (JobId("7"), 0))
