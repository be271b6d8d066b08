"""How `#SBATCH` and `#SUPERVISE` lines are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.slurm.directives import masked, parse_directives, split_arguments
from supervisor.slurm.sbatch_options import effective


def _obeyed(text: str) -> dict[str, str]:
    return effective(parse_directives(text).options())


def test_directives_end_at_the_first_command() -> None:
    """Blank lines and comments do not end them, a command does."""
    text = "#!/bin/sh\n#SBATCH -N 2\n\n  # note\n#SBATCH --mem=1G\necho\n#SBATCH -N 9\n#SUPERVISE --spares 1\n"
    directives = parse_directives(text)
    assert effective(directives.options()) == {"nodes": "2", "mem": "1G"}
    assert directives.supervise == ()
    assert directives.late == (8,)


def test_an_indented_directive_is_a_comment() -> None:
    """Slurm wants `#SBATCH` at the very beginning of the line."""
    assert _obeyed("#!/bin/sh\n #SBATCH -N 2\n# SBATCH -N 3\n##SBATCH -N 4\n") == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (' --comment "a b" -N 2', ["--comment", "a b", "-N", "2"]),
        (" --comment='a \"b'", ['--comment=a "b']),
        (r" -J a\ b", ["-J", "a b"]),
        (r' -J "a\"b"', ["-J", 'a"b']),
        (" -N 2 # nodes", ["-N", "2"]),
        (" -J a#b -N 2", ["-J", "a"]),
        (r" -J a\#b -N 2", ["-J", "a#b", "-N", "2"]),
        (' -J "" -N 2', ["-J"]),
        ("", []),
        ("\t-N\t2\r", ["-N", "2"]),
        (' -J "a', None),
        (" -N 2 : -N 3", None),
    ],
)
def test_quotes_are_slurms_and_not_the_shells(text: str, found: list[str] | None) -> None:
    """Quotes, backslashes and `#` follow sbatch; what sbatch refuses is None."""
    assert split_arguments(text) == found


def test_an_option_and_its_value_may_stand_on_two_lines() -> None:
    """All lines are read as one list of arguments."""
    assert _obeyed("#!/bin/sh\n#SBATCH -N\n#SBATCH 3\n:\n") == {"nodes": "3"}


def test_options_for_the_terminal_are_not_obeyed_in_a_script() -> None:
    """`--quiet` and `--wrap` count on the command line alone."""
    assert _obeyed("#!/bin/sh\n#SBATCH --quiet --wrap=x --hold\n:\n") == {"hold": ""}


def test_only_the_first_component_is_read() -> None:
    """Behind `#SBATCH hetjob` another component begins."""
    directives = parse_directives("#!/bin/sh\n#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 2\n:\n")
    assert directives.is_heterogeneous
    assert effective(directives.options()) == {"nodes": "1"}


def test_supervise_lines_keep_their_line_number() -> None:
    """So that a complaint can name the line."""
    directives = parse_directives("#!/bin/sh\n#SUPERVISE --spares 1 --mode=observe\n#SUPERVISED no\n:\n")
    assert [(argument.line, argument.text) for argument in directives.supervise] == [
        (2, "--spares"),
        (2, "1"),
        (2, "--mode=observe"),
    ]


def test_masking_takes_out_one_option_and_leaves_the_rest() -> None:
    """Other options of the line, other lines and the number of lines stay."""
    text = '#!/bin/sh\n#SBATCH -N 2 --begin=20:00 -J "a b"\n#SBATCH -H\n#SBATCH --mem=1G # much\necho -H\n'
    changed = masked(text, {"begin", "hold"})
    assert _obeyed(changed) == {"nodes": "2", "job-name": "a b", "mem": "1G"}
    assert changed.count("\n") == text.count("\n")
    assert changed.split("\n")[3:] == text.split("\n")[3:]


def test_masking_follows_a_value_to_the_next_line() -> None:
    """A value left alone would be refused by sbatch."""
    changed = masked("#!/bin/sh\n#SBATCH -w\n#SBATCH n1 -N 2\n:\n", {"nodelist"})
    assert _obeyed(changed) == {"nodes": "2"}
    assert not parse_directives(changed).is_refused


_words = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(_words.filter(lambda word: not word.startswith(":")), max_size=4))
def test_masking_quotes_so_that_the_rest_reads_back(names: list[str]) -> None:
    """Whatever a job is called, taking out another option does not change its name."""
    from supervisor.slurm.directives import _quoted

    line = " ".join(f"--comment={_quoted(name)}" for name in names)
    assert split_arguments(f" {line}") == [f"--comment={name}" for name in names]


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    """A script is the user's: nothing in it may break the submission."""
    parse_directives(text)
    parse_directives("\n".join(f"#SBATCH {line}" for line in text.split("\n")))
