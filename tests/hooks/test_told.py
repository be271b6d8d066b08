"""NHC's and gcm's words, in the formats that they document."""

import json
import os
from pathlib import Path

import pytest

from supervisor.hooks.settings import HookSettings
from supervisor.hooks.told import gcm_results, nhc_log, nhc_result, read_told

_NOW = 1_000_000.0


def test_nhcs_last_failure_is_told() -> None:
    """As its log writes it; with time stamps in debug mode, too."""
    text = (
        "Node Health Check starting.\n"
        "ERROR:  nhc:  Health check failed:  check_fs_mount:  /scratch not mounted\n"
        "[3] - ERROR:  nhc:  Health check failed:  check_hw_ib:  No IB port is ACTIVE (LinkUp 400 Gb/sec).\n"
        "20261201 09:00:00 /usr/libexec/nhc/node-mark-offline n1 x\n"
    )
    assert [each.text for each in nhc_log(text, _NOW)] == ["check_hw_ib:  No IB port is ACTIVE (LinkUp 400 Gb/sec)."]
    assert nhc_log("Node Health Check starting.\n", _NOW) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 check_hw_swap:  bad\n", ["check_hw_swap:  bad"]),
        ("0 \n", []),
        ("0\n", []),
        ("3\n", ["exit code 3"]),
        ("?", []),
    ],
)
def test_nhcs_result_file_is_code_and_message(text: str, told: list[str]) -> None:
    """0 is well; what has another form tells nothing."""
    assert [each.text for each in nhc_result(text, _NOW)] == told


def _gcm(check: str, result: int, at: float = _NOW, node: str = "n1") -> dict[str, object]:
    return {"health_check": check, "result": result, "_msg": "bad", "node": node, "start_time": at, "end_time": at}


def _nested(fields: dict[str, object]) -> dict[str, object]:
    kinds = {int: "int", float: "double", str: "normal"}
    found: dict[str, dict[str, object]] = {"int": {}, "double": {}, "normal": {}}
    for name, value in fields.items():
        found[kinds[type(value)]][name] = value
    return dict(found)


@pytest.mark.parametrize("shape", [dict, _nested])
def test_gcms_failures_are_told_with_their_check(shape: object) -> None:
    """Flat, or sorted by type as its file sink writes them; a warning is told and is no failure."""
    assert callable(shape)
    lines = [_gcm("check_ib", 2), _gcm("check_zombie", 1), _gcm("check_dcgm", 0), _gcm("check_old", 2, at=1.0)]
    lines += [_gcm("check_other", 2, node="n2")]
    told = gcm_results("\n".join(json.dumps(shape(line)) for line in lines), node="n1", after=_NOW - 60)
    assert [(each.text, each.is_failure) for each in told] == [
        ("check_ib critical: bad", True),
        ("check_zombie warning: bad", False),
    ]


def test_gcms_last_word_on_a_check_counts() -> None:
    """It is well again."""
    lines = [json.dumps(_gcm("check_ib", 2)), json.dumps(_gcm("check_ib", 0))]
    assert gcm_results("\n".join(lines), node="n1", after=0) == []


@pytest.mark.parametrize("line", ["", "{", "[1]", '"x"', '{"health_check": 1}', '{"int": 3, "result": 2}', "\0"])
def test_lines_of_another_form_tell_nothing(line: str) -> None:
    """A file that is torn, or another program's."""
    assert gcm_results(line, node="n1", after=0) == []


def test_only_roots_own_and_fresh_files_are_read(tmp_path: Path) -> None:
    """A user must not speak for a health check."""
    tmp_path.chmod(0o755)
    log = tmp_path / "nhc.log"
    log.write_text("ERROR:  nhc:  Health check failed:  check_x:  bad\n")
    os.utime(log, (_NOW, _NOW))
    site = HookSettings(nhc_log=str(log), nhc_result=str(tmp_path / "none"))
    if os.geteuid() == 0:
        assert [each.text for each in read_told(site, node="n1", now=_NOW + 10)] == ["check_x:  bad"]
    assert read_told(site, node="n1", now=_NOW + 7200) == ()
    log.chmod(0o666)
    assert read_told(site, node="n1", now=_NOW + 10) == ()
