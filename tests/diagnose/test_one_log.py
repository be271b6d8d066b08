"""One log read once in pieces: whatever its bytes, the same findings, in bounded memory and time."""

import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from supervisor.diagnose.bundle import Log
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.scan.one_log import Scanned, scan_log

_OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. GPU 3 has a total capacity of 79 GiB"
_TRACE = textwrap.dedent(
    """\
    Traceback (most recent call last):
      File "/home/u/train.py", line 12, in <module>
        main()
      File "/home/u/train.py", line 7, in main
        return table[key]
    StepMissingError: no step 12
    """
)
_MB = 1 << 20


def _scan(*pieces: bytes) -> Scanned:
    def opened() -> Iterator[bytes]:
        return iter(pieces)

    return scan_log(Log(name="job.out", pieces=opened))


def _found(scanned: Scanned) -> list[tuple[str, str]]:
    return [(one.signature, one.source) for one in scanned.findings]


def _told(scanned: Scanned) -> object:
    """All of it but the log itself."""
    return scanned.findings, scanned.lines, scanned.first, scanned.last, scanned.progress, scanned.end


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends(end: str) -> None:
    """Windows' line ends change nothing."""
    text = f"step 1 loss 2\n{_TRACE}{_OOM}\nend\n".replace("\n", end)
    scanned = _scan(text.encode())
    assert _found(scanned) == [("python_traceback", "job.out:7"), ("cuda_out_of_memory", "job.out:8")]
    assert all("\r" not in one.text for one in scanned.findings)
    assert str(scanned.findings[0].frame) == "train.py:7:main"
    assert scanned.end[-1] == "end"


def test_binary_between_lines() -> None:
    """NUL bytes and other binary, as a filesystem leaves them where a node died, hide nothing behind them."""
    noise = bytes(range(256)) * 40
    scanned = _scan(noise + b"\n" + b"\0" * 5000 + _OOM.encode() + b"\n" + noise + b"\n" + _TRACE.encode())
    assert [signature for signature, _ in _found(scanned)] == ["cuda_out_of_memory", "python_traceback"]
    assert scanned.findings[0].rank == 3


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_bytes_that_are_no_utf8(encoding: str) -> None:
    """A path in another encoding costs a character, not the line."""
    scanned = _scan(f"größe\n{_OOM} für rank 3\n".encode(encoding))
    assert _found(scanned) == [("cuda_out_of_memory", "job.out:2")]


@pytest.mark.parametrize("bar", ["\r 99%|#########9| 99/100 [00:10<00:00,  9.9it/s]", "\rEpoch 0:   0%|"])
def test_a_traceback_glued_to_a_progress_bar(bar: str) -> None:
    """What is written over a bar without a new line is still found, and only what stands after the bar is shown."""
    scanned = _scan(f"{bar * 50}{_TRACE}{bar * 50}\r{_OOM}\n".encode())
    assert [signature for signature, _ in _found(scanned)] == ["python_traceback", "cuda_out_of_memory"]
    assert str(scanned.findings[0].frame) == "train.py:7:main"
    assert "%|" not in scanned.findings[1].text


def test_a_traceback_right_behind_a_bar() -> None:
    """Without even a carriage return between them."""
    scanned = _scan(f"\r 99%|#########9| 99/100 [00:10<00:00,  9.9it/s]{_TRACE}".encode())
    assert [str(one.frame) for one in scanned.findings] == ["train.py:7:main"]


def test_very_many_equal_lines() -> None:
    """86,000 near-identical lines: a few findings that say how many there were, in seconds."""
    lines = (f"node{n % 900:03}:{n}:{n} [{n % 8}] NCCL WARN Call to ibv_create_qp failed {n}" for n in range(43_000))
    more = (f"[rank{n % 1024}]: RuntimeError: NCCL communicator was aborted on rank {n % 1024}." for n in range(43_000))
    text = "\n".join([*lines, *more, _OOM]).encode()
    begun = time.monotonic()
    scanned = _scan(*(text[at : at + _MB] for at in range(0, len(text), _MB)))
    assert time.monotonic() - begun < 20
    assert len(scanned.findings) < 30_000
    assert sum(one.count for one in scanned.findings) > 43_000
    assert any(one.cause == "cuda_oom" for one in scanned.findings)


@pytest.mark.parametrize("filler", [b"x", b"[", b"\r", b"a b ", b"0123:", b"/home/u/", b'File "'])
def test_a_line_of_a_megabyte(filler: bytes) -> None:
    """In the middle of a very long line, and behind it, things are found."""
    long = filler * (_MB // len(filler))
    begun = time.monotonic()
    scanned = _scan(long + b" " + _OOM.encode() + b" " + long + b"\n", _TRACE.encode())
    assert time.monotonic() - begun < 10
    found = {signature: source for signature, source in _found(scanned)}  # noqa: C416 - the last of each
    assert found["cuda_out_of_memory"] == "job.out:1"
    assert found["python_traceback"] == "job.out:7"
    assert all(len(one.text) < 10_000 for one in scanned.findings)


def test_no_new_line_at_all() -> None:
    """A bar of many megabytes that never ends its line: memory and time are bounded, what it ends with is found."""
    bar = b"\r 50%|#####     | 50/100 [00:10<00:10,  9.9it/s]" * 20_000
    scanned = _scan(*[bar] * 12, b"\r" + _OOM.encode())
    assert [signature for signature, _ in _found(scanned)] == ["cuda_out_of_memory"]
    assert _found(scanned)[0][1] == "job.out:1"
    assert 0 < len(scanned.progress) < 10_000, "only its last part is kept"


def test_an_empty_log() -> None:
    """Nothing is found in nothing."""
    for pieces in ((), (b"",), (b"\n",), (b"\0",)):
        assert _scan(*pieces).findings == ()


def test_the_last_line_without_its_end() -> None:
    """A killed process does not end its line."""
    assert _found(_scan(f"a\n{_OOM}".encode())) == [("cuda_out_of_memory", "job.out:2")]
    assert _found(_scan(_TRACE.rstrip("\n").encode())) == [("python_traceback", "job.out:6")]


_LINES = st.sampled_from(
    [
        "",
        _OOM,
        *_TRACE.splitlines(),
        "E1127 03:11:09.0 139 x.py:1] failed",
        "2025-11-27 03:11:09,123 step 12 loss 2.1",
        "srun: error: node002: task 3: Exited with exit code 1",
        "node014:21840:22711 [2] NCCL WARN Call to ibv_create_qp failed",
        "\r 9%|# | 9/100 [00:10<00:10]\r10%|# | 10/100 [00:10<00:10]",
        'Thread 0x7f (active): "MainThread"',
        "    all_reduce (torch/distributed/distributed_c10d.py:2501)",
        "größe \0\x1b[31m",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_LINES, max_size=25), st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(1, 120), max_size=20))
@example([_OOM, *_TRACE.splitlines()], "\n", [1] * 400)
def test_pieces_make_no_difference(lines: list[str], end: str, cuts: list[int]) -> None:
    """However a file is cut into pieces, also within a character or between CR and LF, all comes out the same."""
    data = end.join(lines).encode()
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(data[at : at + cut])
        at += cut
    assert _told(_scan(*pieces, data[at:])) == _told(_scan(data))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=600), st.lists(_LINES, max_size=6), st.integers(0, 900))
def test_any_bytes(noise: bytes, lines: list[str], cut: int) -> None:
    """Any bytes around known lines: no error, and no dependence on the cut."""
    data = noise + "\n".join(lines).encode() + noise[::-1]
    assert _told(_scan(data[:cut], data[cut:])) == _told(_scan(data))


def test_a_file_that_still_grows(tmp_path: Path) -> None:
    """It is read to its present end, though its program writes faster than anybody reads."""
    path = tmp_path / "slurm-1.out"
    with path.open("a") as out:
        writer = subprocess.Popen([sys.executable, "-uc", "while True: print('step 1 loss 2.0 ' * 900)"], stdout=out)
    try:
        while path.stat().st_size < _MB:
            time.sleep(0.01)
        begun = time.monotonic()
        diagnose(read_bundle(path))
        assert time.monotonic() - begun < 30
    finally:
        writer.kill()
        writer.wait()
    with path.open("a") as out:
        out.write(f"\n{_OOM}\n")
    assert diagnose(read_bundle(path)).cause == "cuda_oom"


_MEASURED = """
import resource, sys
from pathlib import Path
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
small, large = (Path(one) for one in sys.argv[1:])
diagnose(read_bundle(small))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(diagnose(read_bundle(large)).cause, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path, checkout: Path) -> None:
    """A file of 300 MB, a part of it without a new line and a part full of errors, takes some tens of megabytes."""
    small, large = tmp_path / "small.out", tmp_path / "large.out"
    small.write_text(f"{_OOM}\n{_TRACE}")
    ordinary = "".join(f"2025-11-27 03:11:09,123 step {n} loss 2.1 lr 1e-4 grad_norm 0.3\n" for n in range(15_000))
    errors = "".join(f"[rank{n % 512}]: RuntimeError: NCCL communicator was aborted {n}\n" for n in range(3_000))
    with large.open("w") as file:
        for number in range(280):
            file.write(ordinary if number % 10 else errors if number % 20 else "\r 9%|# | 9/100 " * 70_000)
        file.write(f"{_OOM}\n")
    assert large.stat().st_size > 250 * _MB
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(small), str(large)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    cause, grown_kib = done.stdout.split()
    assert cause == "cuda_oom"
    assert int(grown_kib) < 100 << 10


def test_an_exception_raised_while_another_was_handled_is_less_sure() -> None:
    """Also in a whole log, where the line between the two tracebacks belongs to neither: the first one came first."""
    between = "\nDuring handling of the above exception, another exception occurred:\n\n"
    scanned = _scan(f"{_TRACE}{between}{_TRACE.replace('StepMissing', 'Cleanup')}".encode())
    weights = [one.weight for one in scanned.findings if one.signature == "python_traceback"]
    assert len(weights) == 2
    assert weights[1] < weights[0]


def test_the_last_line_has_its_number_without_an_end_of_line() -> None:
    """Steps in the last lines, and the number of lines, are counted alike."""
    for end in ("", "\n"):
        scanned = _scan(f"step 1 loss 2\n{_OOM} iter 7 loss 3{end}".encode())
        assert [one.line for one in scanned.progress] == [1, 2]
        assert scanned.findings[0].order == (0, 2)


def test_source_text_in_a_traceback_is_no_evidence() -> None:
    """What the program would raise is not what it raised, and no file is called `{shard}`."""
    raised = 'raise OSError(f"Checksum failure: {shard}")'
    trace = _TRACE.replace("return table[key]", raised).replace(
        "StepMissingError: no step 12", "OSError: Checksum failure: /d/s-1.tar"
    )
    (found,) = _scan(trace.encode()).findings
    assert (found.signature, found.order[1]) == ("dataset_checksum", 6)
