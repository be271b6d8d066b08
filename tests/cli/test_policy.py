"""`supervise policy` as a user and an admin type it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from supervisor.cli import policy_shadow
from supervisor.cli.main import cli
from supervisor.diagnose.taxonomy import causes
from supervisor.errors import UsageError
from supervisor.ledger.event_log import FILE as EVENTS
from supervisor.ledger.run_file import encode_run
from supervisor.model.base import encode
from tests.core.facts import crash
from tests.core.harness import World
from tests.report import makers


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["policy", *arguments], catch_exceptions=False)


def _json(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_run("--json", *arguments).stdout)
    return answer


def test_every_cause_has_a_line(work: Path) -> None:
    """And the bounds of all stand above them."""
    text = _run().stdout
    assert text.startswith("A run is restarted at most 20 times")
    assert all(f"{one.cls}/{one.name}" in text for one in causes().values())


def test_a_script_reads_the_same(work: Path) -> None:
    """One object for each cause."""
    answer = _json()
    assert [one["cause"] for one in answer["policy"]] == list(causes())
    assert answer["conclusion"].startswith("A run is restarted")
    (one,) = _json("--explain", "port-in-use")["policy"]
    assert one["budgets"] == {"port_in_use": 3, "software": 12}
    assert one["wait_s"] == 5


def test_the_settings_that_count_here_are_shown(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a file's tables."""
    path = work / "config.toml"
    path.write_text("max_restarts = 7\n[policy.link_flap]\nbudget = 2\nwait_s = 40\n")
    monkeypatch.setenv("SUPERVISE_CONFIG", str(path))
    text = _run("--explain", "network/link_flap").stdout
    assert "40 s, then twice as long each time" in text
    assert "2 for this cause, 7 in all" in text
    assert "Changed here: link_flap.budget=2 link_flap.wait_s=40" in _run().stdout


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("gpu_lost", "the blamed node leaves the job"),
        ("host_oom", "leaves only where this one node is set up differently"),
        ("python_exception", "one more, if the attempt had made a step"),
        ("corrupt_shard", "it would meet the same data"),
        ("user_cancel", "never: a person ended it"),
        ("checkpoint_corrupt", "is not used again"),
        ("segfault", "until the same failure comes again"),
    ],
)
def test_a_cause_is_told_in_words(work: Path, cause: str, said: str) -> None:
    """What a person wants to know of one."""
    assert said in _run("--explain", cause).stdout


def test_an_incident_names_its_cause(work: Path) -> None:
    """Its folder, or the record in it."""
    folder = makers.make(work / ".supervise" / "llama-abc12", makers.lost_node(), status=makers.status())
    for path in (folder / "incidents/001", folder / "incidents/001/verdict.json"):
        assert _run("--explain", str(path)).stdout.startswith("hardware/node_unreachable")


@pytest.mark.parametrize(
    ("what", "told"),
    [("gpu_los", "did you mean gpu_lost"), ("no.json", "cannot be read"), ("bad.json", "is no record of an incident")],
)
def test_what_cannot_be_explained_is_told(work: Path, what: str, told: str) -> None:
    """With what was probably meant."""
    (work / "bad.json").write_text("[1]")
    with pytest.raises(UsageError, match=told):
        _run("--explain", what)


@pytest.fixture
def history(work: Path) -> Path:
    """A run that crashed twice and went on each time."""
    world = World().start()
    world.ranks().progress(1).exit(1)
    world.run(30)
    world.verdict = crash(fingerprint="elsewhere")
    world.ranks().progress(9).exit(1)
    world.run(30)
    folder = makers.make(work / ".supervise" / "llama-abcde", status=makers.status())
    (folder / "run.json").write_bytes(encode_run(makers.run_file(settings=world.settings, created_at=world.at)))
    (folder / EVENTS).write_bytes(b"".join(encode(event) + b"\n" for event in world.log))
    return folder


def _shadow(path: Path, *arguments: str) -> Result:
    return _run("--shadow", str(path), "--over", "1970-01-01", *arguments)


def test_decisions_that_would_differ_are_listed(work: Path, history: Path) -> None:
    """What was done, and what would have been."""
    new = work / "new.toml"
    new.write_text("[policy.segfault]\nbudget = 1\n")
    found = _shadow(new)
    assert f"With {new}, 1 of 2 decisions of 1 run would differ." in found.stdout
    assert "starting again on the same nodes" in found.stdout
    assert "stopped: 1 restarts for segfault" in found.stdout
    assert found.exit_code == 1
    answer = json.loads(_shadow(new, "--json").stdout)
    assert [(one["incident"], one["action"], one["other_action"]) for one in answer["differing"]] == [
        (2, "relaunch", "stop")
    ]
    assert answer["exit"] == 1


def test_nothing_differs(work: Path, history: Path) -> None:
    """Said, with exit code 0."""
    new = work / "new.toml"
    new.write_text("spares = 1\n")
    found = _shadow(new)
    assert "none of 2 decisions of 1 run would differ" in found.stdout
    assert found.exit_code == 0


def test_a_run_that_cannot_be_replayed_is_told(work: Path, history: Path) -> None:
    """The others are answered."""
    (history / EVENTS).write_bytes(b'{"type":"snapshot","at":"never"}\n')
    new = work / "new.toml"
    new.write_text("max_restarts = 1\n")
    found = _shadow(new)
    assert "left out:" in found.stdout
    assert "There is nothing to compare" in found.stdout


def test_older_runs_are_left_out(work: Path, history: Path) -> None:
    """`--over` looks at when a run was begun."""
    new = work / "new.toml"
    new.write_text("max_restarts = 1\n")
    assert "no decisions of no runs" in _run("--shadow", str(new), "--over", "1d").stdout


def test_a_wrong_file_is_refused(work: Path) -> None:
    """Before anything is replayed."""
    new = work / "new.toml"
    new.write_text("[policy.segfalt]\nbudget = 1\n")
    with pytest.raises(UsageError, match="did you mean segfault"):
        _shadow(new)


def test_only_what_the_file_sets_is_changed(work: Path, history: Path) -> None:
    """The rest is each run's own: a run in mode observe stays one."""
    from supervisor.settings import Settings
    from supervisor.settings_resolve import Given, resolve

    other = resolve([Given("max_restarts", 3, "x", "x")])
    changed = policy_shadow._changed(Settings(mode="observe", spares=2), other)
    assert changed == Settings(mode="observe", spares=2, max_restarts=3)
    rows = resolve([Given("policy", "segfault.budget=1", "x", "x")])
    own = Settings(policy="network.budget=9 segfault.budget=4")
    assert policy_shadow._changed(own, rows).policy == "network.budget=9 segfault.budget=1"
