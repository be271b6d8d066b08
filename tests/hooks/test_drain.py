"""When a node may be drained, and what is then asked of Slurm."""

from pathlib import Path

import pytest

from supervisor.hooks import drain
from supervisor.hooks.drain import NodeRow, reason_for, refusal, rows_of
from supervisor.hooks.health import DRAINED
from supervisor.hooks.settings import HookSettings
from tests.hooks.facts import NOW, finding

_SITE = HookSettings(max_drains_per_hour=2, max_drained_share=0.1)


def _row(name: str, *, state: str = "idle", reason: str = "none", partition: str = "main") -> NodeRow:
    return NodeRow(name=name, partition=partition, state=state, since=0.0, reason=reason)


def _ours(name: str, since: float = NOW - 60, partition: str = "main") -> NodeRow:
    return NodeRow(name=name, partition=partition, state="drained", since=since, reason="[supervise] xid_79")


def _idle(first: int, count: int, partition: str = "main") -> list[NodeRow]:
    return [_row(f"n{number}", partition=partition) for number in range(first, first + count)]


def _refusal(rows: list[NodeRow], node: str = "n1", settings: HookSettings = _SITE) -> str:
    return refusal(rows, node, now=NOW, settings=settings)


def test_sinfos_lines_are_read_with_whatever_the_reason_holds() -> None:
    """A line of another form is left out."""
    found = rows_of("n1|main|DRAINED|1000|a|b\nn2|main|idle|Unknown|none\n\nodd line\n")
    assert [(row.name, row.state, row.since, row.reason) for row in found] == [
        ("n1", "drained", 1000.0, "a|b"),
        ("n2", "idle", 0.0, "none"),
    ]


def test_a_node_in_service_may_be_drained() -> None:
    """One is always allowed, however small its partition."""
    assert _refusal(_idle(1, 1)) == ""
    assert _refusal([_row("n1", state="allocated"), *_idle(2, 3)]) == ""


def test_a_node_that_slurm_does_not_show_is_left_alone() -> None:
    """No answer, or a wrong name."""
    assert _refusal([]) == "Slurm does not know this node"
    assert _refusal(_idle(2, 3)) == "Slurm does not know this node"


@pytest.mark.parametrize("state", ["drained", "draining", "down*", "fail", "maint", "reboot^", "powered_down"])
def test_anothers_word_stands(state: str) -> None:
    """An admin's drain, a node that is down: with their reason."""
    rows = [_row("n1", state=state, reason="admin: fan"), *_idle(2, 40)]
    assert _refusal(rows) == f"it is {state} already: admin: fan"


def test_at_most_so_many_an_hour() -> None:
    """On the whole cluster, whoever drained them by us; older ones do not count."""
    rows = [*_idle(1, 100), _ours("a"), _ours("b", partition="other")]
    assert "2 nodes were drained by supervise within the hour" in _refusal(rows)
    rows = [*_idle(1, 100), _ours("a"), _ours("b", since=NOW - 4000)]
    assert _refusal(rows) == ""


def test_at_most_a_share_of_each_partition() -> None:
    """However old the drains are."""
    old = [_ours(f"x{number}", since=NOW - 90_000) for number in range(2)]
    assert "2 of the 20 nodes of partition main are drained by supervise" in _refusal([*_idle(1, 18), *old])
    assert _refusal([*_idle(1, 28), *old]) == ""
    rows = [*_idle(1, 28), *old, _row("n1", partition="small"), _ours("x0", since=0, partition="small")]
    assert "partition small" in _refusal(rows)


def test_of_many_that_drain_in_the_same_second_only_the_first_stay() -> None:
    """Each has seen an empty list first, and asks again after its own drain; ties go by name."""
    rows = [_ours(f"n{number}", since=NOW) for number in range(8)] + _idle(10, 92)
    assert [bool(_refusal(rows, f"n{number}")) for number in range(8)] == [False, False] + [True] * 6


def test_a_reason_is_ours_clean_and_short() -> None:
    """It is part of a command and of a table."""
    reason = reason_for(finding(rule='x"\n$(id)' + "y" * 300))
    assert reason.startswith("[supervise] x??")
    assert len(reason) <= 120
    assert not set('"$`\n') & set(reason)


_SCONTROL = """#!/bin/sh
echo "$@" >> {folder}/calls
case "$*" in
  *State=DRAIN*) cp {folder}/after {folder}/nodes ;;
esac
"""


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    (tmp_path / "sinfo").write_text(f"#!/bin/sh\ncat {tmp_path}/nodes\n")
    (tmp_path / "scontrol").write_text(_SCONTROL.format(folder=tmp_path))
    (tmp_path / "nodes").write_text("n1|main|idle|Unknown|none\nn2|main|idle|Unknown|none\n")
    (tmp_path / "calls").touch()
    for name in ("sinfo", "scontrol"):
        (tmp_path / name).chmod(0o755)
    return tmp_path


def _drained(slurm: Path, after: str) -> tuple[str, list[str]]:
    (slurm / "after").write_text(after)
    done = drain.drain(finding(), "n1", HookSettings(slurm_bin=str(slurm)), slurm_conf="", within_s=30)
    return done, (slurm / "calls").read_text().splitlines()


def test_the_node_is_drained_with_our_reason(slurm: Path) -> None:
    """One update, between two questions."""
    done, calls = _drained(slurm, "n1|main|drained|1|[supervise] remap_failure GPU-0\n")
    assert done == DRAINED
    assert calls == ["update NodeName=n1 State=DRAIN Reason=[supervise] remap_failure GPU-0"]


def test_a_drain_that_was_not_answered_is_not_ordered_again(slurm: Path) -> None:
    """It was done all the same; only the caps are looked at."""
    (slurm / "nodes").write_text("n1|main|drained|1|[supervise] remap_failure GPU-0\n")
    assert _drained(slurm, "") == (DRAINED, [])


def test_without_time_for_all_calls_none_is_made(slurm: Path) -> None:
    """Half of them would leave a drain that nobody has held against the caps."""
    done = drain.drain(finding(), "n1", HookSettings(slurm_bin=str(slurm)), slurm_conf="", within_s=0)
    assert done == "not drained: no time is left for Slurm"
    assert (slurm / "calls").read_text() == ""


def test_one_drain_too_many_is_taken_back(slurm: Path) -> None:
    """Others were first."""
    first = "".join(f"a{number}|main|drained|1|[supervise] x\n" for number in range(3))
    done, calls = _drained(slurm, f"{first}n1|main|drained|2|[supervise] remap_failure GPU-0\n")
    assert done.startswith("taken back: ")
    assert calls[-1] == "update NodeName=n1 State=UNDRAIN"


def test_a_drain_that_somebody_else_has_made_his_own_is_not_taken_back(slurm: Path) -> None:
    """An admin wrote another reason in the same moment."""
    first = "".join(f"a{number}|main|drained|1|[supervise] x\n" for number in range(3))
    _, calls = _drained(slurm, f"{first}n1|main|drained|2|admin: looking at it\n")
    assert len(calls) == 1


def test_a_slurm_that_gives_no_answer_drains_nothing(slurm: Path) -> None:
    """A failed question is not "may"."""
    (slurm / "sinfo").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    done, calls = _drained(slurm, "")
    assert done.startswith("not drained: ")
    assert "Unable to contact" in done
    assert calls == []
    (slurm / "sinfo").write_text("#!/bin/sh\nsleep 60\n")
    site = HookSettings(slurm_bin=str(slurm), slurm_deadline_s=0.3)
    assert drain.drain(finding(), "n1", site, slurm_conf="", within_s=30).startswith("not drained: ")
