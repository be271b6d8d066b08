"""Flight recorder: the collective that is stuck, and the ranks that never came to it or came with another shape."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.bundle import Bundle, Place
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.evidence.flight import Dump, parse
from supervisor.diagnose.evidence.hang import find
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.model.ids import NodeName, Rank
from tests.diagnose.flight_dumps import dump, entry, message, real, waiting

_PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
_RANKS = 3
_DEADLINE_S = 90
_STORIES = {
    "hang": ("flight_late_ranks", 2, "rank 2 never came to all_reduce number 4 of group default; 2 others wait in it"),
    "shape": ("flight_mismatch", 1, "all_reduce [[2]] ['Float']: rank 1; all_reduce [[4]] ['Float']: ranks 0, 2"),
    "groups": ("flight_late_ranks", 2, "rank 2 never came to all_reduce number 2 of group 1; 1 others wait in it"),
    "cycle": ("flight_cycle", 0, "group 1 waits for ranks 0, 2, who wait in group 2 for ranks of the first one"),
}


def _late(found: list[Finding]) -> set[int | None]:
    assert {one.signature for one in found} <= {"flight_late_ranks"}
    return {one.rank for one in found}


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize("story", _STORIES)
def test_real_dumps(story: str, form: str) -> None:
    """Recorded gloo dumps name the rank and the collective; of several groups only the rank at fault is blamed."""
    signature, rank, text = _STORIES[story]
    found = list(find(real(story, form)))
    assert {(one.signature, one.rank) for one in found} == {(signature, rank)}
    assert any(text in one.text for one in found)
    assert form == "json" or all("train.py:" in one.text for one in found)


@pytest.mark.torch
@pytest.mark.parametrize("story", _STORIES)
def test_ranks_that_hang_now(story: str, tmp_path: Path) -> None:
    """What the installed PyTorch writes while real ranks hang is read, in both forms."""
    if subprocess.run([_PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode:
        pytest.skip(f"{_PYTHON} cannot import torch; name an interpreter that can with TORCH_PYTHON")
    env = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "TORCH_FR_BUFFER_SIZE": "2000"}
    program = str(Path(__file__).with_name("gloo_rank.py"))
    ranks = [
        subprocess.Popen([_PYTHON, program, story, str(rank), str(_RANKS), str(tmp_path)], env=env)
        for rank in range(_RANKS)
    ]
    try:
        assert [rank.wait(_DEADLINE_S) for rank in ranks] == [0] * _RANKS
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    signature, rank_at_fault, text = _STORIES[story]
    for form in ("pickle", "json"):
        found = list(find(read_bundle(tmp_path / form).flight))
        assert {(one.signature, one.rank) for one in found} == {(signature, rank_at_fault)}
        assert any(text in one.text for one in found)


@given(
    ranks=st.integers(2, 12),
    culprit=st.integers(0, 11),
    number=st.integers(1, 300),
    version=st.sampled_from(["2.4", "2.10"]),
)
def test_who_lacks_the_entry_is_the_culprit(ranks: int, culprit: int, number: int, version: str) -> None:
    """Take the entry of the stuck collective from one rank's dump, and that rank is blamed, whatever the version."""
    culprit %= ranks
    group = {"0": range(ranks)}
    done = [entry(one) for one in range(max(1, number - 20), number)]
    dumps = [dump(rank, done if rank == culprit else [*done, waiting(number)], group, version) for rank in range(ranks)]
    found = list(find(dumps))
    assert _late(found) == {culprit}
    assert f"rank {culprit} never came to all_reduce number {number} of group 0" in found[0].text
    assert found[0].text.endswith("(train.py:210:train_step)")


@given(st.permutations(range(6)), st.integers(1, 3))
def test_the_order_of_the_dumps_does_not_matter(order: list[int], late: int) -> None:
    """Dumps are compared as a set."""
    group = {"0": range(6)}
    dumps = [dump(rank, [entry(1)] if rank < late else [entry(1), waiting(2)], group) for rank in order]
    assert _late(list(find(dumps))) == set(range(late))


def test_nobody_is_stuck() -> None:
    """Dumps of a healthy run say nothing."""
    assert list(find([dump(rank, [entry(1), entry(2)]) for rank in range(4)])) == []
    assert list(find([])) == []


def test_all_came_and_it_does_not_finish() -> None:
    """A hang inside the collective is the network's or a GPU's, and no rank is blamed."""
    [found] = find([dump(rank, [entry(1), waiting(2)]) for rank in range(4)])
    assert (found.signature, found.rank) == ("flight_inside", None)
    assert "all 4 ranks came to all_reduce number 2" in found.text


def test_it_finished_for_all_but_one() -> None:
    """The few for whom it did not finish are next to the fault."""
    [found] = find([dump(rank, [waiting(2) if rank == 3 else entry(2)]) for rank in range(4)])
    assert (found.signature, found.rank) == ("flight_inside", 3)


@pytest.mark.parametrize(
    "odd", [{"input_sizes": [[8]]}, {"input_dtypes": ["Float"]}, {"profiling_name": "nccl:_all_gather_base"}]
)
def test_another_call(odd: dict[str, Any]) -> None:
    """Another size, type or operation at the same number is the program's fault, and the few are named."""
    dumps = [dump(rank, [waiting(5, **(odd if rank == 2 else {}))]) for rank in range(4)]
    [found] = find(dumps)
    assert (found.cause, found.role, found.rank) == ("collective_mismatch", "root", 2)
    assert "number 5 of group 0 with different calls" in found.text


def test_two_calls_by_as_many_ranks() -> None:
    """Where nobody is in the minority nobody is blamed."""
    [found] = find([dump(rank, [waiting(5, input_sizes=[[rank % 2 + 1]])]) for rank in range(4)])
    assert (found.cause, found.rank) == ("collective_mismatch", None)


@pytest.mark.parametrize("operation", ["nccl:all_to_all", "nccl:all_gather", "nccl:scatter", "nccl:reduce_scatter_v"])
def test_shapes_that_may_differ(operation: str) -> None:
    """Operations whose ranks may bring different sizes are no mismatch."""
    dumps = [dump(rank, [waiting(5, profiling_name=operation, input_sizes=[[rank]])]) for rank in range(4)]
    assert [one.signature for one in find(dumps)] == ["flight_inside"]


def _chain() -> Iterator[Dump]:
    """Rank 3 hangs outside; 2 waits for it in `b`, 1 for 2 in `a`, 0 for all in the default group."""
    groups = {"0": range(4), "a": [1, 2], "b": [2, 3]}
    for rank, last in enumerate(([waiting(2)], [waiting(1, "a")], [waiting(1, "b")], [])):
        own = {name: members for name, members in groups.items() if rank in members}
        yield dump(rank, [entry(1), *last], own)


def test_a_chain_of_groups_ends_at_the_culprit() -> None:
    """Ranks that are late because they wait in another group are not blamed."""
    found = list(find(list(_chain())))
    assert _late(found) == {3}
    assert {one.text.split(" of group ")[1][0] for one in found} == {"0", "b"}


@given(st.integers(2, 6))
def test_groups_that_wait_for_each_other(count: int) -> None:
    """A ring of groups, each waiting for a rank in the next one: the order of calls, told once."""
    groups = (
        {f"g{one}": [one, (one + 1) % count] for one in range(count)} if count > 2 else {"g0": [0, 1], "g1": [1, 0]}
    )
    dumps = []
    for rank in range(count):
        own = {name: members for name, members in groups.items() if rank in members}
        dumps.append(dump(rank, [waiting(1, f"g{rank}")], own))
    found = list(find(dumps))
    assert [(one.signature, one.cause, one.role) for one in found] == [("flight_cycle", "deadlock", "root")]


def test_a_ring_with_somebody_at_fault() -> None:
    """Two groups wait for each other, and one of them for a rank that is nowhere: that one is blamed, not the order."""
    groups = {"a": [0, 1, 2], "b": [0, 1]}
    dumps = [
        dump(0, [waiting(1, "a")], groups),
        dump(1, [waiting(1, "b")], groups),
        dump(2, [], {"a": [0, 1, 2]}),
    ]
    assert _late(list(find(dumps))) == {2}


def test_messages_between_pipeline_stages() -> None:
    """A stage that waits for its neighbour's message is not blamed for being late in its data-parallel group."""
    groups = {"0": range(4), "dp": [1, 3]}
    dumps = [
        dump(0, [entry(1)], {"0": range(4)}),
        dump(1, [entry(1), message("recv 1<-0")], groups),
        dump(2, [entry(1), message("send 2->3")], {"0": range(4)}),
        dump(3, [entry(1), message("recv 3<-2"), waiting(1, "dp")], groups),
    ]
    found = list(find(dumps))
    assert _late(found) == {0}
    assert found[0].text.startswith("rank 0 never came to message 0->1")


def test_a_rank_without_a_dump_is_a_weaker_suspect() -> None:
    """All that left a dump wait: who left none is suspected, less than one whose dump lacks the entry."""
    dumps = [dump(rank, [waiting(2)]) for rank in (0, 1, 3)]
    for found in (list(find(dumps)), list(find(dumps, frozenset(Rank(one) for one in range(4))))):
        assert [(one.signature, one.rank) for one in found] == [("flight_missing_dump", 2)]
    sure = next(find([*dumps, dump(2, [entry(1)])]))
    assert found[0].weight < sure.weight


def test_the_jobs_ranks_tell_who_left_no_dump(tmp_path: Path) -> None:
    """Gloo does not always tell a group's members: then job.json does, and it says where the suspect ran."""
    dumps = tuple(parse({"entries": [waiting(1)]}, Rank(one), f"flight/rank_{one}") for one in (0, 1, 3))
    places = {Rank(one): Place(node=NodeName(f"n{one}")) for one in range(4)}
    assert [one.signature for one in find(dumps)] == ["flight_inside"]
    verdict = diagnose(Bundle(flight=dumps, places=places))
    assert (verdict.cause, verdict.blame.ranks, verdict.blame.nodes) == ("nccl_timeout_unattributed", (2,), ("n2",))
    assert verdict.exclude_nodes == ()


def test_most_left_no_dump() -> None:
    """Two dumps of eight ranks blame nobody."""
    [found] = find([dump(rank, [waiting(2)], {"0": range(8)}) for rank in (0, 1)])
    assert (found.signature, found.rank) == ("flight_waiting", None)


def test_rings_without_a_common_collective() -> None:
    """Where the ring of those that wait begins after the late rank's last one, the finding is less sure."""
    ring = [dump(rank, [entry(900), waiting(901)]) for rank in range(3)]
    far, near = dump(3, [entry(100)]), dump(3, [entry(900)])
    assert next(find([*ring, far])).weight < next(find([*ring, near])).weight
    other = dump(3, [entry(900)], version="2.4")
    assert next(find([*ring, other])).weight < next(find([*ring, near])).weight


def test_two_groups_of_one_name() -> None:
    """A name that two sets of ranks use stands for two groups."""
    dumps = [
        dump(rank, [waiting(1, "1")] if rank != 3 else [], {"1": [0, 1] if rank < 2 else [2, 3]}) for rank in range(4)
    ]
    assert {(one.signature, one.rank) for one in find(dumps)} == {("flight_inside", None), ("flight_late_ranks", 3)}


def test_status_goes_by_a_number_of_each_process() -> None:
    """`pg_status` has no names: a process's number 1 may be any group, and only entries tell which."""
    status = {"1": {"last_enqueued_collective": "9", "last_completed_collective": "8"}}
    raw = {"entries": [entry(9, "7", pg_id=1)], "pg_status": status, "pg_config": {"1": {"ranks": "[0, 1]"}}}
    found = parse(json.loads(json.dumps(raw)), Rank(0), "x").groups
    assert (found["7"].reached, found["7"].completed, found["1"].reached) == (9, 8, -1)


def test_old_entries_are_forgotten() -> None:
    """A large ring costs little: of what finished the last ones are kept, and where it began is still known."""
    group = parse({"entries": [entry(one) for one in range(5, 4000)] + [waiting(4000)]}, Rank(0), "x").groups["0"]
    assert len(group.entries) <= 65
    assert (group.oldest, group.reached, group.entries[4000].is_done) == (5, 4000, False)


_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["0", "1", "--5"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["0", "", "ranks", "last_enqueued_collective", "frames"]), inner, max_size=3)
    ),
    max_leaves=12,
)
_ENTRY = st.dictionaries(st.sampled_from(sorted(entry(1))), _JUNK, max_size=8).map(lambda odd: waiting(2) | odd)


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "version": _JUNK,
                "pg_config": _JUNK,
                "pg_status": _JUNK,
                "entries": st.lists(_ENTRY, max_size=4) | _JUNK,
            },
        ),
        max_size=4,
    )
)
def test_wrong_types_anywhere(raws: list[dict[str, Any]]) -> None:
    """Whatever a dump holds in place of what is expected, the others are still compared."""
    dumps = [parse(raw, Rank(rank), f"flight/rank_{rank}") for rank, raw in enumerate(raws)]
    for one in find(dumps):
        assert 0 < one.weight < 1
        assert len(one.text) < 2000
