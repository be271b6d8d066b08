"""Lines that mean something, while a log grows."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.lines import LineScanner, find_lines


def _recorded() -> list[tuple[str, str]]:
    path = Path(__file__).resolve().parents[1] / "data" / "diagnose" / "slurm_lines.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(one.partition("\t")[0], one.partition("\t")[2]) for one in lines if not one.startswith("#")]


def _one(line: str) -> Hit:
    hits = list(find_lines([line]))
    assert len(hits) == 1
    return hits[0]


@pytest.mark.parametrize(
    ("ended", "code", "signal"),
    [
        ("Exited with exit code 1", 1, None),
        ("Exited with exit code 139", 139, None),
        ("Segmentation fault", None, 11),
        ("Segmentation fault (core dumped)", None, 11),
        ("Killed", None, 9),
        ("Terminated", None, 15),
        ("Aborted (core dumped)", None, 6),
        ("Bus error", None, 7),
        ("Out Of Memory", None, 9),
        ("Illegal instruction", None, 4),
        ("Floating point exception", None, 8),
        ("User defined signal 2", None, 10),
    ],
)
def test_how_a_task_ended(ended: str, code: int | None, signal: int | None) -> None:
    """The line of srun about a task gives its rank, node and how it ended."""
    hit = _one(f"srun: error: node002: task 3: {ended}")
    assert (hit.rank, hit.node, hit.code, hit.signal) == (3, "node002", code, signal)


def test_a_line_about_many_tasks() -> None:
    """One hit per task; a list of nodes names no single node."""
    hits = list(find_lines(["srun: error: node[001-002]: tasks 0-2,5: Terminated"]))
    assert [hit.rank for hit in hits] == [0, 1, 2, 5]
    assert {hit.node for hit in hits} == {None}


def test_a_line_about_very_many_tasks_is_bounded() -> None:
    """A hundred thousand tasks make a few hits."""
    assert len(list(find_lines(["srun: error: n1: tasks 0-99999: Killed"]))) == 32


@pytest.mark.parametrize(("signature", "line"), _recorded())
def test_slurms_words(signature: str, line: str) -> None:
    """What slurmstepd and srun of 22.05 to 26.05 say about the end."""
    assert _one(line).signature == signature


@pytest.mark.parametrize("label", ["[rank37]: ", "37: ", "  37: ", "37: [rank37]: ", "(worker, rank=37, pid=9) "])
def test_labels_tell_the_rank(label: str) -> None:
    """The rank is read from the labels of srun, torch and Ray."""
    hit = _one(f"{label}torch.OutOfMemoryError: CUDA out of memory. GPU 3 has a total capacity of 79 GiB")
    assert (hit.rank, hit.gpu, hit.cause, hit.root) == (37, 3, "cuda_oom", True)


def test_ordinary_lines_mean_nothing() -> None:
    """Progress, and words that only look like errors, are no hits."""
    lines = ["step 10 loss 0.3", "0 errors", "Exited the loop", "INFO: task 3: done", "killed 3 zombies in the game"]
    assert list(find_lines(lines)) == []


@given(st.lists(st.integers(1, 60), max_size=30))
def test_pieces_make_no_difference(cuts: list[int]) -> None:
    """However a log is cut into pieces, the hits are the same."""
    text = (
        b"step 1\nsrun: error: node002: task 3: Exited with exit code 1\nx\r99%\rKeyError: 1\n"
        b"[rank1]: MemoryError\nsrun: error: node002: tasks 0-2: Terminated\n"
    )
    scanner, found, at = LineScanner(), [], 0
    for cut in cuts:
        found += scanner.feed(text[at : at + cut])
        at += cut
    found += scanner.feed(text[at:])
    assert found == LineScanner().feed(text)


def test_a_line_without_end_costs_no_memory() -> None:
    """A progress bar that never ends its line is kept only in part."""
    scanner = LineScanner()
    for _ in range(100):
        scanner.feed(b"\r 10% |####" * 10_000)
    assert len(scanner._rest) <= 4096


def test_bytes_that_are_no_text() -> None:
    """Binary in a log is passed over."""
    assert LineScanner().feed(bytes(range(256)) + b"\nsrun: error: n1: task 0: Killed\n")[0].signal == 9
