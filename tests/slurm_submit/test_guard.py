"""The guard, run for real under the shells that are here: what a script does must not change by it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.slurm.guard import Carried, carry, guard, interpreter, quote

SHELLS = [shell for shell in ("bash", "dash", "sh", "ksh", "zsh", "mksh") if shutil.which(shell)]
KEEPER = """#!/bin/sh
# Stands in for the keeper: starts the script once, as an attempt.
[ -z "$KEEPER_LOG" ] || echo "$@" >>"$KEEPER_LOG"
SUPERVISE_ATTEMPT=1 exec "$@"
"""
BODIES = {
    "plain": 'echo "$0" "$#" "$@"',
    "comments": "# a\n\n   # b\n\n   echo x",
    "tabs": "\t\techo x",
    "line number": "\necho $LINENO\nnosuchcmd\necho $LINENO",
    "set -e": "set -e\necho a\nfalse\necho never",
    "set -u": "set -u\necho a\necho ${nope}\necho never",
    "here-document": "cat <<EOF\n# not a comment\n#SBATCH -N 1\n$0\nEOF\necho after",
    "comment block": ": <<'END'\necho never\nEND\necho after",
    "continued": "\\\necho a \\\n  b",
    "continued word": "ec\\\nho a",
    "function": 'f() {\n  echo "in $1"\n}\nf x\n',
    "function of one line": "f() { echo a; }; f",
    "if": "if false; then\n echo no\nelse\n echo yes\nfi",
    "loop": 'for x in "$@"; do echo "[$x]"; done',
    "case": "case $# in\n 0) echo none;;\n *) echo some;;\nesac",
    "subshell": "( exit 4 )\necho $?",
    "group": "{ echo a; exit 5; }",
    "assignment": "A=1 sh -c 'echo \"$A\"'",
    "status": "echo $?",
    "redirection": "> /dev/null echo a\necho b",
    "not": "! true\necho $?",
    "and": "false && echo no || echo yes",
    "exit": "exit 7",
    "exec": "exec echo done",
    "signal": "sh -c 'kill -9 $PPID'",
    "trap": "trap 'echo bye' EXIT\necho a",
    "stderr": "exec 2>&1\nnosuchcmd\n",
    "no newline": "echo a",
    "syntax error": "if true; then",
    "keyword": "time_=1; echo a",
}
ARGUMENTS = ["", "a b", "'", '"$(touch x)"', "-n", "*", "\n", "--", "ü"]


def _keeper(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "keeper"
    path.write_text(KEEPER)
    path.chmod(0o700)
    return path


def _carried(text: str, keeper: Path | str) -> Carried:
    carried = carry(text, keeper=str(keeper), file="/nonexistent/file")
    assert carried is not None
    return carried


def _run(path: Path, text: str, **env: str) -> tuple[int, bytes, bytes]:
    """As Slurm runs a batch script: written to its spool folder and executed."""
    path.write_bytes(text.encode(errors="surrogateescape"))
    path.chmod(0o700)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SUPERVISE")}
    done = subprocess.run(
        [path, *ARGUMENTS], env={**clean, **env}, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("options", ["", " -e", " -u", " -eu", " -x"])
@pytest.mark.parametrize("shell", SHELLS)
def test_output_line_numbers_and_exit_code_stay(shell: str, options: str, tmp_path: Path) -> None:
    """With the keeper between, each script prints the same bytes on both streams and ends the same way."""
    spool, keeper = tmp_path / "slurm_script", _keeper(tmp_path / "run")
    for name, body in BODIES.items():
        text = f"#!{shutil.which(shell)}{options}\n#SBATCH -N 2\n{body}\n"
        plain = _run(spool, text)
        log = tmp_path / name.replace(" ", "_")
        assert _run(spool, _carried(text, keeper).text, KEEPER_LOG=str(log)) == plain, (name, options)
        # Shells read a line to its end before they run it: a line that is none never comes to the guard.
        if name != "syntax error":
            assert log.read_text().startswith(str(spool)), f"{name}: the keeper was not started"


@pytest.mark.parametrize("shell", SHELLS)
def test_without_a_keeper_the_script_runs_as_it_is(shell: str, tmp_path: Path) -> None:
    """A run folder that this node does not see must not cost the job."""
    for body in BODIES.values():
        text = f"#!{shutil.which(shell)}\n{body}\n"
        plain = _run(tmp_path / "slurm_script", text)
        assert _run(tmp_path / "slurm_script", _carried(text, tmp_path / "gone/keeper").text) == plain


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'q"q', "new\nline", "$(touch x)`id`", "back\\slash\\n", "ü%s%b", "-dash"]
)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_keeper_is_found_in_any_folder(shell: str, name: str, tmp_path: Path) -> None:
    """Blanks, quotes, newlines and shell text in the path are only a path, and stay on the line."""
    text = f"#!{shutil.which(shell)}\n\necho $LINENO\n"
    keeper, log = _keeper(tmp_path / name), tmp_path / "log"
    plain = _run(tmp_path / "slurm_script", text)
    assert _run(tmp_path / "slurm_script", _carried(text, keeper).text, KEEPER_LOG=str(log)) == plain
    assert log.exists()


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("shell", SHELLS)
def test_any_path_is_one_word_on_one_line(shell: str, path: str) -> None:
    """The one helper that quotes paths for scripts gives back what it was given (a path does not end in a newline)."""
    path = f"/{path}/keeper"
    word = quote(path)
    assert "\n" not in word
    done = subprocess.run([shell, "-c", f"printf %s {word}"], capture_output=True, timeout=60, check=True)
    assert done.stdout.decode() == path


_lines = st.lists(
    st.sampled_from(
        ["# note", "", "  ", "\t# x", "#SBATCH -N 1", *[body for name, body in BODIES.items() if name != "signal"]]
    ),
    min_size=1,
    max_size=5,
)


@given(lines=_lines)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_scripts_of_any_order_do_the_same(shell: str, lines: list[str], tmp_path: Path) -> None:
    """Whatever stands first, the script behaves as without the guard; one without a command is left alone."""
    text = "\n".join([f"#!{shutil.which(shell)}", *lines]) + "\n"
    carried = carry(text, keeper=str(_keeper(tmp_path / "run")), file="/nonexistent")
    if carried is None:
        assert all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n"))
        return
    checked = subprocess.run([shell, "-n"], input=carried.text.encode(), capture_output=True, timeout=60, check=False)
    plain = subprocess.run([shell, "-n"], input=text.encode(), capture_output=True, timeout=60, check=False)
    assert checked.returncode == plain.returncode
    assert _run(tmp_path / "slurm_script", carried.text) == _run(tmp_path / "slurm_script", text)


def test_the_guard_is_on_the_line_of_the_first_command() -> None:
    """Directives, blank lines and everything behind stay byte for byte."""
    text = "#!/bin/bash\n#SBATCH -N 2\n\n# x\n  srun a\nsrun b"
    lines = _carried(text, "/r/keeper").text.split("\n")
    assert lines[:4] == text.split("\n")[:4]
    assert lines[4] == ('  [ -n "${SUPERVISE_ATTEMPT-}" ] || [ ! -x /r/keeper ] || exec /r/keeper "$0" "$@"; srun a')
    assert lines[5:] == ["srun b"]


def test_bytes_that_are_no_utf8_survive(tmp_path: Path) -> None:
    """A script in Latin-1 is the user's right."""
    text = b"#!/bin/sh\nprintf '\xe9'\n".decode(errors="surrogateescape")
    assert _run(tmp_path / "s", _carried(text, _keeper(tmp_path / "run")).text) == (0, b"\xe9", b"")


@pytest.mark.parametrize(
    ("line", "is_shell"),
    [
        ("#!/bin/bash", True),
        ("#! /usr/bin/env bash", True),
        ("#!/usr/bin/env -S A=1 zsh -l", True),
        ("#!/bin/busybox sh", True),
        ("#!/opt/x/bin/ksh93", True),
        ("#!/bin/bash5.2 -l", True),
        ("#!/bin/csh -f", False),
        ("#!/bin/tcsh", False),
        ("#!/usr/bin/fish", False),
        ("#!/usr/bin/env python3", False),
        ("#!/usr/bin/perl", False),
        ("#!/usr/bin/Rscript", False),
        ("#!/bin/rbash", False),
    ],
)
def test_only_shells_of_the_sh_family_get_the_guard(line: str, is_shell: bool) -> None:  # noqa: FBT001  # a table
    """Others would not understand it."""
    program = interpreter(f"{line}\nx\n")
    assert program is not None
    assert program.is_shell is is_shell
    carried = _carried(f"{line}\nx\n", "/r/keeper")
    assert carried.needs_file is not is_shell


def test_a_script_for_two_interpreters_is_wrapped() -> None:
    """The shell hands such a script to Python by its first line, which Python must be able to read too."""
    text = "#!/bin/sh\n''''exec python3 \"$0\" \"$@\" # '''\nprint(1)\n"
    assert _carried(text, "/r/keeper").needs_file


def test_a_script_without_a_command_is_not_carried() -> None:
    """There is nothing to guard."""
    assert carry("#!/bin/sh\n#SBATCH -N 1\n\n", keeper="/r/keeper", file="/r/f") is None


PYTHON = "#!/usr/bin/env python3\n#SBATCH -N 1\n# x\nimport sys\nprint(sys.argv[1:])\nsys.exit(3)\n"


@pytest.mark.parametrize("is_visible", [True, False])
@pytest.mark.parametrize("has_keeper", [True, False])
def test_a_python_script_runs_through_the_wrapper(is_visible: bool, has_keeper: bool, tmp_path: Path) -> None:  # noqa: FBT001  # two axes
    """With or without keeper, and also where the run folder cannot be seen, it gets its arguments and its exit code."""
    folder = tmp_path / "run's folder"
    keeper = _keeper(folder) if has_keeper else folder / "keeper"
    folder.mkdir(exist_ok=True)
    file = folder / "train.py"
    if is_visible:
        file.write_text(PYTHON)
    carried = carry(PYTHON, keeper=str(keeper), file=str(file))
    assert carried is not None
    assert carried.text.split("\n")[:3] == ["#!/bin/sh", *PYTHON.split("\n")[1:3]]
    expected = _run(tmp_path / "slurm_script", PYTHON)
    assert _run(tmp_path / "slurm_script", carried.text, TMPDIR=str(tmp_path)) == expected


def test_a_script_with_an_interpreter_option_keeps_it(tmp_path: Path) -> None:
    """The kernel gives an interpreter everything behind its name as one argument."""
    text = "#!/usr/bin/perl -w\nprint 1;\n"
    carried = carry(text, keeper="/r/keeper", file="/r/f")
    assert carried is not None
    assert 'exec /usr/bin/perl -w "$script" "$@"' in carried.text


def test_the_guard_under_x_is_silent() -> None:
    """`#!/bin/bash -x` prints each command: only the user's belong into the job's output."""
    assert "2>/dev/null" in guard("/r/keeper", is_traced=True)
    assert "2>/dev/null" not in guard("/r/keeper")
