"""What the command of `supervise run` prints reaches the user as it is, and the supervisor as well."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from supervisor.cli import run_output
from supervisor.daemon.tail import job_output
from supervisor.ledger.run_folder import OUTPUT_FILES

_PROGRAM = (
    "import os, sys; from pathlib import Path; from supervisor.cli.run_output import run_keeper;"
    "sys.exit(run_keeper(sys.argv[2:], dict(os.environ), Path(sys.argv[1])))"
)


def _argv(folder: Path, script: str) -> list[str]:
    return [sys.executable, "-c", _PROGRAM, str(folder), "sh", "-c", script]


def _kept(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in OUTPUT_FILES if (folder / name).exists()]


def test_both_ways_are_passed_on_and_kept(tmp_path: Path) -> None:
    """Byte for byte, each in a file of its own, with the exit code."""
    script = "printf 'no end \\377\\000'; echo wrong >&2; exit 7"
    done = subprocess.run(_argv(tmp_path, script), capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"no end \xff\0", b"wrong\n")
    assert _kept(tmp_path) == [b"no end \xff\0", b"wrong\n"]


def test_the_supervisor_reads_what_is_kept(tmp_path: Path) -> None:
    """Beside the files that its own output goes to, and only what is there."""
    known = job_output(tmp_path)
    (tmp_path / "output.log").touch()
    assert job_output(tmp_path) == [*known, tmp_path / "output.log"]


def test_one_way_for_both_stays_one(tmp_path: Path) -> None:
    """`2>&1`: in the order in which it was printed."""
    argv = _argv(tmp_path, "echo 1; echo 2 >&2; echo 3")
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
    assert done.stdout == b"1\n2\n3\n"
    assert _kept(tmp_path) == [b"1\n2\n3\n"]


def test_what_goes_to_a_file_is_left_alone(tmp_path: Path) -> None:
    """The supervisor reads that file itself."""
    with (tmp_path / "mine").open("wb") as file:
        done = subprocess.run(_argv(tmp_path, "echo 1; echo 2 >&2"), stdout=file, stderr=subprocess.PIPE, check=False)
    assert ((tmp_path / "mine").read_bytes(), done.stderr) == (b"1\n", b"2\n")
    assert _kept(tmp_path) == [b"2\n"]


def test_a_terminal_stays_one(tmp_path: Path) -> None:
    """Programs that look for one buffer less and draw; the bytes are theirs."""
    argv = _argv(tmp_path, "test -t 1 && test -t 2 && printf 'a\\nb'")
    pid, terminal = pty.fork()
    if not pid:
        os.execv(argv[0], argv)  # noqa: S606  # no shell is wanted
    seen = b""
    while not seen.endswith(b"b"):
        seen += os.read(terminal, 100)
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)
    assert seen == b"a\r\nb"
    assert _kept(tmp_path) == [b"a\nb"]


def test_a_reader_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    """`| head`: the command goes on, and what it says is kept all the same."""
    script = "echo 1; sleep 0.3; echo 2; sleep 0.3; echo 3; exit 5"
    with subprocess.Popen(_argv(tmp_path, script), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        process.stdout.close()
        assert process.wait(30) == 5
    assert _kept(tmp_path)[0] == b"1\n2\n3\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_reaches_the_keeper(tmp_path: Path, number: signal.Signals) -> None:
    """Who signals the command means it."""
    script = f"trap 'echo got; exit 9' {int(number)}; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(_argv(tmp_path, script), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == b"got\n"
        assert process.wait(30) == 9


def test_it_ends_by_the_signal_that_ended_the_keeper(tmp_path: Path) -> None:
    """As a shell sees it."""
    done = subprocess.run(_argv(tmp_path, "kill -KILL $$"), capture_output=True, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL


def test_when_it_is_killed_the_keeper_is_told_to_end(tmp_path: Path) -> None:
    """Nobody would hear what the command says any more."""
    script = f"trap 'touch {tmp_path}/told; exit' TERM; echo $$; while :; do sleep 0.1; done"
    with subprocess.Popen(_argv(tmp_path, script), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    end = monotonic() + 10
    while not (tmp_path / "told").exists():
        assert monotonic() < end
        sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_a_hop_its_srun_passes_on(tmp_path: Path, number: signal.Signals) -> None:
    """SIGTERM itself would make srun kill the step at once, and the ranks would be left behind."""
    script = f"trap 'touch {tmp_path}/told; exit 9' USR2; echo ready; while :; do sleep 0.1; done"
    program = (
        "import os, sys; from supervisor.cli.run_output import run_hop; sys.exit(run_hop(sys.argv[1:], os.environ))"
    )
    argv = [sys.executable, "-c", program, "sh", "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(30) == (-number if number == signal.SIGKILL else 9)
    end = monotonic() + 10
    while not (tmp_path / "told").exists():
        assert monotonic() < end
        sleep(0.05)


def test_behind_a_hop_that_signal_is_a_sigterm(tmp_path: Path) -> None:
    """For the keeper alone: what else is in the step has had the signal itself."""
    argv = _argv(tmp_path, "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.1; done")
    argv[2] = argv[2].replace("Path(sys.argv[1])", "Path(sys.argv[1]), is_behind_hop=True")
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        assert process.stdout.readline() == b"got\n"
        assert process.wait(30) == 9


def test_what_is_left_behind_is_not_waited_for(tmp_path: Path) -> None:
    """A process in the background holds the pipe: the command has ended all the same."""
    began = monotonic()
    done = subprocess.run(
        _argv(tmp_path, "sleep 60 >/dev/null & sleep 60 & echo $!"), stdout=subprocess.PIPE, check=False
    )
    os.kill(int(done.stdout), signal.SIGKILL)
    assert monotonic() - began < 30


def test_what_is_kept_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins anew; and a full disk costs it and nothing else."""
    monkeypatch.setattr(run_output, "LIMIT_BYTES", 10)
    source, writer = os.pipe()
    null, kept = os.open("/dev/null", os.O_WRONLY), os.open(tmp_path / "kept", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    channel = run_output._Channel(source=source, writer=writer, sink=null, kept=kept)
    for word in (b"12345678", b"abcdefgh"):
        os.write(writer, word)
        assert channel.pass_on()
    assert (tmp_path / "kept").read_bytes() == b"abcdefgh"
    full = run_output._Channel(source=source, writer=writer, sink=null, kept=os.open("/dev/full", os.O_WRONLY))
    os.write(writer, b"x")
    assert full.pass_on()
    assert full.kept is None
    os.close(writer)
    assert not channel.pass_on()
    for number in (source, null, kept):
        os.close(number)
