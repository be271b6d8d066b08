"""Lines that differ in numbers alone are understood once: never where a pattern tells the numbers apart."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from supervisor.diagnose.bundle import Log
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.scan import memory
from supervisor.diagnose.scan.automaton import Automaton
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.diagnose.scan.lines import LineScanner
from supervisor.diagnose.scan.one_log import scan_log
from supervisor.diagnose.scan.progress import may_hold_progress, progress_of
from supervisor.diagnose.scan.shapes import mask, told_apart
from supervisor.diagnose.scan.stamps import may_hold_stamp, stamp_of
from supervisor.diagnose.signatures import Signature, built_in

_ALL = "0123456789"


@pytest.mark.parametrize(
    ("pattern", "digits"),
    [
        (r"retry \d{1,3} of [0-9a-f]{4,}", ""),
        (r"Xid.{0,20}: 79,", "79"),
        (r"code [3-5]\d{9}", "345"),
        (r"bf16|fp8", "168"),
        (r"(\d+) of \1", _ALL),
        (r"(?P<one>\d) and (?P=one)", _ALL),
        (r"\060", _ALL),
        (r"[!-5]", _ALL),
        (r"exitcode: -9", _ALL),
        (r"a{5} \{5}", "5"),
        (r"level 0-9", _ALL),
    ],
)
def test_digits_that_a_pattern_tells_apart(pattern: str, digits: str) -> None:
    """Those that it names; counts of repetition and sets of all digits name none; all where that is hard to tell."""
    assert told_apart(pattern) == set(digits)


def test_no_signature_tells_masked_digits_apart() -> None:
    """With its own literals in the line, and digits exchanged that it does not name, each decides the same."""
    for signature in built_in():
        left = set(_ALL) - told_apart(signature.pattern)
        tables = [str.maketrans(dict.fromkeys(left, other)) for other in left]
        for literal in signature.literals:
            line = f"[rank3]: 21:07:46 {literal}: 5 of 70 0x1f 1234567890"
            said = {bool(re.search(signature.pattern, line.translate(table))) for table in tables}
            assert len(said) <= 1, signature.id


def test_a_mask_keeps_what_any_pattern_names() -> None:
    """One digit stands for all that none of them names."""
    assert b"0123456789".translate(mask(["code 1", r"\d 7"])) == b"0100000700"
    assert b"2 of 9".translate(mask(_ALL)) == b"2 of 9"


def _catalogue(*patterns: str) -> Catalogue:
    return Catalogue(
        tuple(
            Signature(id=f"s{at}", role="root", cause="cuda_oom", weight=0.5, literals=("code",), pattern=one)
            for at, one in enumerate(patterns)
        )
    )


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=40))
def test_what_was_read_before_changes_no_answer(numbers: list[tuple[int, int]]) -> None:
    """A scanner that remembers says of each line what one says that has read nothing."""
    patterns = (r"code 1\d\b", r"code [3-5]", r"code \d of (?P<step>\d+)", r"^(\d+) code \1$")
    remembering = LineScanner(signatures=_catalogue(*patterns))
    for one, other in numbers:
        line = f"{one} code {other}" if one % 2 else f"code {one} of {other}"
        assert remembering.hits(line) == LineScanner(signatures=_catalogue(*patterns)).hits(line)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More lines than it holds begin it anew, and long ones are not kept."""
    monkeypatch.setattr(memory, "_PARTS", 8)
    signatures = _catalogue(r"code \w+")
    scanner = LineScanner(signatures=signatures)
    for number in range(100):
        assert scanner.hits(f"code x{'x' * number}")
    scanner.hits("code " + "x" * 600)
    kept = signatures.memory("any")
    assert 0 < len(kept.meanings) <= 8
    assert 0 < len(kept.fitting) <= 8
    assert max(map(len, kept.meanings)) < 600


def test_kinds_of_logs_share_nothing() -> None:
    """The same line means nothing in a log in which its signature is not looked for."""
    one = replace(_catalogue("c").signatures[0], sources=("kernel",))
    signatures = Catalogue((one,))
    assert LineScanner(kind="kernel", signatures=signatures).hits("code")
    assert not LineScanner(kind="ranks", signatures=signatures).hits("code")


def _read(data: bytes, cut: int) -> tuple[Finding, ...]:
    def pieces() -> Iterator[bytes]:
        return (data[at : at + cut] for at in range(0, len(data), cut))

    return scan_log(Log(name="a.log", pieces=pieces)).findings


def test_what_is_said_often_is_looked_at_once_in_a_block() -> None:
    """How the log is cut changes neither the count nor which one is the last, with its line and time."""
    lines = [
        f"2026-02-11 21:{n // 60:02}:{n % 60:02},000 [rank{n % 2}]: torch.OutOfMemoryError: CUDA out of memory. {n}"
        for n in range(600)
    ]
    data = "\n".join(lines).encode()
    whole, cut = _read(data, len(data)), _read(data, 4096)
    assert whole == cut
    assert {one.count for one in whole if one.order[1] <= 2} == {300}
    assert sorted({one.order[1] for one in whole})[-2:] == [599, 600]
    assert whole[-1].text == lines[-1]
    assert whole[-1].stamp == stamp_of(lines[-1])


def test_lines_that_were_there_word_for_word_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where most are, the others are found all the same, each at its place."""
    searched = 0
    find = Automaton.find

    def counted(self: Automaton, data: bytes) -> list[tuple[int, int, int]]:
        nonlocal searched
        searched += len(data)
        return find(self, data)

    monkeypatch.setattr(Automaton, "find", counted)
    block = b"RuntimeError: NCCL communicator was aborted\nsocketTimeout\nMemoryError: Unable to allocate\n\n" * 300
    new = b"step 3\n[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried 7 GiB\n" + b"x" * 3000 + b"MemoryError\n"
    data = block * 4 + block[:-1] + new + block * 4
    apart = _read(data, 4096)
    assert searched > len(data)
    searched = 0
    assert _read(data, len(block)) == apart
    assert searched < len(data) / 2
    assert [one.order for one in apart if one.rank == 5] == [(0, 6001)]


@pytest.mark.parametrize(
    "line",
    [
        "iter 5 loss 2",
        "Epoch 3: loss 1",
        " 12/100 [00:31<38:10]",
        "num_updates: 7 lr 1",
        "Batch 1/2 loss 3",
        "time step 4",
        "nstep = 3 elapsed",
        "Epoch: [4][1200/5004]  Time 0.31  Loss 2.31",
        " 811/2920 [=====>....] - loss: 0.4",
        "loss: 2.31  [41100/60000]",
        "kimg 411.2",
    ],
)
def test_no_report_of_progress_is_passed_over(line: str) -> None:
    """What is asked first lets each of them through."""
    assert progress_of(1, line)
    assert may_hold_progress(f"x\n{line}\n".encode())
    assert not may_hold_progress(b"Error: nothing\nto see")


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Epoch: [4][1200/5004]  Time 0.31  Loss 2.31", 1200),
        ("Epoch: [0]  [ 300/1217]  eta: 0:10  loss: 0.3", 300),
        ("Train: 4 [1200/5004 ( 24%)]  Loss: 3.2", 1200),
        ("Epoch 3/90 loss: 0.3", 3),
        ("2026/01/31 loss 0.3", None),
        ("loss of /data/12/34", None),
    ],
)
def test_a_part_of_a_whole_is_a_step_beside_words_of_training(line: str, step: int | None) -> None:
    """Of an epoch, in PyTorch's ImageNet reference, torchvision, timm, Keras: a date and a path are none."""
    found = progress_of(1, line)
    assert (found.step if found else None) == step


@pytest.mark.parametrize("line", ["2026-02-24T04:10:02.1", "Nov 27 03:11:03 n1", "[10:02:11] x", "E1127 03:21:09.0 y"])
def test_no_time_is_passed_over(line: str) -> None:
    """What is asked first lets each of them through."""
    assert stamp_of(line)
    assert may_hold_stamp(f"x\n{line}\n".encode())
    assert not may_hold_stamp(b"a: b: c 12:30")
