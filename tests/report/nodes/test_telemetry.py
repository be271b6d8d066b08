"""What the hooks' records come to."""

import pytest

from supervisor.model.node import NodeRecord
from supervisor.report.nodes.model import Look, Telemetry
from supervisor.report.nodes.telemetry import by_node, weigh
from tests.report.nodes.fleets import DAY_S, HOUR_S, LOOK, SINCE, UNTIL, record

_AT = SINCE + 2 * DAY_S


def _weighed(*records: NodeRecord) -> Telemetry:
    return weigh(by_node(records, LOOK).get("n000", ()))


def test_fatal_is_suspect_at_once() -> None:
    """With rule, GPU, since when, how often; a check that found nothing later is told, and mends nothing."""
    told = _weighed(
        record(_AT, "fatal", "remap_failure", gpu="GPU-1", text="a row"),
        record(_AT + 60, "fatal", "remap_failure", gpu="GPU-1", drain="suggested"),
        record(_AT + 120),
    )
    assert (told.level, told.rule, told.gpu, told.since, told.times) == ("suspect", "remap_failure", "GPU-1", _AT, 2)
    assert (told.ok_at, told.records, told.drain) == (_AT + 120, 3, "suggested")


@pytest.mark.parametrize(
    ("after", "rule", "uids", "level"),
    [
        (HOUR_S, "remap_pending", (7, 7), "suspect"),
        (HOUR_S - 1, "remap_pending", (7, 8), "watch"),
        (HOUR_S, "tmp_full", (7, 7), "watch"),
        (HOUR_S, "tmp_full", (7, 8), "suspect"),
        (HOUR_S, "xid_109", (None, None), "watch"),
        *((HOUR_S, rule, (7, 7), "watch") for rule in ("throttled", "gpu_hot", "hbm_hot", "nvml_hangs")),
        *((HOUR_S, rule, (7, 7), "watch") for rule in ("xid_110", "xid_167")),
        (HOUR_S, "throttled", (7, 8), "suspect"),
    ],
)
def test_what_comes_again_is_suspect(after: float, rule: str, uids: tuple[int | None, int | None], level: str) -> None:
    """After an hour; what a user can bring about only where it comes again from another."""
    told = _weighed(*(record(_AT + at * after, "suspect", rule, uid=uid) for at, uid in enumerate(uids)))
    assert told.level == level
    assert told.rule == rule


@pytest.mark.parametrize(
    ("rule", "level", "by", "is_over"),
    [
        ("driver_mismatch", "fatal", "health", True),
        ("driver_mismatch", "fatal", "epilog", True),
        ("driver_mismatch", "fatal", "prolog", False),
        ("gpu_missing", "fatal", "health", True),
        ("gpu_missing", "fatal", "epilog", False),
        ("remap_pending", "suspect", "epilog", True),
        ("gpu_memory_held", "suspect", "health", False),
        ("remap_failure", "fatal", "health", False),
        ("nvlink_down", "fatal", "health", False),
        ("gpu_lost", "fatal", "health", False),
        ("xid_79", "fatal", "health", False),
    ],
)
def test_a_state_that_is_over_suggests_no_drain(rule: str, level: str, by: str, is_over: bool) -> None:  # noqa: FBT001
    """Once a hook that would see it finds nothing; an event, or what that hook cannot see, stays."""
    found = [record(_AT + at * HOUR_S, level, rule, uid=at) for at in range(2)]
    told = _weighed(*found, record(_AT + 2 * HOUR_S, hook=by))
    assert (told.level, told.rule, told.is_over) == ("watch" if is_over else "suspect", rule, is_over)


def test_a_state_that_comes_back_counts_again() -> None:
    """And one that is over hides none that lasts, nor one on another GPU."""
    ok = record(_AT + 60, hook="health")
    first, back = (record(at, "fatal", "driver_mismatch") for at in (_AT, _AT + 120))
    assert _weighed(first, ok, back).level == "suspect"
    other = record(_AT + 120, "suspect", "remap_pending", gpu="GPU-1")
    told = _weighed(first, ok, other)
    assert (told.level, told.rule, told.is_over) == ("watch", "remap_pending", False)


def test_a_look_to_which_the_driver_gave_no_answer_takes_nothing_back() -> None:
    """It is `ok` for want of a reading."""
    blind = record(_AT + 60, hook="health", unread=("gpus: died with code 1",))
    assert _weighed(record(_AT, "fatal", "driver_mismatch"), blind).level == "suspect"


def test_two_gpus_once_each_are_nothing_that_came_again() -> None:
    """Each is one sign of its own."""
    told = _weighed(*(record(_AT + gpu * DAY_S, "suspect", "remap_pending", gpu=f"GPU-{gpu}") for gpu in (1, 2)))
    assert told.level == "watch"


def test_what_is_only_watched_by_the_hooks_is_not_told() -> None:
    """Each program fault leaves an Xid."""
    assert _weighed(record(_AT, "watch", "xid_13")).level == "ok"
    assert _weighed() == Telemetry()


def test_records_count_within_the_window_and_after_a_repair() -> None:
    """And under the name of a node."""
    old, new = record(SINCE - 1, "fatal", "mce"), record(UNTIL, "fatal", "mce")
    assert by_node([old, new, record(_AT, node="$(x)"), record(_AT, node="\x1b[2J")], LOOK) == {}
    mended = Look(since=SINCE, until=UNTIL, returned={"n000": _AT + 1})
    assert by_node([record(_AT, "fatal", "mce")], mended) == {}


def test_a_record_that_is_read_twice_is_one() -> None:
    """From the node and from the ledger."""
    once = record(_AT, "fatal", "mce")
    assert _weighed(once, once).times == 1


def test_words_of_a_user_are_not_told() -> None:
    """The name of a stray process is his; and nothing in a record steers a terminal."""
    assert _weighed(record(_AT, "suspect", "gpu_hot", text="GPU 3: 95 °C")).text == "GPU 3: 95 ?C"
    assert _weighed(record(_AT, "suspect", "stuck_process", text="evil name")).text == ""
    assert _weighed(record(_AT, "fatal", "mce", text="a\x1b[2Jb`c`$d\n")).text == "a?[2Jb?c??d?"
