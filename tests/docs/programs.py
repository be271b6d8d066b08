"""The real parsers of our programs, asked without running what follows them."""

import argparse
import importlib
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn
from unittest.mock import MagicMock

import click
import pytest

from supervisor.cli.main import COMMANDS, cli
from supervisor.cli.options import GlobalOptions
from tests.docs.pages import CHECKOUT

PARSED_BY_PYTEST = "test"
"""The script whose words are pytest's."""
SCRIPTS = sorted(path.name for path in (CHECKOUT / "scripts").iterdir() if path.is_file())
EXAMPLES = sorted(path.name for path in (CHECKOUT / "docs" / "examples").iterdir() if (path / "train.py").exists())
_TORCH = ("", ".nn", ".nn.parallel", ".distributed", ".distributed.checkpoint", ".distributed.checkpoint.state_dict")


class _Parsed(Exception):
    """The program has its arguments and would begin."""


def supervise(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> tuple[str, GlobalOptions, dict[str, Any]]:
    """The command, the options before it, and what it was given; raises what click raises. Nothing is carried out."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for name, command in commands().items():
        monkeypatch.setattr(command, "callback", lambda name=name, **given: calls.append((name, given)))
    with cli.make_context("supervise", list(words)) as context:
        cli.invoke(context)
        given: GlobalOptions = context.obj
    (name, arguments), *_ = calls
    return name, given, arguments


def commands() -> dict[str, click.Command]:
    """Every command by its name."""
    return {name: importlib.import_module(f"supervisor.cli.{module}").command for name, (module, _) in COMMANDS.items()}


def script(name: str, words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The parser of a program in `scripts` once it has taken these words; ends the test where it does not."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    program = runpy.run_path(str(CHECKOUT / "scripts" / name), run_name="asked")["main"]
    return _asked(program, words, monkeypatch)


def example(name: str, words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The same of an example's `train.py`. What it imports and its command line does not need may be missing."""
    folder = CHECKOUT / "docs" / "examples" / name
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    for part in _TORCH:
        monkeypatch.setitem(sys.modules, f"torch{part}", MagicMock())
    program = runpy.run_path(str(folder / "train.py"), run_name="asked")["arguments"]
    return _asked(program, words, monkeypatch)


def options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Its options and those of its commands."""
    for action in parser._actions:
        if action.option_strings:
            yield action
        if isinstance(action.choices, dict):
            for inner in action.choices.values():
                yield from options(inner)


def _asked(
    program: Callable[[], object], words: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> argparse.ArgumentParser:
    real = argparse.ArgumentParser.parse_args
    found: list[argparse.ArgumentParser] = []

    def parse_args(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> NoReturn:
        found.append(self)
        real(self, args, namespace)
        raise _Parsed

    with monkeypatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
        patch.setattr(sys, "argv", ["program", *words])
        with pytest.raises(_Parsed):
            program()
    return found[0]
