"""What README.md and docs/contracts.md name is there."""

import ast
import re
from pathlib import Path

import pytest

from supervisor.cli.main import COMMANDS

_CHECKOUT = Path(__file__).resolve().parents[2]
_README = (_CHECKOUT / "README.md").read_text(encoding="utf-8")
_CODE = re.compile(r"```[^\n]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
_WRITTEN = re.compile(r"[a-z_-]+\.(json|jsonl|log)")


def _code() -> list[str]:
    return [block or word for block, word in _CODE.findall(_README)]


def _commands_named() -> list[str]:
    """What follows `supervise` and its options."""
    pattern = re.compile(r"\bsupervise(?: \[options\]| --[\w-]+(?: [^-\s]\S*)?)*? ([a-z]+)\b")
    return sorted({name for code in _code() for name in pattern.findall(code)})


def test_commands_are_named() -> None:
    """The README shows every command that people use: the list below is not empty by accident."""
    assert set(_commands_named()) >= set(COMMANDS)


@pytest.mark.parametrize("name", _commands_named())
def test_a_command_that_is_named_exists(name: str) -> None:
    """A newcomer can type it."""
    assert name in COMMANDS


def _files_written() -> list[str]:
    """File names in the code of those that write in a run folder."""
    names = set()
    for room in ("ledger", "daemon"):
        for path in (_CHECKOUT / "supervisor" / room).rglob("*.py"):
            constants = (
                node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)
            )
            names |= {
                each.value for each in constants if isinstance(each.value, str) and _WRITTEN.fullmatch(each.value)
            }
    return sorted(names)


def test_files_are_found_in_the_code() -> None:
    """The list below is not empty by accident."""
    assert {"run.json", "events.jsonl", "supervisor.log"} <= set(_files_written())


@pytest.mark.parametrize("name", _files_written())
def test_a_file_of_the_run_folder_is_in_the_contracts(name: str) -> None:
    """Other programs may read it: docs/contracts.md says what it is."""
    text = (_CHECKOUT / "docs" / "contracts.md").read_text(encoding="utf-8")
    section = text.partition("## Run folder")[2].partition("\n## ")[0]
    assert f"`{name}`" in section
