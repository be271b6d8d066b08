"""Where an srun sends its tasks' output."""

import shlex

import pytest

from supervisor.slurm.step_output import by_rank, patterns


@pytest.mark.parametrize(
    ("line", "globs"),
    [
        ("srun train.py -o no.log --output=no", []),
        ("srun -o out.log train.py", ["/w/out.log"]),
        ("srun -N2 -n 4 -l --output logs/%x-%j-%t.log -e /e/%N_%4t.err train", ["/w/logs/*-*-*.log", "/e/*_*.err"]),
        ("srun -Ku -W 60 -oout-%s --mpi pmix --cpu-bind none -e./err train", ["/w/out-*", "/w/err"]),
        ("srun -D sub -o a[1]%%.log x", ["/w/sub/a[[]1]%.log"]),
        ("srun -o none -e 3 x", []),
        ("srun -o same -e same x", ["/w/same"]),
        ("srun --kill-on-bad-exit 1 -o after x", []),
        ("/usr/bin/srun --exact --gpus=1 --multi-prog -o m-%n mp.conf", ["/w/m-*"]),
    ],
)
def test_what_its_arguments_say(line: str, globs: list[str]) -> None:
    """Options behind the command are the command's; an optional value is never the next word."""
    assert [each.glob for each in patterns(shlex.split(line), "/w")] == globs


def test_files_by_rank() -> None:
    """`%t` is the rank; without it the file is everybody's; what only looks like one is nobody's."""
    by_task, shared = patterns(["srun", "-o", "o-%j-%3t.log", "-e", "all.err", "x"], "/w")
    assert (by_task.is_by_rank, shared.is_by_rank) == (True, False)
    found = {"/w/o-17-003.log": by_task, "/w/o-17-12.log": by_task, "/w/o-x-y.log": by_task, "/w/all.err": shared}
    assert by_rank(found) == {3: ["/w/o-17-003.log"], 12: ["/w/o-17-12.log"], -1: ["/w/all.err"]}
