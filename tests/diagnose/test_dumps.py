"""Flight-recorder dumps as files: pickles load no code, and hostile ones cost a refusal and a bounded time."""

import json
import os
import pickle
import pickletools
import resource
import struct
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.diagnose.reading import dumps, folder
from supervisor.diagnose.reading.dump_child import read
from supervisor.diagnose.reading.dumps import read_dump
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.errors import PayloadRefused
from tests.diagnose.flight_dumps import REAL, entry, waiting

_MARK = "supervise_test_mark"
_PROTO = b"\x80\x04"
_SOON_S = 15.0


class _Runs:
    """Pickled, it makes a file when it is loaded."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self._path,)


def _hostile(mark: str) -> dict[str, bytes]:
    """Pickles that would make the folder `mark`, by every opcode that can reach code."""
    name = mark.encode()
    text = b"X" + struct.pack("<I", len(name)) + name
    call = b"\x85R."
    short = b"\x8c\x02os\x8c\x05mkdir\x93"
    return {
        "reduce_0": pickle.dumps(_Runs(mark), 0),
        "reduce_2": pickle.dumps(_Runs(mark), 2),
        "reduce_4": pickle.dumps(_Runs(mark), 4),
        "reduce_5": pickle.dumps(_Runs(mark), 5),
        "inside_an_entry": pickle.dumps({"entries": [{"frames": _Runs(mark)}]}, 4),
        "as_a_key": _PROTO + b"}" + b"cos\nmkdir\n" + text + b"\x85RNs.",
        "global": b"cos\nmkdir\n" + text + call,
        "stack_global": _PROTO + short + text + call,
        "inst": b"(" + text + b"ios\nmkdir\n.",
        "obj": b"(cos\nmkdir\n" + text + b"o.",
        "newobj": _PROTO + b"cos\nmkdir\n" + text + b"\x85\x81.",
        "newobj_ex": _PROTO + b"cos\nmkdir\n" + text + b"\x85}\x92.",
        "build": b"c__builtin__\ndict\n)R}X\x04\x00\x00\x00name" + text + b"sb.",
        "build_plain": b"}X\x04\x00\x00\x00name" + text + b"sb.",
        "ext1": _PROTO + b"\x82\x01" + text + call,
        "ext4": _PROTO + b"\x84\x01\x00\x00\x00.",
        "persid": b"Pos.mkdir\n.",
        "binpersid": text + b"Q.",
        "buffer": b"\x80\x05\x97.",
        "reduce_of_a_string": text + b")R.",
        "builtin_eval": b"cbuiltins\neval\n" + text + call,
    }


@pytest.mark.parametrize("kind", sorted(_hostile("")))
def test_no_code_is_loaded(kind: str, tmp_path: Path) -> None:
    """Whatever opcode asks for a name, an object or an extension: refused, and nothing has happened."""
    mark = tmp_path / _MARK
    path = tmp_path / "rank_0"
    path.write_bytes(_hostile(str(mark))[kind])
    with pytest.raises(PayloadRefused, match="rank_0 is no flight-recorder dump"):
        read_dump(path)
    assert not mark.exists()


def test_these_pickles_do_run_code(tmp_path: Path) -> None:
    """The test above means something: Python's own loader does make the folder."""
    for kind in ("reduce_0", "stack_global", "inst", "obj"):
        mark = tmp_path / kind
        pickle.loads(_hostile(str(mark))[kind])  # noqa: S301 - that is the point
        assert mark.is_dir()


def _bombs() -> dict[str, bytes]:
    doubled: list[object] = []
    for _ in range(60):
        doubled = [doubled, doubled]
    in_entry = b"}X\x07\x00\x00\x00entries]}X\x0b\x00\x00\x00input_sizes"
    return {
        "empty": b"",
        "half": (REAL / "gloo-hang" / "pickle" / "rank_0").read_bytes()[:-40],
        "no_stop": _PROTO + b"}",
        "nested_lists": b"(l" * 100_000 + b"a" * 99_999 + b".",
        "nested_in_a_dump": in_entry + b"]" * 100_000 + b"a" * 99_999 + b"sas.",
        "string_of_2_gb": b"X\xff\xff\xff\x7f" + b"x" * 100 + b".",
        "string_of_2_eb": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x1f" + b"x" * 100 + b".",
        "bytes_of_2_gb": b"\x80\x03B\xff\xff\xff\x7fx.",
        "bytearray_of_2_eb": b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x1fx.",
        "frame_of_2_eb": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x1f}.",
        "long_of_2_gb": b"\x80\x02\x8b\xff\xff\xff\x7f\x01.",
        "negative_long": b"\x80\x02\x8b\xff\xff\xff\xff\x01.",
        "long_as_text": b"L" + b"9" * 3_000_000 + b"L\n.",
        "memo_index": b"}r\xff\xff\xff\x7f.",
        "memo_text_index": b"}p99999999999999\n.",
        "memo_missing": b"h\x07.",
        "doubled": pickle.dumps({"entries": [{"input_sizes": doubled}]}),
        "one_string_very_often": pickle.dumps({"pg_status": ["x" * 1_000_000] * 1_000_000}),
        "doubled_elsewhere": pickle.dumps({"pg_status": {"0": doubled}}),
        "itself": b"}q\x00X\x09\x00\x00\x00pg_configh\x00s.",
        "stack_underflow": b"aaaa.",
        "not_a_dump": pickle.dumps([1, 2, 3]),
        "a_tuple_as_key": pickle.dumps({"pg_config": {(1, 2): 3}}),
        "surrogates": pickle.dumps({"version": "\ud800"}),
        "not_a_number": pickle.dumps({"pg_config": {"0": float("nan")}}),
    }


@pytest.mark.parametrize("kind", sorted(_bombs()))
def test_a_broken_or_huge_pickle_is_refused_in_time(kind: str, tmp_path: Path) -> None:
    """Cut, nested without end, claims of gigabytes, references that double: refused soon and in little memory."""
    path = tmp_path / "rank_3"
    path.write_bytes(_bombs()[kind])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.monotonic()
    with pytest.raises(PayloadRefused, match="rank_3"):
        read_dump(path)
    assert time.monotonic() - begun < _SOON_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_real_dumps_use_plain_opcodes_only() -> None:
    """What the loader refuses does not occur in a real dump."""
    used = {code.name for path in REAL.glob("*/pickle/*") for code, _, _ in pickletools.genops(path.read_bytes())}
    assert used
    assert not used & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "INST", "OBJ", "BUILD", "NEWOBJ", "BINPERSID", "EXT1"}


def test_a_dump_is_given_up_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that keeps its reader busy is refused when its time is over."""
    monkeypatch.setattr(dumps, "_CHILD_S", 0.001)
    path = tmp_path / "rank_0"
    path.write_bytes((REAL / "gloo-hang" / "pickle" / "rank_0").read_bytes())
    with pytest.raises(PayloadRefused, match="cannot be read within"):
        read_dump(path)


@pytest.mark.parametrize("name", ["rank_", "README", "rank_12345678", "rank_1.txt", "rank_\u0663"])
def test_a_name_without_a_rank(name: str, tmp_path: Path) -> None:
    """A file that does not say whose dump it is: told, not guessed."""
    (tmp_path / name).write_text("{}")
    with pytest.raises(PayloadRefused, match="rank's number"):
        read_dump(tmp_path / name)


@pytest.mark.parametrize("name", ["rank_7", "7", "nccl_trace_rank_7", "rank_7.json", "rank_7.pkl", "rank_0007.pickle"])
def test_names_of_dumps(name: str, tmp_path: Path) -> None:
    """The rank is the number at the end, whatever the prefix that the site has set."""
    (tmp_path / name).write_text('{"entries": []}')
    assert read_dump(tmp_path / name).rank == 7


@pytest.mark.parametrize(
    "text", ["{", '{"entries": ' + "[" * 100_000, "[1]", '{"a": 1e999}x', '{"a": "\ud800"}', "{'a': 1}"]
)
def test_broken_json(text: str, tmp_path: Path) -> None:
    """JSON that is none, or nested without end."""
    (tmp_path / "rank_0.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(PayloadRefused, match="no flight-recorder dump"):
        read_dump(tmp_path / "rank_0.json")


@pytest.mark.parametrize("form", ["json", "pickle"])
def test_a_large_dump(form: str, tmp_path: Path) -> None:
    """Of a ring of thirty thousand entries the newest count; large JSON takes the same careful way as a pickle."""
    told = {"version": "2.10", "entries": [*(entry(one) for one in range(1, 30_000)), waiting(30_000)]}
    path = tmp_path / "rank_0"
    path.write_bytes(json.dumps(told).encode() if form == "json" else pickle.dumps(told))
    group = read_dump(path).groups["0"]
    assert (group.reached, group.entries[30_000].is_done) == (30_000, False)
    assert group.entries[30_000].where == "train.py:210:train_step"


def test_json_that_would_fill_the_memory(tmp_path: Path) -> None:
    """Forty megabytes of empty lists would be a gigabyte of objects: the child's affair, and refused."""
    path = tmp_path / "rank_0"
    path.write_bytes(b'{"pg_config": [' + b"[]," * 14_000_000 + b"[]]}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PayloadRefused):
        read_dump(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_a_python_from_a_module_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child gets the path of libraries, without which such a Python does not start, and nothing else."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "{\\"version\\": \\"$LD_LIBRARY_PATH$SECRET\\"}"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/apps/lib")
    monkeypatch.setenv("SECRET", "x")
    (tmp_path / "rank_0").write_bytes(b"}.")
    assert read_dump(tmp_path / "rank_0").version == "/apps/lib"


def test_one_hostile_dump_beside_good_ones(tmp_path: Path) -> None:
    """The good ones still count, and the bad one is named."""
    (tmp_path / "flight").mkdir()
    for rank in (0, 2):
        data = (REAL / "gloo-hang" / "pickle" / f"rank_{rank}").read_bytes()
        (tmp_path / "flight" / f"rank_{rank}").write_bytes(data)
    (tmp_path / "flight" / "rank_1").write_bytes(pickle.dumps(_Runs(str(tmp_path / _MARK))))
    bundle = read_bundle(tmp_path)
    assert [one.rank for one in bundle.flight] == [0, 2]
    assert "rank_1" in bundle.unread[0]
    assert not (tmp_path / _MARK).exists()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_dumps(data: st.DataObject) -> None:
    """Real pickles with bytes changed: read, or refused with an ordinary error, never more."""
    path = data.draw(st.sampled_from(sorted(REAL.glob("*/pickle/*"))))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        # Opcodes that claim gigabytes are tested in a child, which has little memory.
        raw[at] = data.draw(
            st.sampled_from([one for one in range(256) if one not in b"rj\x8a\x8b\x8d\x8e\x96\x95XBTVp"])
        )
    try:
        json.loads(read(bytes(raw)))
    except (MemoryError, OverflowError, RecursionError, LookupError, ValueError, TypeError, EOFError, AttributeError):
        pass
    except pickle.UnpicklingError:
        pass


def test_all_dumps_together_have_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder full of slow ones is given up, and the others of the bundle still count."""
    (tmp_path / "flight").mkdir()
    for rank in range(3):
        (tmp_path / "flight" / f"rank_{rank}").write_bytes(pickle.dumps({"entries": []}))
    (tmp_path / "slurm.log").write_text("srun: error: node1: task 0: Killed\n")
    monkeypatch.setattr(folder, "DUMPS_S", -1.0)
    bundle = read_bundle(tmp_path)
    assert bundle.flight == ()
    assert len(bundle.logs) == 1
    assert bundle.unread == ("flight: 3 files not read within -1 s",)
