"""The srun shim, with a fake srun that prints how it was called."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from supervisor.slurm.shim import find_srun, install_shim

FAKE = """#!/bin/sh
printf '%s\\0' "$@" >"$FAKE_OUT"
env -0 >"$FAKE_OUT.env"
exit "${FAKE_CODE:-0}"
"""
SHELLS = [["/bin/sh"], ["bash"], ["bash", "--posix"]]


class Fake:
    """A folder with a fake srun, and the shim installed before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.bin = folder / "real bin"
        self.bin.mkdir()
        self.write(self.bin / "srun", FAKE)
        shim = install_shim(folder / "it's a shim", path=f"{self.bin}:/usr/bin:/bin")
        assert shim is not None
        self.shim = shim
        self.environment = {
            "PATH": f"{shim.folder}:{self.bin}:/usr/bin:/bin",
            "SUPERVISE_SHIM_SRUN": shim.real,
            "SUPERVISE_SHIM_JOB": "17",
            "SUPERVISE_HIDDEN": "node[004-005]",
            "SLURM_JOB_ID": "17",
            "FAKE_OUT": str(self.out),
        }

    @staticmethod
    def write(file: Path, text: str) -> Path:
        """An executable."""
        file.write_text(text)
        file.chmod(0o755)
        return file

    def run(self, argv: Sequence[str], **changes: str | None) -> "subprocess.CompletedProcess[str]":
        """The command's end, in the shim's environment with these changes; None unsets."""
        env = {name: value for name, value in {**self.environment, **changes}.items() if value is not None}
        return subprocess.run(argv, env=env, cwd=self.folder, capture_output=True, text=True, check=False, timeout=60)

    def called(self, *arguments: str, **changes: str | None) -> list[str]:
        """What the real srun got when the shim was called like this."""
        self.out.unlink(missing_ok=True)
        done = self.run([f"{self.shim.folder}/srun", *arguments], **changes)
        assert (done.returncode, done.stderr) == (0, "")
        return self.got()

    def got(self) -> list[str]:
        """The arguments of the last call."""
        return self.out.read_text().split("\0")[:-1]

    def got_environment(self) -> Mapping[str, str]:
        """The environment of the last call."""
        pairs = Path(f"{self.out}.env").read_text().split("\0")[:-1]
        return dict(pair.split("=", 1) for pair in pairs)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A fake srun behind the shim."""
    return Fake(tmp_path)


OURS = "--exclude=node[004-005]"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("hostname", f"{OURS} hostname"),
        ("-n1 hostname -x", f"-n1 {OURS} hostname -x"),
        ("-n 1 -N 1 -w node003 ./a --exclude=b", f"-n 1 -N 1 -w node003 {OURS} ./a --exclude=b"),
        ("-lN2 a", f"-lN2 {OURS} a"),
        ("--ntasks=4 --label a", f"--ntasks=4 --label {OURS} a"),
        ("--ntasks 4 a", f"--ntasks 4 {OURS} a"),
        ("--multi-prog conf", f"--multi-prog {OURS} conf"),
        ("-l -- a -x b", f"-l {OURS} -- a -x b"),
        ("-K a -x b", f"-K {OURS} a -x b"),
        ("-K0 --mpi=none a", f"-K0 --mpi=none {OURS} a"),
        ("--exact -n1 --gpus=1 a", f"--exact -n1 --gpus=1 {OURS} a"),
        ("--exclusive a", f"--exclusive {OURS} a"),
        ("--kill-on-bad-exit a -x b", f"--kill-on-bad-exit {OURS} a -x b"),
        ("--jobid=17 a", f"--jobid=17 {OURS} a"),
        ("--jobid 17 a", f"--jobid 17 {OURS} a"),
        ("--container-image=i --no-container-mount-home a", f"--container-image=i --no-container-mount-home {OURS} a"),
        ("--version", f"--version {OURS}"),
        ("", OURS),
    ],
)
def test_one_option_is_added_before_the_command(fake: Fake, before: str, after: str) -> None:
    """One --exclude is added, between the caller's options and the command; what follows the command is its own."""
    assert fake.called(*before.split()) == after.split()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("-x node002 a", "--exclude=node[004-005],node002 a"),
        ("-xnode002 a", "--exclude=node[004-005],node002 a"),
        ("-lx node002 a", "-l --exclude=node[004-005],node002 a"),
        ("-lxnode002 -n1 a", "-l -n1 --exclude=node[004-005],node002 a"),
        ("--exclude=node002 -n1 a", "-n1 --exclude=node[004-005],node002 a"),
        ("--exclude node002 a", "--exclude=node[004-005],node002 a"),
        ("--exclud node002 a", "--exclude=node[004-005],node002 a"),
        ("-x node001 -x node002 a", "--exclude=node[004-005],node002 a"),
        ("-x node002 -- -x", "--exclude=node[004-005],node002 -- -x"),
    ],
)
def test_the_callers_own_exclude_is_merged(fake: Fake, before: str, after: str) -> None:
    """Of two --exclude srun obeys the last alone, so the caller's last one and ours become one."""
    assert fake.called(*before.split()) == after.split()


@pytest.mark.parametrize(
    "arguments",
    [
        "--het-group=0,1 a",
        "--het-group 0 a",
        "--pack-group=0 a",
        "-r1 a",
        "-r 1 a",
        "--relative=1 a",
        "--relative 1 a",
        "--rel=1 a",
        "--jobid=18 a",
        "--jobid 18 a",
        "--pty bash",
        "-n1 --pty bash -i",
        "-Z a",
        "-x node002 --pty bash",
        "-n1 a : -n1 b",
    ],
)
def test_nothing_is_added_where_it_would_break(fake: Fake, arguments: str) -> None:
    """Het groups, --relative, other jobs, --pty and parts of a het step stay what the caller wrote."""
    called = fake.called(*arguments.split())
    assert not [word for word in called if "004" in word]
    assert [word for word in called if "node002" not in word] == [
        word for word in arguments.split() if word not in ("-x", "node002")
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"SUPERVISE_HIDDEN": None},
        {"SUPERVISE_HIDDEN": ""},
        {"SLURM_JOB_ID": None},
        {"SLURM_JOB_ID": "18"},
        {"SUPERVISE_SHIM_JOB": None},
    ],
)
def test_nothing_is_added_outside_our_job(fake: Fake, changes: dict[str, str | None]) -> None:
    """Without a hidden node, without a job or in another one the shim is srun."""
    assert fake.called("-n1", "a", "-x", **changes) == ["-n1", "a", "-x"]


def test_an_unknown_option_ends_the_reading(fake: Fake) -> None:
    """Whether an unknown option takes a value cannot be known: it and all that follows is passed as it is."""
    assert fake.called("-n1", "--site-spank", "-x", "b", "a") == ["-n1", OURS, "--site-spank", "-x", "b", "a"]
    assert fake.called("-n1", "-y", "-x", "b") == ["-n1", OURS, "-y", "-x", "b"]


def test_arguments_arrive_byte_by_byte(fake: Fake) -> None:
    """Spaces, quotes, newlines, dollars, globs and empty words pass through, in options and in the command."""
    odd = ["", "a b", "it's", 'say "x"', "two\nlines", "$HOME `id` $(id)", "*", "\\n", "é"]
    options = [part for word in odd for part in ("-J", word)]
    assert fake.called(*options, "--comment=a 'b'\n$c", "-n", "1", "prog", *odd) == [
        *options,
        "--comment=a 'b'\n$c",
        "-n",
        "1",
        OURS,
        "prog",
        *odd,
    ]


def test_exclude_file_is_read(fake: Fake) -> None:
    """A value with a slash names a file of hostlists (srun's own rule): its nodes are merged, comments left out."""
    file = fake.folder / "bad nodes"
    file.write_text("node[001-002] # two\n\n#none\nnode007*2\nnode[00?] node009")
    (fake.folder / "node001").touch()
    called = fake.called("-x", str(file), "a")
    assert called == ["--exclude=node[004-005],node[001-002],node007,node[00?],node009", "a"]


def test_unreadable_exclude_file_is_srun_to_complain_about(fake: Fake) -> None:
    """A file that is not there is handed to srun, whose message the caller knows."""
    assert fake.called("-n1", "-x", "./none", "a") == ["-n1", "--exclude=./none", "a"]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_any_shell_reads_it(fake: Fake, shell: list[str]) -> None:
    """The shim needs nothing beyond POSIX."""
    fake.run([*shell, f"{fake.shim.folder}/srun", "-lx", "node002", "a b"])
    assert fake.got() == ["-l", "--exclude=node[004-005],node002", "a b"]


def test_the_ranks_environment_is_the_callers(fake: Fake) -> None:
    """The shim changes no variable that the caller exported, whatever its name; it adds its mark alone."""
    theirs = dict.fromkeys(("real", "job", "word", "name", "count", "options", "own", "file", "hidden"), "mine")
    fake.called("-n1", "-x", "b", "a", **theirs)
    expected = {**fake.environment, **theirs}
    got = dict(fake.got_environment())
    assert got.pop("SUPERVISE_SHIM_PID")
    assert {name: value for name, value in got.items() if name in expected} == expected
    assert set(got) - set(expected) <= {"PWD", "OLDPWD", "_", "SHLVL"}


def test_exit_code_is_sruns(fake: Fake) -> None:
    """There is no process between: the caller gets srun's own exit code."""
    assert fake.run([f"{fake.shim.folder}/srun", "a"], FAKE_CODE="7").returncode == 7


def test_real_srun_is_found_again(fake: Fake) -> None:
    """When the named srun is gone or is the shim itself, the next one on PATH is taken."""
    for value in (None, "/gone/srun", f"{fake.shim.folder}/srun"):
        assert fake.called("a", SUPERVISE_SHIM_SRUN=value) == [OURS, "a"]


def test_no_srun_at_all(fake: Fake) -> None:
    """Without any srun behind it the shim says what to do and ends as a shell would."""
    done = fake.run(
        [f"{fake.shim.folder}/srun", "a"], SUPERVISE_SHIM_SRUN=None, PATH=f"{fake.shim.folder}:{fake.folder}"
    )
    assert (done.returncode, "load Slurm's module" in done.stderr) == (127, True)


@pytest.mark.parametrize("how", ['exec srun "$@"', 'srun "$@"'])
def test_a_wrapper_that_calls_back_does_not_loop(fake: Fake, how: str) -> None:
    """A site's own srun that looks srun up on PATH gets the one behind it, with the option added once."""
    site = fake.folder / "site"
    site.mkdir()
    wrapper = fake.write(site / "srun", f"#!/bin/sh\n{how}\n")
    path = f"{fake.shim.folder}:{site}:{fake.bin}:/usr/bin:/bin"
    assert fake.called("-n1", "a", SUPERVISE_SHIM_SRUN=str(wrapper), PATH=path) == ["-n1", OURS, "a"]


def test_many_arguments_are_quick(fake: Fake) -> None:
    """Thousands of arguments of the program cost nothing: they are never copied one by one."""
    many = [f"file{number}" for number in range(20_000)]
    assert fake.called("-n1", "a", *many)[-20_000:] == many


def script(fake: Fake, text: str, *, shell: Sequence[str] = ("bash",)) -> "subprocess.CompletedProcess[str]":
    """The end of a script to which the shell function is exported and whose PATH does not know the shim."""
    return fake.run(
        [*shell, "-c", text], **{"BASH_FUNC_srun%%": fake.shim.function, "PATH": f"{fake.bin}:/usr/bin:/bin"}
    )


@pytest.mark.parametrize(
    "text",
    [
        'srun -n1 "a b" c',
        'srun -n1 "a b" c & wait $!',
        '(srun -n1 "a b" c)',
        'x=$(srun -n1 "a b" c)',
        'true | srun -n1 "a b" c',
        'set -euo pipefail; srun -n1 "a b" c',
        'set -euo pipefail; srun -n1 "a b" c & wait $!',
    ],
)
def test_function_stands_in_where_path_is_set_anew(fake: Fake, text: str) -> None:
    """Login shells and modules that rewrite PATH still reach the shim, in every kind of subshell."""
    done = script(fake, text)
    assert (done.returncode, done.stderr) == (0, "")
    assert fake.got() == ["-n1", OURS, "a b", "c"]


@pytest.mark.parametrize("text", ["srun a", "srun a & wait $!", "(srun a)", "srun a | cat; exit ${PIPESTATUS[0]}"])
def test_function_keeps_the_exit_code(fake: Fake, text: str) -> None:
    """The function ends with srun's exit code."""
    fake.environment["FAKE_CODE"] = "7"
    assert script(fake, text).returncode == 7


def test_function_passes_stdin(fake: Fake) -> None:
    """What is piped into srun reaches it, although bash stands between."""
    fake.write(fake.bin / "srun", "#!/bin/sh\ncat\n")
    assert script(fake, "echo hello | srun a | cat").stdout == "hello\n"


def test_function_forwards_signals_of_a_background_srun(fake: Fake) -> None:
    """`srun … & PID=$!; kill -USR1 $PID` still reaches srun: the usual way to ask ranks for a checkpoint."""
    fake.write(
        fake.bin / "srun",
        "#!/bin/bash\ntrap 'echo usr1' USR1\ntrap 'echo term; exit 9' TERM\n: >\"$FAKE_OUT\"\n"
        "for ((at = 0; at < 1200; at++)); do sleep 0.05; done\n",
    )
    done = script(
        fake,
        'srun a & pid=$!\nuntil [ -e "$FAKE_OUT" ]; do sleep 0.05; done\n'
        'kill -USR1 $pid; sleep 0.5; kill -TERM $pid; wait $pid; echo "code $?"',
    )
    assert (done.stdout, done.stderr) == ("usr1\nterm\ncode 9\n", "")


def test_function_restores_the_callers_traps(fake: Fake) -> None:
    """A subshell's own traps are in force again after srun."""
    done = script(fake, "(trap 'echo mine' USR1; srun a; kill -USR1 $BASHPID; true)")
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_function_without_its_shim_is_srun(fake: Fake) -> None:
    """When the run folder is gone the function still starts the real srun."""
    (Path(fake.shim.folder) / "srun").unlink()
    assert script(fake, "srun -n1 a").returncode == 0
    assert fake.got() == ["-n1", "a"]


def test_install_replaces_whole_and_finds_the_real_one(tmp_path: Path) -> None:
    """Installing again replaces the file, never writes into it; the shim's own folder on PATH is not the real srun."""
    fake = Fake(tmp_path)
    shim = Path(fake.shim.folder) / "srun"
    before = shim.stat().st_ino
    again = install_shim(shim.parent, path=f"{shim.parent}:{fake.bin}")
    assert again == fake.shim
    assert shim.stat().st_ino != before
    assert os.access(shim, os.X_OK)
    assert sorted(file.name for file in shim.parent.iterdir()) == ["srun"]
    assert shlex.split(fake.shim.function.split("_sv_shim=")[1].split(" _sv_pid")[0]) == [str(shim)]


def test_no_srun_no_shim(tmp_path: Path) -> None:
    """Where there is no srun at all nothing is installed."""
    assert find_srun(str(tmp_path), besides=tmp_path) is None
    assert install_shim(tmp_path / "shim", path=str(tmp_path)) is None
    assert not (tmp_path / "shim").exists()
