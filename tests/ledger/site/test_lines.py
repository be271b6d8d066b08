"""Lines of a ledger file: what anybody may have written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.ledger.site.lines import LONGEST, Line, Lines
from supervisor.model.ids import NodeName
from supervisor.model.records import Split
from supervisor.model.site import SiteGpu, SiteIncident, SiteJob, SiteSplit, SiteUse
from tests.ledger.site.made import AT, RUN, bytes_of, incident, job, use

_GOOD = bytes_of(job(), incident(), use())
_COUNT = 3


def _read(data: bytes, piece: int = LONGEST) -> tuple[list[Line], Lines]:
    reader, lines = Lines(), []
    while data:
        size = min(piece, reader.room)
        lines += reader.take(data[:size])
        data = data[size:]
    reader.end()
    return lines, reader


@pytest.mark.parametrize("piece", [1, 7, 1000, LONGEST])
def test_lines_come_whole_however_they_are_read(piece: int) -> None:
    """A line may end anywhere in a piece."""
    lines, reader = _read(_GOOD, piece)
    assert lines == [job(), incident(), use()]
    assert not str(reader.left_out)


def test_a_torn_last_line_is_left_out_and_counted() -> None:
    """A supervisor was killed, or the disk was full."""
    lines, reader = _read(_GOOD[:-10])
    assert lines == [job(), incident()]
    assert str(reader.left_out) == "1 line torn at the end"


def test_a_line_torn_in_the_middle_costs_itself_only() -> None:
    """The next writer began a line of its own behind it."""
    lines, reader = _read(bytes_of(job())[:-20] + b"\n" + bytes_of(incident(), use()))
    assert lines == [incident(), use()]
    assert str(reader.left_out) == "1 line not readable"


@pytest.mark.parametrize(
    "newer",
    [
        b'{"kind":"use","schema":2,"at":1.0,"job":"1","run":"r","held_node_s":1.0,"computing_node_s":1.0}',
        b'{"kind":"use","schema":2,"at":"now","job":"1"}',
        b'{"kind":"weather","schema":9,"is":"fine"}',
    ],
)
def test_lines_of_a_newer_version_are_left_out_and_told(newer: bytes) -> None:
    """Also where today's version could read them: their fields may mean something else."""
    lines, reader = _read(_GOOD + newer + b"\n" + bytes_of(incident(2)))
    assert len(lines) == _COUNT + 1
    assert str(reader.left_out) == "1 line of a newer version of supervise"


def test_lines_of_an_older_version_are_read() -> None:
    """Without the fields that came later; literal, as that version wrote them."""
    old = (
        b'{"kind":"job","schema":0,"at":1790000000.0,"job":"81234","run":"4f0c2a9b7d11"}\n'
        b'{"kind":"incident","schema":0,"at":1790000100.0,"evidence_at":1790000099.0,"job":"81234",'
        b'"run":"4f0c2a9b7d11","incident":1,"cls":"hardware","cause":"gpu_fell_off_bus","confidence":0.9,'
        b'"action":"relaunch"}\n'
        b'{"kind":"use","schema":0,"at":1790000200.0,"job":"81234","run":"4f0c2a9b7d11",'
        b'"held_node_s":100.0,"computing_node_s":50.0}\n'
    )
    lines, reader = _read(old)
    assert [type(line) for line in lines] == [SiteJob, SiteIncident, SiteUse]
    assert lines[0] == SiteJob(schema=0, at=AT, job=job().job, run=RUN)
    assert not str(reader.left_out)


def test_lines_with_all_that_is_left_out_today_are_read() -> None:
    """As they were written at first: the first evidence, parts that took no time, blamed nodes that left."""
    old = (
        b'{"kind":"incident","at":1790000100.0,"evidence_at":1790000099.0,"job":"81234","run":"4f0c2a9b7d11",'
        b'"incident":1,"cls":"hardware","cause":"gpu_fell_off_bus","confidence":0.9,"nodes":["n1"],"excluded":["n1"],'
        b'"action":"relaunch_on_spare","split":{"detect":1.0,"decide":0.0,"stop":0.0},"lost_node_s":0.0}\n'
    )
    (line,), reader = _read(old)
    assert line == incident(excluded=("n1",), split=SiteSplit(detect=1.0, decide=0.0, stop=0.0))
    assert isinstance(line, SiteIncident)
    assert line.left == ("n1",)
    assert not str(reader.left_out)


def test_endless_depth_breaks_nothing() -> None:
    """In a field that nobody reads it may be refused or not, as deep as Python goes."""
    deep = b'{"kind":"job","at":1.0,"job":"1","run":"r","x":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    lines, reader = _read(bytes_of(job()) + deep + b"\n" + bytes_of(use()))
    assert (lines[0], lines[-1]) == (job(), use())
    assert len(lines) + reader.left_out.unreadable == 3


def test_unknown_fields_are_ignored() -> None:
    """A site's own program may add some."""
    lines, _ = _read(_GOOD.replace(b'"kind":"use"', b'"kind":"use","colour":{"of":["red"]}'))
    assert lines == [job(), incident(), use()]


@pytest.mark.parametrize(
    "bad",
    [
        b'{"kind":"job","at":1.0,"job":"\xff\xfe","run":"r"}',
        b'{"kind":"job","at":1.0,"job":"1\x00","run":"r"}',
        b"\x00" * 4096,
        b'{"kind":"job","at":1.0,"job":"\\u001b[2J","run":"r"}',
        b'{"kind":"job","at":1.0,"job":"1","run":"r","nodes":["\\u202en1"]}',
        '{"kind":"job","at":1.0,"job":"1\u202e","run":"r"}'.encode(),
        b'{"kind":"job","at":1e999,"job":"1","run":"r"}',
        b'{"kind":"job","at":-5.0,"job":"1","run":"r"}',
        b'{"kind":"job","at":9e9,"job":"1","run":"r"}',
        b'{"kind":"use","at":1.0,"job":"1","run":"r","held_node_s":1e300,"computing_node_s":1.0}',
        b'{"kind":"use","at":1.0,"job":"1","run":"r","held_node_s":1.0,"computing_node_s":2.0}',
        b'{"kind":"use","at":1.0,"job":"1","run":"r","held_node_s":1.0,"computing_node_s":-2.0}',
        b'{"kind":"use","at":1.0,"job":"1","run":"r","held_node_s":1.0,"computing_node_s":1.0,"restarts":1000001}',
        b'{"kind":"use","at":1.0,"job":"1","run":"r","held_node_s":1.0,"computing_node_s":1.0,"step":-1}',
        b'{"kind":"job","at":1.0,"job":"1","run":"r","gpus_per_node":1025}',
        b'{"kind":"job","at":1.0,"job":"","run":"r"}',
        b'{"kind":"owner"}',
        b'{"kind":"nonsense"}',
        b"[1, 2]",
        b"null",
        b"hello",
    ],
)
def test_what_is_no_line_is_counted(bad: bytes) -> None:
    """Whatever it is, the lines around it are read."""
    lines, reader = _read(bytes_of(job()) + bad + b"\n" + bytes_of(use()))
    assert lines == [job(), use()]
    assert str(reader.left_out) == "1 line not readable"


@pytest.mark.parametrize(
    "changes",
    [
        {"confidence": 1.5},
        {"lost_node_s": -1.0},
        {"recovery_s": -1.0},
        {"node_count": -1},
        {"evidence_at": -1.0},
        {"lost_node_s": 1e300},
        {"node_count": 10**6 + 1},
        {"steps_lost": -1},
        {"steps_lost": 10**16},
        {"split": Split(detect=-0.1)},
        {"split": Split(catch_up=1e8)},
        {"gpus": (SiteGpu(node=NodeName("n1"), gpu=-1),)},
        {"gpus": (SiteGpu(node=NodeName("n1"), gpu=1025),)},
        {"incident": -1},
        {"job": ""},
        {"run": ""},
        {"run": "r" * 65},
    ],
)
def test_impossible_numbers_are_left_out(changes: dict[str, Any]) -> None:
    """One forged line must not tip the mean of a site over."""
    lines, reader = _read(bytes_of(job(), incident(**changes)))
    assert lines == [job()]
    assert str(reader.left_out) == "1 line not readable"


@pytest.mark.parametrize("piece", [1000, LONGEST])
@pytest.mark.parametrize("size", [LONGEST + 1, 3 * LONGEST, 3 * LONGEST + 17])
def test_a_line_that_is_too_long_is_passed_over(size: int, piece: int) -> None:
    """Not read into memory, and counted once."""
    lines, reader = _read(bytes_of(job()) + b"x" * (size - 1) + b"\n" + bytes_of(use()), piece)
    assert lines == [job(), use()]
    assert str(reader.left_out) == "1 line longer than 64 KiB"


def test_a_line_of_just_that_length_is_read() -> None:
    """The bound is a promise to writers as well."""
    line = bytes_of(job(partition="p" * (LONGEST - len(bytes_of(job(partition="p"))) + 1)))
    assert len(line) == LONGEST
    lines, reader = _read(bytes_of(use()) + line + bytes_of(use()))
    assert len(lines) == _COUNT
    assert not str(reader.left_out)


def test_names_in_other_scripts_are_read() -> None:
    """Only what does not print is refused."""
    lines, _ = _read(bytes_of(job(partition="größe")))
    assert lines == [job(partition="größe")]


@given(st.binary(max_size=400), st.integers(1, 400), st.integers(0, len(_GOOD)))
def test_nothing_breaks_the_reader(noise: bytes, piece: int, place: int) -> None:
    """Any bytes anywhere: no error, and the same lines however they are cut into pieces."""
    data = _GOOD[:place] + noise + _GOOD[place:]
    lines, reader = _read(data)
    again, twin = _read(data, piece)
    assert lines == again
    assert reader.left_out == twin.left_out
