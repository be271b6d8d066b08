"""The same causes in other words, by other programs, from one kind of evidence alone."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.diagnose.scan.catalogue import catalogue

_FILE: Final = Path(__file__).resolve().parents[1] / "data" / "diagnose" / "wordings.toml"
_PER_NODE: Final = 8
_STEPS: Final = "".join(f"[2026-03-01 10:00:0{n}] step {100 + n} | loss 2.31 | lr 3e-4\n" for n in range(5))
_TRACE: Final = (
    'Traceback (most recent call last):\n  File "/w/train.py", line 210, in main\n    loop(cfg)\n'
    '  File "/w/loop.py", line 55, in loop\n    x = f(batch)\n'
)
_WAITED: Final = (
    r"[rank\1]:[E301 10:10:05.1 ProcessGroupNCCL.cpp:616] [Rank \1] Watchdog caught collective operation timeout: "
    r"WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=4194304, NumelOut=4194304, Timeout(ms)=600000) ran for 600010 "
    "milliseconds before timing out.\n"
)


def _cases() -> list[Any]:
    told = tomllib.loads(_FILE.read_text(encoding="utf-8"))["case"]
    return [pytest.param(one, id=f"{one['cause']}-{number}") for number, one in enumerate(told)]


def _job(nodes: int) -> str:
    names = [f"gpu{number:02d}" for number in range(1, nodes + 1)]
    ranks = {
        str(rank): {"node": names[rank // _PER_NODE], "local_rank": rank % _PER_NODE}
        for rank in range(nodes * _PER_NODE)
    }
    return json.dumps({"nodes": names, "ranks": ranks})


def _filled(text: str) -> str:
    for name, value in (
        ("{steps}", _STEPS),
        ("{trace}", _TRACE),
        ("{job}", _job(4)),
        ("{job of 8}", _job(8)),
        ("{failed}", '{"state": "FAILED", "exit_code": "1:0"}'),
    ):
        text = text.replace(name, value)
    return re.sub(r"\{waited (\d+)\}", _WAITED, text)


@pytest.mark.parametrize("case", _cases())
def test_other_words_mean_the_same(case: dict[str, Any], tmp_path: Path) -> None:
    """Cause, who is to blame, and that no healthy node has to leave."""
    for name, text in case["files"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(_filled(text))
    said = diagnose(read_bundle(tmp_path))
    assert said.cause == case["cause"], said.summary
    if case.get("healthy"):
        assert not said.exclude_nodes
    if "node" in case:
        assert said.blame.nodes[:1] == (case["node"],)
        assert set(said.exclude_nodes) <= {case["node"]}


@pytest.mark.parametrize(
    "line",
    [
        " [2026-03-01 10:00:01] iteration        1/ 500000 | consumed samples: 512 | number of nan iterations: 0 |",
        "[rank0]:[titan] 2026-01-29 20:14:33,043 - root - INFO - step: 1  loss:  1.83  memory: 61.20GiB(77.3%)",
        "2026-01-23 19:02:33.018 I  [p0] completed step: 3310, seconds: 3.911, Tokens/s/device: 2094.604, loss: 2.511",
        '2025-09-16 12:40:11 | INFO | train_inner | {"epoch": 4, "loss": "3.704", "num_updates": "61100"}',
        "Epoch 3:  41%|####      | 4100/10000 [12:20<17:01,  5.78it/s, loss=2.31, v_num=0]",
        "step 300 | loss 2.1 | lr 3e-4 | tokens 81920 | 4021 tokens/s | gpu mem 61.2 GiB | done in 0.4 s",
    ],
)
def test_a_report_of_progress_costs_nothing(line: str) -> None:
    """Most lines of a log are these: none holds a literal, so no pattern looks at it."""
    assert not list(catalogue().spots(line.encode()))
