"""Who is blamed by tier 0, and who is not."""

from typing import Any

import pytest

from supervisor.model.ids import NodeName
from supervisor.model.wire import Checked, NodeFacts
from supervisor.selftest.compare import judge

MB = 1 << 20
Answer = tuple[NodeName, Checked]


def _answer(name: str, *, unreachable: tuple[str, ...] = (), **facts: Any) -> Answer:
    usual = {"clock_s": 1000.0, "shm_free_bytes": 900 * MB, "kernel": "6.1"}
    return NodeName(name), Checked(
        node=NodeName(name),
        ask="a",
        address=f"{name}:6818",
        facts=NodeFacts(**{**usual, **facts}),
        unreachable_peers=unreachable,
    )


def _judge(*answers: Answer, silent: tuple[str, ...] = ()) -> tuple[list[str], dict[str, str], list[str]]:
    heard = dict(answers)
    good, bad, quiet = judge(heard, [*heard, *(NodeName(name) for name in silent)])
    words = {str(name): text for name, text in bad.items()}
    return [str(name) for name in good], words, [str(name) for name in quiet]


def test_equal_nodes_are_good() -> None:
    """Nodes without a finding are good, in the order asked."""
    assert _judge(_answer("n2"), _answer("n1")) == (["n2", "n1"], {}, [])


def test_a_node_without_an_answer_is_silent() -> None:
    """No answer is neither health nor a fault."""
    assert _judge(_answer("n1"), silent=("n2",)) == (["n1"], {}, ["n2"])


def test_nobody_answers() -> None:
    """All silent is a judgement too."""
    assert _judge(silent=("n1", "n2")) == ([], {}, ["n1", "n2"])


@pytest.mark.parametrize(("there", "is_bad"), [(7, True), (8, False), (9, False), (None, False)])
def test_fewer_devices_than_the_job_was_given(there: int | None, *, is_bad: bool) -> None:
    """A missing device is its node's fault, also beside one other node; more than expected is none, nor is unknown."""
    full: dict[str, Any] = {"gpu_count": 8, "expected_gpu_count": 8}
    _, bad, _ = _judge(_answer("n1", **full), _answer("n2", gpu_count=there, expected_gpu_count=8))
    assert bad == ({"n2": "7 devices of 8"} if is_bad else {})


def test_devices_missing_on_the_only_node() -> None:
    """A node alone is blamed by its own account."""
    assert _judge(_answer("n1", gpu_count=7, expected_gpu_count=8))[1] == {"n1": "7 devices of 8"}


def test_what_all_nodes_lack_is_nobodys_fault() -> None:
    """If every node lacks it, the question was wrong."""
    lacking: dict[str, Any] = {"gpu_count": 4, "expected_gpu_count": 8, "mounts_missing": ("/d",), "shm_free_bytes": MB}
    assert _judge(_answer("n1", **lacking), _answer("n2", **lacking))[1] == {}


def test_a_folder_that_others_see() -> None:
    """A folder is there if one node sees it; those that do not cannot run the job."""
    _, bad, _ = _judge(
        _answer("n1"), _answer("n2", mounts_missing=("/data",)), _answer("n3", mounts_missing=("/data",))
    )
    assert bad == dict.fromkeys(("n2", "n3"), "/data is missing or does not answer")


def test_a_driver_that_differs_from_the_majority() -> None:
    """The odd one is named, with both versions; a node without a driver among nodes with one is odd too."""
    answers = [_answer(name, driver_version="570.1") for name in ("n1", "n2", "n3")]
    _, bad, _ = _judge(*answers, _answer("n4", driver_version="565.9"), _answer("n5"))
    assert bad == {
        "n4": "driver 565.9, 3 of 5 nodes have 570.1",
        "n5": "driver none, 3 of 5 nodes have 570.1",
    }


def test_a_split_without_a_majority_blames_nobody() -> None:
    """Two against two, or one against one: nobody knows who is right."""
    answers = [_answer(f"n{number}", driver_version=str(number % 2)) for number in range(4)]
    assert _judge(*answers[:2])[1] == {}
    assert _judge(*answers)[1] == {}


def test_nodes_without_devices_have_no_driver_to_compare() -> None:
    """A cluster without accelerators is not blamed for having none."""
    assert _judge(_answer("n1"), _answer("n2"))[1] == {}


def test_a_clock_that_is_off() -> None:
    """More than five seconds from the median, and in the minority."""
    at = {"n1": 1000.0, "n2": 1001.5, "n3": 1007.2}
    assert _judge(*(_answer(name, clock_s=clock) for name, clock in at.items()))[1] == {
        "n3": "clock is +5.7 s off the nodes' median"
    }


def test_two_clocks_apart_blame_nobody() -> None:
    """Of two clocks nobody knows which is wrong."""
    assert _judge(_answer("n1", clock_s=1000.0), _answer("n2", clock_s=1100.0))[1] == {}


def test_too_little_shared_memory() -> None:
    """Below 64 MB data loaders and NCCL die."""
    _, bad, _ = _judge(_answer("n1"), _answer("n2", shm_free_bytes=63 * MB), _answer("n3", shm_free_bytes=64 * MB))
    assert bad == {"n2": "/dev/shm has 63 MB free, 64 MB are needed"}


def test_a_node_that_its_neighbours_cannot_reach() -> None:
    """In a ring where each asks two others, the node that fails with the most others is the one at fault."""
    _, bad, _ = _judge(
        _answer("n1"),
        _answer("n2", unreachable=("n4:6818",)),
        _answer("n3", unreachable=("n4:6818",)),
        _answer("n4", unreachable=("n1:6818",)),
        _answer("n5"),
    )
    assert bad == {"n4": "no connection with n1, n2, n3"}


def test_one_broken_path_blames_neither_end() -> None:
    """Two nodes that miss only each other: the path is broken, not a node."""
    assert _judge(_answer("n1", unreachable=("n2:6818",)), _answer("n2"), _answer("n3"))[1] == {}


def test_a_silent_peer_is_not_its_neighbours_fault() -> None:
    """Who cannot reach nodes that gave no answer either is not to be blamed."""
    good, bad, silent = _judge(_answer("n1", unreachable=("n2:6818", "n3:6818")), silent=("n2", "n3"))
    assert (good, bad, silent) == (["n1"], {}, ["n2", "n3"])


def test_all_findings_of_a_node_are_told() -> None:
    """A node with several faults has them all in its words."""
    _, bad, _ = _judge(_answer("n1"), _answer("n2", shm_free_bytes=0, mounts_missing=("/a",)), _answer("n3"))
    assert bad["n2"] == "/a is missing or does not answer; /dev/shm has 0 MB free, 64 MB are needed"
