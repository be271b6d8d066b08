"""How arguments of sbatch are split."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.slurm.sbatch_options import (
    STANDARD,
    Option,
    Value,
    effective,
    options_of_environment,
    parse,
    with_plugins,
)


@pytest.mark.parametrize(
    ("args", "options", "script", "script_args"),
    [
        (["train.sh"], [], "train.sh", []),
        (["-N", "2", "train.sh", "-N", "9"], [("nodes", "2")], "train.sh", ["-N", "9"]),
        (["-N2", "train.sh"], [("nodes", "2")], "train.sh", []),
        (["--nodes=2", "train.sh"], [("nodes", "2")], "train.sh", []),
        (["--nodes", "2", "train.sh"], [("nodes", "2")], "train.sh", []),
        (["-HvN", "2", "train.sh"], [("hold", None), ("verbose", None), ("nodes", "2")], "train.sh", []),
        (["--exclusive", "train.sh"], [("exclusive", None)], "train.sh", []),
        (["--exclusive=user", "train.sh"], [("exclusive", "user")], "train.sh", []),
        (["-k", "train.sh"], [("no-kill", None)], "train.sh", []),
        (["--parsable", "--", "-odd-name.sh", "--"], [("parsable", None)], "-odd-name.sh", ["--"]),
        (["--wrap", "srun hostname"], [("wrap", "srun hostname")], None, []),
        (["--wrap=a=b"], [("wrap", "a=b")], None, []),
        (["--ntasks-per-n", "4", "s"], [("ntasks-per-node", "4")], "s", []),
        (["--part", "gpu", "s"], [("partition", "gpu")], "s", []),
        (["--tasks-per-node=4", "s"], [("ntasks-per-node", "4")], "s", []),
        (["--comment=", "s"], [("comment", "")], "s", []),
        (["-J", "", "s"], [("job-name", "")], "s", []),
        (["-"], [], "-", []),
        ([], [], None, []),
    ],
)
def test_arguments_are_split_as_getopt_does(
    args: list[str], options: list[tuple[str, str | None]], script: str | None, script_args: list[str]
) -> None:
    """Options end at the first word that is none; values may be glued, after `=`, or the next word."""
    line = parse(args)
    assert [(option.name, option.value) for option in line.options] == options
    assert line.script == script
    assert list(line.script_args) == script_args
    assert not line.unknown


def test_components_of_a_heterogeneous_job_are_seen() -> None:
    """`:` parts components and is no script."""
    line = parse(["-N1", ":", "-N2", "train.sh", "x"])
    assert line.is_heterogeneous
    assert line.script == "train.sh"


def test_an_ambiguous_short_form_is_unknown() -> None:
    """`--gpus-per` may be three options: where the script begins is not certain then."""
    assert parse(["--gpus-per", "8", "s"]).unknown == ("--gpus-per",)


def test_plugins_teach_new_options() -> None:
    """What `sbatch --help` lists about a site's plugins is split right: with a value, with none."""
    text = (
        "Usage\n      --foo=x\n\nOptions provided by plugins:\n"
        "      --image=[USER@]IMAGE   an image\n      --mount-home  no\n"
    )
    table = with_plugins(text)
    line = parse(["--image", "ubuntu", "--mount-home", "train.sh"], table)
    assert not line.unknown
    assert line.script == "train.sh"
    assert "foo" not in table.long


def test_removing_one_of_glued_options_keeps_the_other() -> None:
    """`-HN2` without the hold is still `-N2`; what is not touched stays as typed."""
    line = parse(["-p", "gpu", "-HN2", "--mem", "1G", "s"])
    assert line.without({"hold"}) == ("-p", "gpu", "--nodes=2", "--mem", "1G")


@given(st.lists(st.sampled_from(["-N2", "-N", "2", "--mem=1", "--hold", "-vv", ":", "--", "s", "--nope", "-Z", "-"])))
def test_no_argument_is_lost_or_moved(args: list[str]) -> None:
    """Pieces, script and its arguments together are the arguments, in order."""
    line = parse(args)
    rebuilt = [token for piece in line.pieces for token in piece.tokens]
    rebuilt += ["--"] if line.ends_with_dashes else []
    rebuilt += [] if line.script is None else [line.script, *line.script_args]
    assert rebuilt == args


def test_later_sources_beat_earlier_ones() -> None:
    """Directive, then environment, then command line, as in sbatch."""
    directive = [Option("nodes", "1"), Option("partition", "a"), Option("hold")]
    environment = options_of_environment({"SBATCH_PARTITION": "b", "SBATCH_ARRAY_INX": "0-3", "HOME": "/"})
    obeyed = effective(directive, environment, parse(["-N4"]).options)
    assert obeyed == {"nodes": "4", "partition": "b", "hold": "", "array": "0-3"}


@pytest.mark.skipif(shutil.which("sbatch") is None, reason="no sbatch here")
def test_the_table_has_every_option_of_the_sbatch_that_is_here(tmp_path: Path) -> None:
    """Names, letters and whether a value is taken agree with the installed sbatch's own help."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=localhost(127.0.0.1)\nNodeName=n1\nPartitionName=p Nodes=ALL\n")
    env = {"SLURM_CONF": str(conf), "PATH": "/usr/bin:/bin"}
    answer = subprocess.run(["sbatch", "--help"], env=env, capture_output=True, text=True, timeout=60, check=True)
    seen = 0
    for line in answer.stdout.splitlines():
        words = line.strip().split()
        if not line.startswith("  ") or not words or not words[0].startswith("-"):
            continue
        names = [word.rstrip(",") for word in words[:2] if word.startswith("-")]
        long = next(name for name in names if name.startswith("--")).removeprefix("--")
        name = long.split("=")[0].split("[")[0]
        assert name in STANDARD.long, name
        if names[0][1] != "-":
            assert STANDARD.short[names[0][1]] == name
        if long.startswith(f"{name}="):
            assert STANDARD.long[name] is Value.REQUIRED or name == "exclusive", name
        seen += 1
    assert seen > 70
