"""Confidence means something: on answers without the evidence that decided them, and by each reason for a doubt."""

from dataclasses import replace
from statistics import mean

import pytest

from supervisor.diagnose.bundle import Bundle, Log
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.confidence import confidence
from supervisor.diagnose.scan.one_log import Scanned
from supervisor.diagnose.scan.traces import Frame
from supervisor.model.verdict import Class
from tests.diagnose.ablation import Answer, answers


def _finding(cause: str, weight: float = 0.8, line: int = 5, source: str = "ranks/0.log", **told: object) -> Finding:
    return Finding(
        signature=f"any_{cause}",
        role="root",
        source=f"{source}:{line}",
        text="",
        cause=cause,
        weight=weight,
        order=(0, line),
        **told,  # type: ignore[arg-type]  # fields of Finding
    )


def _sure(root: Finding, *others: Finding) -> float:
    return confidence(Case(bundle=Bundle(), scanned=(), findings=[*others, root]), root)


_ROOT = _finding("gpu_lost")


@pytest.fixture(scope="module")
def with_less(tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    """Different verdicts with a cause, while signatures were off."""
    found: dict[tuple[str, ...], Answer] = {}
    for one in answers(tmp_path_factory.mktemp("less")):
        if one.verdict.cls is not Class.UNKNOWN:
            root = one.verdict.evidence[0]
            found.setdefault((one.incident.name, one.verdict.cause, root.signature, root.text), one)
    return list(found.values())


def test_right_answers_are_surer_than_wrong_ones(with_less: list[Answer]) -> None:
    """Also where what had decided them is not seen."""
    right = [one.verdict.confidence for one in with_less if one.is_right]
    wrong = [one.verdict.confidence for one in with_less if not one.is_right]
    assert len(wrong) >= 50
    assert mean(right) - mean(wrong) >= 0.25


@pytest.mark.parametrize(
    ("least", "below", "shares"), [(0.9, 1.0, (0.9, 1.0)), (0.5, 0.9, (0.7, 0.9)), (0, 0.5, (0.3, 0.65))]
)
def test_confidence_is_a_share(
    least: float, below: float, shares: tuple[float, float], with_less: list[Answer]
) -> None:
    """Of the answers that say 0.9 and more, nine in ten are right; of those below a half, about half."""
    right = [one.is_right for one in with_less if least <= one.verdict.confidence < below]
    assert shares[0] <= mean(right) <= shares[1]


def test_independent_sources_add_up() -> None:
    """Rank and kernel tell of the same cause; the same source twice tells no more."""
    assert _sure(_ROOT, _finding("gpu_lost", source="kernel/n1.log")) > _sure(_ROOT)
    assert _sure(_ROOT, _finding("gpu_lost", line=4)) == _sure(_ROOT)


@pytest.mark.parametrize(
    "doubt",
    [
        pytest.param(_finding("cuda_oom", line=7), id="a fault of another class"),
        pytest.param(_finding("nvlink_fault", line=3), id="another cause before it"),
    ],
)
def test_a_doubt_lowers_it(doubt: Finding) -> None:
    """Each by itself."""
    assert _sure(_ROOT, doubt) < _sure(_ROOT) - 0.03


@pytest.mark.parametrize(
    "harmless",
    [
        pytest.param(_finding("nvlink_fault", line=7), id="a fault of the same class after it"),
        pytest.param(_finding("gpu_degraded", line=3, went_on=True), id="one after which its writer went on"),
        pytest.param(_finding("gpu_lost", line=3), id="the same cause before it"),
    ],
)
def test_no_doubt(harmless: Finding) -> None:
    """What does not speak for another class leaves it as it is."""
    assert _sure(_ROOT, harmless) == _sure(_ROOT)


def test_an_early_fault_is_known_by_its_time_as_well() -> None:
    """In another log, a second earlier."""
    root = _finding("gpu_lost", time=100.0)
    early = _finding("nvlink_fault", time=98.0, source="kernel/n1.log")
    late = _finding("nvlink_fault", time=102.0, source="kernel/n1.log", line=9)
    assert _sure(root, early) < _sure(root, late) == _sure(root)


def test_a_traceback_down_to_own_code_tells_more() -> None:
    """And what a kernel says has few other reasons."""
    frame = Frame(file="/w/t.py", line=3, function="f")
    assert _sure(_finding("type_error", frame=frame)) > _sure(_finding("type_error"))
    assert _sure(_finding("gpu_lost", source="kernel/n1.log")) > _sure(_ROOT)


def test_what_only_others_tell_or_words_suggest_is_less() -> None:
    """A complaint about a peer, and data that a rule blames for a plain exception."""
    assert _sure(_finding("node_unreachable", scope="peer")) < _sure(_finding("node_unreachable")) - 0.05
    read = replace(_finding("malformed_record"), signature="python_traceback")
    assert _sure(read) < _sure(_finding("malformed_record")) - 0.05


def test_an_exception_after_steps_may_not_be_the_codes() -> None:
    """The program had worked till then; one at the start is its own."""
    root = _finding("type_error")
    moved = Scanned(log=Log(name="ranks/0.log", kind="ranks"), made_progress=True)
    midway = confidence(Case(bundle=Bundle(), scanned=(moved,), findings=[root]), root)
    assert midway < _sure(root) - 0.1


def test_how_it_failed_is_less_than_why() -> None:
    """An exception, a crash or a timeout may have a cause that nobody knows; more who saw it do not tell."""
    for symptom in ("python_exception", "segfault", "nccl_timeout_unattributed"):
        assert _sure(_finding(symptom)) < _sure(_finding("host_oom")) - 0.15
    crash = _finding("segfault")
    assert _sure(crash, _finding("segfault", source="kernel/n1.log")) == _sure(crash)


def test_a_hint_stays_one() -> None:
    """Evidence that only points somewhere is believed no more than its weight, and takes no node from a job."""
    assert _sure(_finding("gpu_degraded", weight=0.35)) == 0.35
    assert _sure(_finding("gpu_degraded", weight=0.5)) > 0.5
