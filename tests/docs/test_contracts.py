"""What docs/contracts.md names is in the code, and what the code has is in docs/contracts.md."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final, get_args

import msgspec
import pytest

from supervisor.bus import topics
from supervisor.cli.exit_codes import ExitCode
from supervisor.daemon.keeper_link import Report
from supervisor.keeper import keeper
from supervisor.ledger.bounds import Limits
from supervisor.model.ids import AttemptNo, NodeName, RunId
from supervisor.model.wire import CheckNode, SaveAndStop, StopRanks, TellBeats, ToAgent
from supervisor.settings import Settings
from tests.docs.pages import CHECKOUT, PAGES, files_in, name_of, rows, section, text_of

_PAGE: Final = "docs/contracts.md"
_VARIABLE: Final = re.compile(r"\bSUPERVISE_[A-Z][A-Z_]*[A-Z]\b")
_SOURCES: Final = ("*.py", "srun", "*.bash")
_SETTINGS: Final = {field.name: field.default for field in msgspec.structs.fields(Settings)}
_OF_SETTINGS: Final = {f"SUPERVISE_{name.upper()}" for name in _SETTINGS}
_COMMANDS: Final = (
    StopRanks(ask="1", attempt=AttemptNo(1), grace_s=1.0),
    CheckNode(ask="1"),
    TellBeats(ask="1"),
    SaveAndStop(ask="1"),
)


@cache
def _code() -> str:
    sources = (path for pattern in _SOURCES for path in (CHECKOUT / "supervisor").rglob(pattern))
    return "\n".join(path.read_text(encoding="utf-8") for path in sources)


@cache
def _texts_of_code() -> set[str]:
    """Every literal text of the code, parts of formatted ones included."""
    found = set()
    for path in (CHECKOUT / "supervisor").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
    return found


# --- settings, variables, exit codes ------------------------------------------------------------------------------


def test_each_setting_is_told_with_its_default() -> None:
    """In the order of the code; an invented setting or a stale default is a promise that nobody keeps."""
    told = [(name.strip("`"), default.strip("`")) for name, default, _ in rows(section(_PAGE, "Settings"))]
    assert told == [(name, "none" if default == "" else str(default).lower()) for name, default in _SETTINGS.items()]


def test_the_readme_tells_the_limits_of_a_run() -> None:
    """The numbers that a user must know before he relies on them."""
    known = Settings()
    share = f"{known.max_lost_share:.0%} of the requested node-hours"
    restarts = f"{known.max_restarts_without_progress} restarts without progress, {known.max_restarts} in all"
    assert f"At most {restarts}, and {share}" in text_of("README.md")


@pytest.mark.parametrize("page", [_PAGE, "README.md"])
def test_the_bounds_of_a_run_folder_are_told(page: str) -> None:
    """Files and size."""
    assert f"t most {Limits().files} files and {Limits().size_bytes // 1_000_000} MB" in text_of(page)


def test_each_variable_of_the_code_is_told() -> None:
    """Whoever sees one in a job finds what it is; those of the settings follow from the settings' names."""
    assert not set(_VARIABLE.findall(_code())) - _OF_SETTINGS - set(_VARIABLE.findall(text_of(_PAGE)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_variable_that_is_named_exists(page: Path) -> None:
    """The code reads or sets it."""
    named = set(_VARIABLE.findall(page.read_text(encoding="utf-8")))
    assert not named - set(_VARIABLE.findall(_code())) - _OF_SETTINGS


def test_each_exit_code_is_told() -> None:
    """All of them and no other."""
    assert [int(code) for code, _ in rows(section(_PAGE, "Exit codes"))] == sorted(ExitCode)


# --- the run folder -----------------------------------------------------------------------------------------------


def _named_files() -> Iterator[str]:
    """File names of the table, without what changes in them (`jobs/<jobid>.json` is `jobs` and `.json`)."""
    for name, _, text in rows(section(_PAGE, "Run folder")):
        for part in re.findall(r"`([^`]+)`", name):
            yield from (piece for piece in re.split(r"<[^>]*>|NNN|/", part) if piece)
        if "NNN" in name:
            yield from files_in(text)


@pytest.mark.parametrize("name", sorted(set(_named_files())))
def test_a_file_of_the_table_is_written(name: str) -> None:
    """The code has its name."""
    texts = _texts_of_code()
    assert name in texts or any(text.startswith(name) or text.endswith(name) for text in texts)


def test_files_are_named() -> None:
    """The list above is not empty by accident."""
    assert {"run.json", "keeper.py", "events.jsonl", "verdict.json", "facts.json", "term.json"} <= set(_named_files())


# --- keeper and supervisor ----------------------------------------------------------------------------------------


def _messages(word: str) -> list[dict[str, object]]:
    """The examples of messages with this key."""
    found = re.findall(r"`(\{.*?\})`", section(_PAGE, "Keeper and supervisor"))
    return [message for message in map(json.loads, found) if word in message]


def test_what_the_keeper_says_is_understood() -> None:
    """The supervisor's own reader takes each example, and there is one of each kind."""
    said = _messages("is")
    read = [msgspec.convert(message, Report) for message in said]
    assert {type(one) for one in read} == set(get_args(Report))
    # The reader leaves out what it does not know, and takes a default for what is missing.
    assert [set(message) - {"is"} for message in said] == [set(one.__struct_fields__) for one in read]


def test_what_the_supervisor_orders_is_what_it_can_say() -> None:
    """Each example has the words and fields that `KeeperLink` writes, and there is one of each."""
    tree = ast.parse((CHECKOUT / "supervisor" / "daemon" / "keeper_link.py").read_text(encoding="utf-8"))
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "_tell"
    ]
    said = [{key.arg: key.value for key in call.keywords} for call in calls]
    known = {str(ast.literal_eval(fields["do"])): set(fields) for fields in said}
    assert {str(message["do"]): set(message) for message in _messages("do")} == known


def test_the_keepers_times_are_told() -> None:
    """How soon a supervisor is started again, and after what silence."""
    said = section(_PAGE, "Keeper and supervisor")
    assert f"started again after {', '.join(f'{pause:g}' for pause in keeper.BACKOFF_S[1:])} s" in said
    for text in (
        f"sent nothing for {keeper.SILENT_S:g} s",
        f"within {keeper.FIRST_START_S:g} s of the keeper's start (or {keeper.FAILED_STARTS} failed starts)",
        f"can be kept alive for {keeper.ORPHANED_S:g} s",
        f"another attempt for {keeper.ENDED_S / 60:g} min",
        f"at most {keeper.BUSY_S:g} s",
        f"script's pid {keeper.FORWARD_S:g} s later",
        f"waits ≤ {keeper.LAST_S:g} s",
    ):
        assert text in said


# --- transport ----------------------------------------------------------------------------------------------------


def _topics_named() -> set[str]:
    """With alternatives written out."""
    found = re.findall(r"`(supervise/\d[^`]*)`", section(_PAGE, "Transport"))
    return {"".join(parts) for topic in found for parts in product(*(_alternatives(topic)))}


def _alternatives(topic: str) -> list[list[str]]:
    pieces = re.split(r"(\{[^}]*\})", topic)
    return [piece.strip("{}").split(",") if piece.startswith("{") else [piece] for piece in pieces]


def test_the_topics_are_those_of_the_code() -> None:
    """Whoever listens on the broker finds every message where the page says."""
    run, node, attempt = RunId("<run>"), NodeName("<node>"), "<attempt>"
    of_nodes = {
        topics.node_topic(run, AttemptNo(7), node, kind).replace("/7/", f"/{attempt}/") for kind in topics.KINDS
    }
    command = topics.command_topic(run, AttemptNo(7), node, TellBeats(ask="1")).replace("/7/", f"/{attempt}/")
    general = command.rpartition("/")[0] + "/<verb>"
    assert _topics_named() == {*of_nodes, general, topics.presence_topic(run)}


def test_the_verbs_are_those_of_the_code() -> None:
    """Each command to an agent has a sentence."""
    assert {type(command) for command in _COMMANDS} == set(get_args(ToAgent))
    said = section(_PAGE, "Transport").partition("\nVerbs: ")[2].partition("\n")[0]
    assert set(re.findall(r"`([a-z_]+)`", said)) == {topics.verb(command) for command in _COMMANDS}
