"""What the documents tell people to type is taken by the programs."""

import re

import click
import pytest

from supervisor.cli.main import COMMANDS, cli
from supervisor.settings_resolve import from_directives, from_options, resolve
from supervisor.slurm.directives import parse_directives
from supervisor.slurm.sbatch_options import parse, standard_table
from tests.docs import programs
from tests.docs.pages import PAGES, CommandLine, code, command_lines, inline_code, name_of, rows, text_of

_LINES = command_lines()
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_OTHERS = {
    "--bind",
    "--container-image",
    "--container-name",
    "--exact",
    "--het-group",
    "--index-url",
    "--label",
    "--mem",
    "--mpi",
    "--multi-prog",
    "--nproc-per-node",
    "--overlap",
    "--preserve-env",
    "--pty",
    "--relative",
    "--standalone",
}
"""Options of srun, pip and torchrun."""
_BARE = 2
"""Words of a command that prose only names: `supervise diagnose`."""


def _of(program: str) -> list[CommandLine]:
    return [line for line in _LINES if (line.program == "supervise") is (program == "supervise")]


def test_command_lines_are_found() -> None:
    """The lists below are not empty by accident: the README's first example and each example's own are there."""
    shown = [str(line) for line in _LINES]
    assert "README.md: supervise --spares 1 --checkpoint /scratch/me/ck sbatch train.sbatch" in shown
    assert {line.page.parent.name for line in _LINES} >= set(programs.EXAMPLES)
    assert {line.program for line in _LINES} >= {"supervise", "demo", "test", "check", "testbed"}


@pytest.mark.parametrize("line", _of("supervise"), ids=str)
def test_supervise_takes_what_is_shown(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Command, options and their values, arguments, and what is handed on to sbatch and to the example's trainer."""
    if line.words[1:] in {("--help",), ("sbatch", "-h")}:
        return
    if len(line.words) == _BARE:
        assert line.words[1] in COMMANDS
        return
    name, given, arguments = programs.supervise(line.words[1:], monkeypatch)
    resolve(from_options(given.settings))
    if name == "sbatch":
        submitted = parse(line.words[line.words.index("sbatch") + 1 :])
        assert not submitted.unknown
        if line.page.parent.name in programs.EXAMPLES:
            assert submitted.script is not None
            assert (line.page.parent / submitted.script).is_file()
            programs.example(line.page.parent.name, submitted.script_args, monkeypatch)
    else:
        assert arguments


@pytest.mark.parametrize("words", [("--help",), ("sbatch", "-h")], ids=" ".join)
def test_help_that_is_shown_is_there(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """`supervise --help` is ours, `supervise sbatch -h` is handed on whole."""
    if words == ("--help",):
        with pytest.raises(click.exceptions.Exit) as ended:
            programs.supervise(words, monkeypatch)
        assert ended.value.exit_code == 0
    else:
        assert programs.supervise(words, monkeypatch)[0] == "sbatch"


@pytest.mark.parametrize("line", _of("scripts"), ids=str)
def test_a_script_takes_what_is_shown(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program is there, and knows the options and commands that stand behind it."""
    assert line.program in programs.SCRIPTS
    words = line.words[1:]
    if line.program == programs.PARSED_BY_PYTEST:
        assert not words
    elif words or line.program != "testbed":  # which alone is a name and no command
        programs.script(line.program, words, monkeypatch)


def test_a_line_that_nobody_takes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong commands, options and values do not slip through the checks above."""
    for words in (["sbach", "x"], ["--spare", "1", "sbatch", "x"], ["why"], ["diagnose", "--aganst", "x", "y"]):
        with pytest.raises(click.UsageError):
            programs.supervise(words, monkeypatch)
    for name, wrong in (("check", ["--lnt"]), ("testbed", ["unplugg", "n1"]), ("bench", ["--jsn"])):
        with pytest.raises(SystemExit):
            programs.script(name, wrong, monkeypatch)
    with pytest.raises(SystemExit):
        programs.example("numpy_ddp", ["--step", "many"], monkeypatch)


def _lines_of_scripts() -> list[str]:
    return [piece for page in PAGES for piece in code(page.read_text("utf-8")) if piece.startswith("#SUPERVISE --")]


@pytest.mark.parametrize("line", _lines_of_scripts())
def test_a_line_for_scripts_is_obeyed(line: str) -> None:
    """`#SUPERVISE --spares 1` as a page shows it sets what it says."""
    given = from_directives(parse_directives(f"#!/bin/sh\n{line}\ntrue\n").supervise)
    assert resolve(given).origin


def test_lines_for_scripts_are_shown() -> None:
    """The list above is not empty by accident."""
    assert _lines_of_scripts()


def test_an_option_that_is_named_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some program of ours, or sbatch, has every option that a page names between backticks."""
    named = {
        (name_of(page), option)
        for page in PAGES
        for piece in inline_code(page.read_text(encoding="utf-8"))
        for option in _OPTION.findall(piece)
    }
    known = _known(monkeypatch)
    assert ("README.md", "--checkpoint") in named
    assert not [(page, option) for page, option in named if option not in known]


def _known(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    known = _OTHERS | {f"--{name}" for name in standard_table().long}
    for command in (cli, *programs.commands().values()):
        known |= {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    parsers = [programs.example(name, [], monkeypatch) for name in programs.EXAMPLES]
    parsers += [
        programs.script(name, ["status"] if name == "testbed" else [], monkeypatch)
        for name in programs.SCRIPTS
        if name != programs.PARSED_BY_PYTEST
    ]
    return known | {option for each in parsers for action in programs.options(each) for option in action.option_strings}


@pytest.mark.parametrize("name", programs.EXAMPLES)
def test_an_example_has_the_options_of_its_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No option is missing in the table or invented there, and the defaults are those that it tells."""
    actions = list(programs.options(programs.example(name, [], monkeypatch)))
    defaults = {each.option_strings[0]: _shown(each.default) for each in actions if each.dest != "help"}
    told: set[str] = set()
    for option, values, text in rows(text_of(f"docs/examples/{name}/README.md")):
        named = _OPTION.findall(option)
        told |= {*named, *_OPTION.findall(text)}
        if values:
            assert [defaults[each] for each in named] == [value.strip(" `") for value in values.split(",")]
    assert told == set(defaults)


def _shown(default: object) -> str:
    """As the tables write it."""
    if default is None:
        return "none"
    return f"{default:g}" if isinstance(default, float) else str(default)
