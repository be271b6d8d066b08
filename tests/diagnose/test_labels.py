"""Who wrote a line: the labels of launchers in front of it, in any number and order, and names inside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.scan.labels import Writer, expand_tasks, rank_inside, read_labels, split_label, writer_of
from supervisor.model.ids import NodeName, Rank

_REST = "RuntimeError: boom"


def _writer(
    rank: int | None = None,
    local: int | None = None,
    node: str | None = None,
    gpu: int | None = None,
    pid: int | None = None,
) -> Writer:
    return Writer(
        rank=None if rank is None else Rank(rank),
        local_rank=local,
        node=None if node is None else NodeName(node),
        gpu=gpu,
        pid=pid,
    )


_LABELS = {
    "srun --label": ("3: ", _writer(3)),
    "srun --label, padded": ("   3: ", _writer(3)),
    "four digits": ("1023: ", _writer(1023)),
    "torch": ("[rank3]:", _writer(3)),
    "torch with a space": ("[rank3]: ", _writer(3)),
    "lightning": ("[rank: 3] ", _writer(3)),
    "torchrun --tee": ("[default3]:", _writer(local=3)),
    "mpirun --tag-output": ("[1,3]<stderr>:", _writer(3)),
    "mpirun --tag-output with a space": ("[1,3]<stdout>: ", _writer(3)),
    "mpiexec -prepend-rank": ("[3] ", _writer(3)),
    "ray": ("(worker, rank=3, pid=2210) ", _writer(3, pid=2210)),
    "ray without a name": ("(rank=3, pid=2210) ", _writer(3, pid=2210)),
    "open mpi": ("[node014:2210] ", _writer(node="node014", pid=2210)),
    "nccl": ("node014:21840:22711 [2] ", _writer(node="node014", gpu=2, pid=21840)),
    "nccl, cray": ("nid001234:21840:22711 [2] ", _writer(node="nid001234", gpu=2, pid=21840)),
    "nccl, cloud": ("ip-10-0-3-7:21840:22711 [2] ", _writer(node="ip-10-0-3-7", gpu=2, pid=21840)),
    "pdsh": ("gpu-a-17: ", _writer(node="gpu-a-17")),
    "slurmstepd of one of several slurmd": ("slurmstepd-node014: ", _writer(node="node014")),
    "srun and torch": ("37: [rank37]: ", _writer(37)),
    "srun and torchrun": ("4: [default3]:", _writer(4, local=3)),
    "srun and torchrun and torch": ("4: [rank35]:", _writer(35)),
    "colour": ("\x1b[36m(worker, rank=3, pid=2210)\x1b[0m ", _writer(3, pid=2210)),
    "colour and nul": ("\0\x1b[1;31m[rank3]:\x1b[0m \0", _writer(3)),
    "none": ("", _writer()),
}


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("Mar  3 10:11:12 gpu017 kernel: NVRM: Xid 79", "gpu017"),
        ("<4>Mar 13 10:11:12 gpu017.hpc.local kernel: NVRM: Xid 79", "gpu017.hpc.local"),
        ("2026-03-03T10:11:12.123456+01:00 gpu017 slurmd[812]: error: x", "gpu017"),
        ("Mar  3 10:11:12 error: kernel panicked", None),
        ("2026-03-03T10:11:12 step 3: loss 2", None),
    ],
)
def test_a_systems_log_names_its_host(line: str, node: str | None) -> None:
    """The host between time and writer, in a file of any name."""
    assert writer_of(line).node == node


@pytest.mark.parametrize("kind", _LABELS)
def test_labels(kind: str) -> None:
    """Every launcher's label tells what it knows and is taken off."""
    label, writer = _LABELS[kind]
    rest = f"NCCL WARN {_REST}" if kind.startswith("nccl") else _REST
    assert read_labels(f"{label}{rest}") == (writer, rest)


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: boom",
        "md5: 8 files",
        "utf8: bad",
        "[ERROR] boom",
        "[2025-11-27 03:11:09] boom",
        "(3, 4) is no shape",
        "12:30:11 INFO",
        "http://node1:80 x",
        "[1/3] building",
        "[W1127 03:11:09.1 socket.cpp:464] x",
    ],
)
def test_what_is_no_label(line: str) -> None:
    """Words and times in front are no labels."""
    assert read_labels(line) == (_writer(), line)


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[Rank 3] Watchdog caught collective operation timeout", 3),
        ("Global rank 12 failed", 12),
        ("global_rank=5 lost", 5),
        ("rank: 7 died", 7),
        ("on rank=8,", 8),
        ("PE 4 aborts", 4),
        ("MPI rank 6 was killed", 6),
        ("PE 4/8", None),
        ("ranked 3 of 5", None),
        ("prank 3", None),
    ],
)
def test_a_rank_inside(line: str, rank: int | None) -> None:
    """A line may name its rank in the text."""
    assert rank_inside(line) == rank


def test_a_label_beats_a_rank_inside() -> None:
    """Who writes is not whom the text is about."""
    assert writer_of("[rank3]: lost rank 5").rank == 3
    assert writer_of("lost rank 5").rank == 5


def test_two_ranks_in_one_line() -> None:
    """Where two ranks wrote into one line, each place belongs to the label before it."""
    line = "[rank3]: ValueError: bad[rank5]: KeyError: 'x'[default7]: OSError"
    assert writer_of(line, line.index("ValueError")).rank == 3
    assert writer_of(line, line.index("KeyError")).rank == 5
    assert writer_of(line, line.index("OSError")) == _writer(local=7)


def test_frames_keep_their_indentation() -> None:
    """A traceback's frames are told by their indentation, behind a label and a time too."""
    assert split_label('[rank3]:   File "a.py", line 3, in f') == (3, '  File "a.py", line 3, in f')
    rank, rest = split_label('4: 2025-11-27 03:11:09,123   File "a.py", line 3, in f')
    assert (rank, rest.lstrip(" ")) == (4, 'File "a.py", line 3, in f')
    assert rest.startswith(" ")


def test_nodes_inside() -> None:
    """NCCL's own form in the middle of a line, and a node that is named as one."""
    assert writer_of("x node014:21840:22711 [2] NCCL WARN y").node == "node014"
    assert writer_of("hostname: gpu-a-17 failed").node == "gpu-a-17"
    assert writer_of("node tg10123 failed").node == "tg10123"


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("3", (3,)),
        ("0-2,5", (0, 1, 2, 5)),
        ("0-99999", tuple(range(32))),
        ("5-2", ()),
        ("", ()),
        ("a-b", ()),
        ("1-", (1,)),
        ("99999999", ()),
        ("\N{SUPERSCRIPT TWO}", ()),
        ("1-\N{SUPERSCRIPT TWO}", ()),
    ],
)
def test_tasks(text: str, ranks: tuple[int, ...]) -> None:
    """Lists of tasks as srun prints them, bounded; what is none is passed over."""
    assert expand_tasks(text, most=32) == ranks


_PARTS = st.sampled_from([label for label, _ in _LABELS.values()]) | st.text(max_size=8)


@given(st.lists(_PARTS, max_size=6).map("".join), st.integers(0, 60))
def test_any_line(line: str, at: int) -> None:
    """No line raises, and what is left of it is a part of it."""
    writer, rest = read_labels(line)
    assert isinstance(writer, Writer)
    assert rest in line.replace("\0", "") or "\x1b" in line
    assert isinstance(writer_of(line, at), Writer)
