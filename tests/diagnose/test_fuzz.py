"""Whole bundles of anything: a verdict or a refusal, always soon, never another error."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.cli.diagnose import _json
from supervisor.cli.diagnose_screen import screen
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.taxonomy import cause
from supervisor.errors import PayloadRefused
from supervisor.model.verdict import Verdict
from tests.diagnose.corpus import Incident, incidents
from tests.diagnose.flight_dumps import REAL

_SOON_S = 30.0
_SETTINGS = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
_OOM = "srun: error: node002: task 3: Out Of Memory\n"
_SUPERSCRIPT = "\N{SUPERSCRIPT TWO}"
_LOGS = ["slurm.log", "job.out", "job.err", "ranks/0.log", "ranks/3.log", f"ranks/{_SUPERSCRIPT}.log", "kernel/n1.log"]
_JSON = ["slurm.json", "job.json", "facts.json", "topology.json", "environment.json", "beats.json", "nvml/n1.json"]
_PARTS = [*_LOGS, *_JSON, "rdma/n1.json", "flight/rank_0", "flight/rank_1.json", "stacks/0.txt", "ranks.tail", "x.gz"]
_KEYS = [
    "state",
    "exit_code",
    "nodes",
    "ranks",
    "node",
    "gpu",
    "layout",
    "gpus",
    "0",
    "1",
    "error",
    "step",
    "rank",
    "age_s",
]


def _verdict(folder: Path) -> Verdict | None:
    """None where it is refused, as no evidence at all."""
    begun = time.monotonic()
    try:
        verdict = diagnose(read_bundle(folder))
    except (OSError, PayloadRefused):
        return None
    assert time.monotonic() - begun < _SOON_S
    return verdict


def _check(verdict: Verdict | None) -> None:
    if verdict is None:
        return
    assert cause(verdict.cause).cls is verdict.cls
    assert 0 <= verdict.confidence <= 1
    assert set(verdict.exclude_nodes) <= set(verdict.blame.nodes)
    assert all(
        one.role in {"root", "echo", "context"} and one.source and len(one.text) <= 400 for one in verdict.evidence
    )
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict
    json.loads(_json(Path("bundle"), verdict))
    assert screen(verdict, Path("bundle"))


def _write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from([10**400, _SUPERSCRIPT, "9" * 5000, "n[001-999999]", "n[", "FAILED", "0:9", f"{_SUPERSCRIPT}:9"])
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=10,
)
_JSON_BYTES = _VALUES.map(lambda value: json.dumps(value).encode())
_INCIDENTS = [*incidents("tuned"), *incidents("aside")]
_WORDS = [text.strip().encode() for each in _INCIDENTS[::7] for text in each.files.values()]
_LOG_BYTES = st.lists(st.binary(max_size=60) | st.sampled_from([_OOM.encode(), *_WORDS]), max_size=6).map(b"\n".join)


@_SETTINGS
@given(st.dictionaries(st.sampled_from(_PARTS), _JSON_BYTES | _LOG_BYTES | st.binary(max_size=200), max_size=8))
def test_any_bundle(files: dict[str, bytes]) -> None:
    """Random bytes, random JSON and lines of other bundles in every part."""
    with tempfile.TemporaryDirectory() as folder:
        _check(_verdict(_write(Path(folder), files)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slurm.json", f'{{"exit_code": "{_SUPERSCRIPT}:0"}}'),
        ("slurm.json", f'{{"exit_code": "0:{_SUPERSCRIPT}"}}'),
        ("slurm.json", f'{{"exit_code": "{"9" * 5000}"}}'),
        ("slurm.json", f'{{"exit_code": {"9" * 4000}}}'),
        ("slurm.json", f'{{"exit_code": {"9" * 5000}}}'),
        ("slurm.json", '{"state": ["FAILED"], "reason": {"a": 1}}'),
        ("job.json", f'{{"ranks": {{"{"9" * 5000}": "n1"}}, "layout": {{"{"9" * 5000}": {{"tp": 0}}}}}}'),
        ("job.json", f'{{"ranks": {{"0": {{"node": "n1", "gpu": "{"9" * 5000}"}}}}}}'),
        ("job.json", '{"nodes": "n[1-99999999]", "ranks": [3], "layout": 5}'),
        ("nvml/n1.json", f'{{"gpus": {{"{_SUPERSCRIPT}": {{"pci": "0000:1b:00.0"}}}}}}'),
        ("nvml/n1.json", f'{{"gpus": {{"{"9" * 5000}": {{"pci": "0000:1b:00.0"}}}}}}'),
        ("rdma/n1.json", f'{{"mlx5_0": {{"link_downed": {"9" * 400}}}}}'),
        ("beats.json", f'[{{"rank": {"9" * 400}, "step": "{"9" * 5000}"}}]'),
        (f"ranks/{_SUPERSCRIPT}.log", "MemoryError\n"),
        (f"ranks/{'9' * 200}.log", "MemoryError\n"),
        (f"stacks/{_SUPERSCRIPT}", 'Thread 1 (idle): "MainThread"\n    f (a.py:1)\n'),
    ],
)
def test_numbers_that_are_none(name: str, text: str, tmp_path: Path) -> None:
    """Superscripts, which count as digits, and numbers of thousands of digits: passed over, the rest counts."""
    verdict = _verdict(_write(tmp_path, {name: text.encode(), "slurm.log": _OOM.encode()}))
    assert verdict is not None
    assert verdict.cause == "host_oom"
    _check(verdict)


_CHANGES = st.sampled_from(["flip", "cut", "end", "twice", "noise", "swap", "drop", "line", "value"])


@_SETTINGS
@given(st.data())
def test_changed_incidents(data: st.DataObject) -> None:
    """The project's own incidents with bytes flipped, parts cut, doubled, mixed up, left out or of another type."""
    incident = data.draw(st.sampled_from(_INCIDENTS))
    files = _bytes_of(incident)
    for _ in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(sorted(files)))
        at = data.draw(st.integers(0, max(0, len(files[name]) - 1)))
        to = at + data.draw(st.integers(0, 200))
        _change(files, name, data.draw(_CHANGES), at, to, data)
    with tempfile.TemporaryDirectory() as folder:
        _check(_verdict(_write(Path(folder), files)))


def _bytes_of(incident: Incident) -> dict[str, bytes]:
    return {name: text.lstrip("\n").encode() for name, text in incident.files.items()}


def _change(files: dict[str, bytes], name: str, how: str, at: int, to: int, data: st.DataObject) -> None:
    old = files[name]
    if how == "swap":
        other = data.draw(st.sampled_from(sorted(files)))
        files[name], files[other] = files[other], old
    elif how == "drop" and len(files) > 1:
        files[name] = b""
    elif how == "value" and name.endswith(".json"):
        files[name] = data.draw(_JSON_BYTES)
    else:
        between = {
            "flip": bytes(one ^ 0x20 for one in old[at:to]),
            "cut": b"",
            "twice": old[at:to] * 3,
            "noise": data.draw(st.binary(max_size=40)),
            "line": b"\n" + data.draw(st.sampled_from(_WORDS)) + b"\n",
        }
        files[name] = old[:at] + between.get(how, b"") + (b"" if how == "end" else old[to:])


@_SETTINGS
@given(
    st.sampled_from(sorted(REAL.glob("*/*"))),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1200), st.binary(min_size=1, max_size=4)), max_size=2),
)
def test_changed_dumps(folder: Path, changes: list[tuple[int, int, bytes]]) -> None:
    """Real flight-recorder dumps with bytes changed, read as a bundle."""
    files = {f"flight/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    for rank, at, junk in changes:
        old = files[f"flight/rank_{rank}"]
        files[f"flight/rank_{rank}"] = old[:at] + junk + old[at + len(junk) :]
    with tempfile.TemporaryDirectory() as place:
        _check(_verdict(_write(Path(place), files)))
