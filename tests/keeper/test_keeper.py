"""The keeper, run for real: supervisors that live, die, hang or never come; signals; the exit status."""

import ast
import os
import signal
import time
from pathlib import Path

import pytest

from tests.keeper.conftest import Bench, wait_for

_KEEPER = Path(__file__).resolve().parents[2] / "supervisor/keeper/keeper.py"
_START_AND_END = """
start(1)
ended = hear("ended")
tell(do="finish", code=ended["code"], signal=ended["signal"])
hear("never")
"""
_BROKEN = "sys.exit(1)\n"


def _lines_of_code() -> int:
    text = _KEEPER.read_text()
    documented = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    strings = [node.body[0] for node in documented if ast.get_docstring(node)]
    docstrings = {number for node in strings for number in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for at, line in lines if line.strip() and not line.strip().startswith("#") and at not in docstrings)


def test_the_keeper_stays_small_enough_to_be_read_before_a_job_is_trusted_to_it() -> None:
    """At most 150 lines beside blank ones, comments and docstrings."""
    assert _lines_of_code() <= 150


def test_the_keeper_needs_nothing_but_an_old_python() -> None:
    """It is copied alone into a run folder: standard library only, in the language of Python 3.8."""
    tree = ast.parse(_KEEPER.read_text(), feature_version=(3, 8))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "supervisor" not in {name.split(".")[0] for name in imported}
    assert imported <= {"__future__", "contextlib", "json", "math", "os", "pathlib", "select", "signal", "socket",
                        "subprocess", "sys", "time"}  # fmt: skip


@pytest.mark.parametrize("code", [0, 7, 255])
def test_the_job_ends_with_the_code_of_the_script(bench: Bench, code: int) -> None:
    """`finish` with the script's code gives plain sbatch's exit status."""
    bench.supervisor(_START_AND_END)
    bench.script(f"exit {code}\n")
    assert bench.run()[0] == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGUSR1, signal.SIGSEGV])
def test_the_job_ends_by_the_signal_of_the_script(bench: Bench, number: signal.Signals) -> None:
    """A script that a signal ended lets Slurm see the same signal."""
    bench.supervisor(_START_AND_END)
    bench.script(f"ulimit -c 0; kill -{number.value} $$; sleep 60\n")
    assert bench.run()[0] == -number


def test_a_finish_without_any_status_is_no_success(bench: Bench) -> None:
    """Exit 0 would start dependent jobs."""
    bench.supervisor('tell(do="finish", code=None, signal=None)\nhear("never")\n')
    assert bench.run()[0] == 1


def test_the_script_sees_what_plain_sbatch_would_show_it(bench: Bench) -> None:
    """Arguments, streams, folder, environment, umask, niceness, limits and signals; and the attempt's own variables."""
    bench.supervisor(_START_AND_END)
    # Of the child: a shell blocks signals of its own for a moment around each fork, and hands on what it was given.
    bench.script(
        'printf "%s|" "$@"; pwd; umask; env; ulimit -a; nice; readlink /proc/$$/fd/0; echo err >&2\n'
        'grep -E "Sig(Blk|Ign|Cgt)|Cpus_allowed:" /proc/self/status\n'
    )
    env = {"LC_ALL": "C", "ODD": "\udcff", "BASH_FUNC_f%%": "() {  true\n}"}
    code, out, err = bench.finish(bench.start("a b", "", "c\n'd", env=env))
    plain = bench.plain("a b", "", "c\n'd", env=env)
    own = {line for line in out.splitlines() if line.startswith("SUPERVISE_")}
    assert (code, err) == (0, "err\n")
    assert own == {"SUPERVISE_ATTEMPT=1"}
    assert [line for line in out.splitlines() if line not in own] == plain.splitlines()


def test_an_order_changes_and_removes_variables(bench: Bench) -> None:
    """`set` and `unset` of `start`, bytes that are no UTF-8 included."""
    bench.supervisor('start(3, NEW="x y", ODD="\\udcfe", unset=["GONE"])\n' + _START_AND_END.replace("start(1)", ""))
    bench.script("env\n")
    _, out, _ = bench.finish(bench.start(env={"GONE": "1"}))
    assert {"NEW=x y", "ODD=\udcfe", "SUPERVISE_ATTEMPT=3"} <= set(out.split("\n"))
    assert "GONE" not in out


@pytest.mark.parametrize("name", ["with space", "line\nbreak", "qu'o\"te", "-dash"])
def test_a_script_is_found_under_any_name(bench: Bench, name: str) -> None:
    """No shell stands between."""
    bench.script_path = bench.script_path.with_name(name)
    bench.supervisor(_START_AND_END)
    bench.script("exit 5\n")
    assert bench.run()[0] == 5


def test_a_script_that_cannot_start_has_a_shells_exit_codes(bench: Bench) -> None:
    """127 where it is not there, 126 where it may not run; the reason is in the job's output."""
    bench.supervisor(_START_AND_END)
    code, _, err = bench.run()
    assert (code, "No such file" in err) == (127, True)
    bench.script("exit 0\n")
    bench.script_path.chmod(0o600)
    (bench.folder / "generation-1").unlink()
    code, _, err = bench.run()
    assert (code, "Permission denied" in err) == (126, True)


def test_the_state_comes_first_and_later_messages_follow(bench: Bench) -> None:
    """A supervisor knows where the run stands before anything else."""
    bench.supervisor(_START_AND_END)
    bench.script("exit 4\n")
    bench.run()
    state, started, ended = bench.heard()
    assert state == {"is": "state", "attempt": 0, "pid": 0, "alive": False, "code": None, "signal": None,
                     "unsupervised": False, "signals": []}  # fmt: skip
    assert (started["is"], started["attempt"]) == ("started", 1)
    assert ended == {"is": "ended", "attempt": 1, "code": 4, "signal": None}


def test_there_is_never_a_second_living_attempt(bench: Bench) -> None:
    """A start while one lives is refused, and so is a number that is not higher than the last one."""
    bench.supervisor(
        'start(2)\nstart(3)\nhear("refused")\nhear("ended")\nstart(2)\nhear("refused")\nstart(4)\n'
        'hear("started")\nhear("ended")\ntell(do="finish", code=0, signal=None)\nhear("never")\n'
    )
    bench.script(f"echo $SUPERVISE_ATTEMPT >>{bench.folder}/attempts; sleep 0.3\n")
    bench.run()
    assert (bench.folder / "attempts").read_text().split() == ["2", "4"]


def test_nonsense_from_the_supervisor_does_not_end_the_job(bench: Bench) -> None:
    """What cannot be understood is said, and what stands behind it is done with the next line."""
    bench.supervisor(
        'order = {"do": "start", "attempt": 1, "set": {}, "unset": []}\n'
        'link.sendall(b"{nonsense\\n" + json.dumps(order).encode() + b"\\n")\n'
        'time.sleep(0.2)\ntell(do="alive")\n' + _START_AND_END.replace("start(1)", "")
    )
    bench.script("exit 3\n")
    code, _, err = bench.run()
    assert code == 3
    assert "supervise: " in err


def test_a_supervisor_that_dies_is_followed_by_one_that_is_told_everything(bench: Bench) -> None:
    """SIGKILL in the middle: the script does not notice, the next supervisor gets the living attempt."""
    bench.supervisor(
        'if generation == 1:\n    start(1)\nended = hear("ended")\ntell(do="finish", code=ended["code"], signal=None)\n'
        'hear("never")\n'
    )
    bench.script(f"echo $$ >{bench.folder}/pid; while [ ! -e {bench.folder}/go ]; do sleep 0.05; done; exit 6\n")
    process = bench.start()
    pid = int(bench.wait_file("pid"))
    bench.wait_heard("started")
    os.kill(bench.pid_of(1), signal.SIGKILL)
    state = bench.wait_heard("state", 2)
    assert (state["attempt"], state["pid"], state["alive"]) == (1, pid, True)
    (bench.folder / "go").touch()
    assert bench.finish(process)[0] == 6


def test_a_supervisor_that_comes_after_the_end_is_told_how_it_ended(bench: Bench) -> None:
    """The exit status of the attempt is not lost with the supervisor that did not live to hear it."""
    bench.supervisor(
        'if generation == 1:\n    start(1)\n    hear("started")\n    os.kill(os.getpid(), signal.SIGKILL)\n'
        'if state["alive"]:\n    sys.exit(1)\n'
        'tell(do="finish", code=state["code"], signal=state["signal"])\nhear("never")\n'
    )
    bench.script("exit 9\n")
    assert bench.run()[0] == 9
    assert all(path.exists() for path in [bench.folder / "generation-2"])


def test_a_supervisor_that_hangs_is_killed_and_started_again(bench: Bench) -> None:
    """Silence is as bad as death."""
    bench.supervisor(
        'if generation == 1:\n    start(1)\n    hear("started")\n    os.kill(os.getpid(), signal.SIGSTOP)\n'
        'tell(do="finish", code=11 if state["alive"] else 12, signal=None)\nhear("never")\n'
    )
    bench.script("sleep 60\n")
    assert bench.run(SILENT_S=1.0)[0] == 11
    assert not Path(f"/proc/{bench.pid_of(1)}").exists()


def test_a_supervisor_that_speaks_is_left_alone(bench: Bench) -> None:
    """`alive` alone is enough."""
    bench.supervisor(
        'start(1)\nfor _ in range(20):\n    tell(do="alive")\n    time.sleep(0.1)\n'
        'tell(do="finish", code=generation, signal=None)\nhear("never")\n'
    )
    bench.script("sleep 60\n")
    assert bench.run(SILENT_S=1.0)[0] == 1


def test_a_supervisor_that_cannot_start_costs_only_supervision(bench: Bench) -> None:
    """After five failed starts the script runs as plain sbatch would run it, and says so; its status is the job's."""
    bench.supervisor(_BROKEN)
    bench.script("echo attempt $SUPERVISE_ATTEMPT of $SUPERVISE_RUN_ID; exit 8\n")
    code, out, err = bench.run(BACKOFF_S=(0.0, 0.02, 0.02, 0.02, 0.02, 300.0))
    assert (code, out) == (8, "attempt 1 of run-abc12\n"), "the marks by which a later supervisor finds its processes"
    assert "the script runs without one" in err
    assert len(list(bench.folder.glob("generation-*"))) >= 5


def test_a_supervisor_that_gives_no_order_costs_only_supervision(bench: Bench) -> None:
    """It lives and speaks, but starts nothing: the keeper does, and tells it."""
    bench.supervisor('while True:\n    tell(do="alive")\n    time.sleep(0.05)\n')
    bench.script("sleep 60\n")
    process = bench.start(FIRST_START_S=0.3)
    os.read(process.stderr.fileno() if process.stderr else 0, 1)
    os.kill(bench.pid_of(1), signal.SIGKILL)
    state = bench.wait_heard("state", 2)
    assert (state["attempt"], state["alive"], state["unsupervised"]) == (1, True, True)


def test_a_supervisor_may_ask_for_more_time_before_the_first_start(bench: Bench) -> None:
    """`busy` holds the keeper back from starting the script by itself."""
    bench.supervisor('tell(do="busy", for_s=60)\ntime.sleep(1.0)\n' + _START_AND_END)
    bench.script("exit 2\n")
    code, _, err = bench.run(FIRST_START_S=0.2)
    assert (code, err) == (2, "")


def test_a_job_that_was_told_to_end_starts_nothing_by_itself(bench: Bench) -> None:
    """SIGTERM before the first start, and no supervisor: the job ends by it, as plain sbatch's would."""
    bench.supervisor(_BROKEN)
    bench.script(f"touch {bench.folder}/ran\n")
    process = bench.start(BACKOFF_S=(0.5,))
    bench.pid_of(1)
    process.send_signal(signal.SIGTERM)
    assert bench.finish(process)[0] == -signal.SIGTERM
    assert not (bench.folder / "ran").exists()


def test_an_orphaned_end_is_the_scripts_own(bench: Bench) -> None:
    """The script has ended and no supervisor comes back: the job ends with the script's status."""
    bench.supervisor('if generation == 1:\n    start(1)\n    hear("started")\nsys.exit(1)\n')
    bench.script("sleep 0.3; exit 13\n")
    assert bench.run(ORPHANED_S=1.0)[0] == 13


def test_a_busy_supervisor_that_dies_is_waited_for(bench: Bench) -> None:
    """A decision that is under way outlives its supervisor's death for as long as it had asked for."""
    bench.supervisor(
        'if generation == 1:\n    start(1)\n    hear("ended")\n    tell(do="busy", for_s=60)\n    sys.exit(1)\n'
        "if generation < 4:\n    sys.exit(1)\n"
        'tell(do="finish", code=44, signal=None)\nhear("never")\n'
    )
    bench.script("exit 1\n")
    assert bench.run(ORPHANED_S=0.5, BACKOFF_S=(0.0, 0.3))[0] == 44


def test_a_script_that_a_dead_supervisor_left_frozen_goes_on(bench: Bench) -> None:
    """Killed in the midst of a stop, and none can be kept alive: without that the job would hang to its time limit."""
    bench.supervisor(
        'if generation > 1:\n    sys.exit(1)\nstart(1)\npid = hear("started")["pid"]\n'
        'while not (folder / "pid").exists():\n    time.sleep(0.01)\n'
        "os.killpg(pid, signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    bench.script(f"echo $$ >{bench.folder}/pid; sleep 0.1; exit 14\n")
    # The next ones come long before the script goes on, so that this looks at it in time on any machine.
    process = bench.start(ORPHANED_S=3.0, BACKOFF_S=(0.0, 0.05))
    pid = int(bench.wait_file("pid"))
    bench.pid_of(3)
    assert _is_stopped(pid), "a supervisor that comes back finds it as the one before has left it"
    assert bench.finish(process)[0] == 14


def test_a_script_is_left_frozen_while_a_supervisor_lives(bench: Bench) -> None:
    """The one that came back stops the attempt again: the script must not run its next line meanwhile."""
    bench.supervisor(
        'if generation == 1:\n    start(1)\n    pid = hear("started")["pid"]\n'
        '    while not (folder / "pid").exists():\n        time.sleep(0.01)\n'
        "    os.killpg(pid, signal.SIGSTOP)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        'for _ in range(30):\n    tell(do="alive")\n    time.sleep(0.1)\n'
        'tell(do="finish", code=15, signal=None)\nhear("never")\n'
    )
    bench.script(f"echo $$ >{bench.folder}/pid; sleep 0.1; touch {bench.folder}/next\n")
    assert bench.run(ORPHANED_S=1.0, YOUNG_S=0.0)[0] == 15
    assert not (bench.folder / "next").exists()


def test_a_supervisor_that_does_not_read_is_told_everything_anew(bench: Bench) -> None:
    """The line to it is full in the midst of a line: what came after it would never be understood."""
    bench.supervisor(
        "if generation == 1:\n    start(1)\n    for number in range(9000):\n        start(1)\n"
        '    (folder / "full").touch()\n'
        '    while True:\n        tell(do="alive")\n        time.sleep(0.1)\n'
        'tell(do="finish", code=state["code"] if not state["alive"] else 99, signal=None)\nhear("never")\n'
    )
    bench.script(f"while [ ! -e {bench.folder}/full ]; do sleep 0.05; done; exit 16\n")
    assert bench.run(SILENT_S=3.0)[0] in {16, 99}


def test_a_supervisor_that_never_decides_does_not_hold_the_job_for_ever(bench: Bench) -> None:
    """It lives and speaks, and says that it is busy, but long after the script's end there is no end of the job."""
    bench.supervisor(
        'start(1)\nwhile True:\n    tell(do="alive")\n    tell(do="busy", for_s=60)\n    time.sleep(0.1)\n'
    )
    bench.script("exit 17\n")
    assert bench.run(ENDED_S=1.5)[0] == 17


def test_a_job_that_was_suspended_goes_on_where_it_was(bench: Bench) -> None:
    """`scontrol suspend`, a gang's other half: nobody was silent, and the end is still the supervisor's to decide."""
    bench.supervisor(
        'start(1)\nhear("ended")\n(folder / "over").write_text("now")\n'
        'for _ in range(60):\n    tell(do="alive")\n    time.sleep(0.05)\n'
        'tell(do="finish", code=22, signal=None)\nhear("never")\n'
    )
    bench.script("exit 1\n")
    process = bench.start(SILENT_S=1.0, ORPHANED_S=1.0, YOUNG_S=0.0, SLEPT_S=0.9)
    bench.wait_file("over")
    both = process.pid, bench.pid_of(1)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in both:
            os.kill(pid, number)
        time.sleep(2.0 if number == signal.SIGSTOP else 0.0)
    assert bench.finish(process)[0] == 22
    assert not (bench.folder / "generation-2").exists()


def test_a_supervisor_that_decides_is_waited_for(bench: Bench) -> None:
    """Alive and speaking: the keeper does not end the job over its head."""
    bench.supervisor(
        'start(1)\nhear("ended")\nfor _ in range(15):\n    tell(do="alive")\n    time.sleep(0.1)\n'
        'tell(do="finish", code=21, signal=None)\nhear("never")\n'
    )
    bench.script("exit 1\n")
    assert bench.run(ORPHANED_S=0.1, YOUNG_S=0.0)[0] == 21


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGTERM, signal.SIGRTMIN + 2])
def test_a_signal_for_the_batch_script_alone_is_forwarded(bench: Bench, number: int) -> None:
    """`scancel -b` and `--signal=B:` reach the keeper only: the script gets it once, the supervisor is told."""
    bench.supervisor('start(1)\ntold = hear("signal")\nended = hear("ended")\n'
                     'tell(do="finish", code=ended["code"], signal=None)\nhear("never")\n')  # fmt: skip
    bench.script(
        f"trap 'n=$((n+1))' {int(number)}; echo $$ >{bench.folder}/pid\n"
        'for i in {1..600}; do sleep 0.1; [ -n "$n" ] && [ -e $0.go ] && exit 3$n; done\n'
    )
    process = bench.start()
    bench.wait_file("pid")
    process.send_signal(number)
    assert bench.wait_heard("signal") == {"is": "signal", "number": int(number), "whole": False}
    Path(f"{bench.script_path}.go").touch()
    assert bench.finish(process)[0] == 31


@pytest.mark.parametrize("is_first", [True, False])
def test_a_signal_for_the_whole_step_is_not_forwarded(bench: Bench, is_first: bool) -> None:  # noqa: FBT001  # a case
    """The supervisor got it too, just before or just after the keeper: the script had it already."""
    bench.supervisor(
        'signal.signal(signal.SIGTERM, lambda *_: tell(do="signaled", number=15))\n'
        'start(1)\nhear("signal")\nended = hear("ended")\ntell(do="finish", code=ended["code"], signal=None)\n'
        'hear("never")\n'
    )
    bench.script(
        f"trap 'n=$((n+1))' TERM; echo $$ >{bench.folder}/pid\n"
        "for i in {1..600}; do sleep 0.1; [ -e $0.go ] && exit 4$n; done\n"
    )
    process = bench.start()
    bench.wait_file("pid")
    bench.wait_heard("started")
    keeper, canary = process.pid, bench.pid_of(1)
    for pid in (canary, keeper) if is_first else (keeper, canary):
        os.kill(pid, signal.SIGTERM)
    assert bench.wait_heard("signal") == {"is": "signal", "number": 15, "whole": True}
    time.sleep(0.5)  # twice the time after which it would have been forwarded
    Path(f"{bench.script_path}.go").touch()
    assert bench.finish(process)[0] == 4


def test_the_next_supervisor_knows_the_signals_that_came(bench: Bench) -> None:
    """A cancel is not forgotten because its first reader died."""
    bench.supervisor('if generation == 1:\n    start(1)\nhear("never")\n')
    bench.script(f"trap '' USR1; echo $$ >{bench.folder}/pid; sleep 60\n")
    process = bench.start()
    bench.wait_file("pid")
    process.send_signal(signal.SIGUSR1)
    bench.wait_heard("signal")
    os.kill(bench.pid_of(1), signal.SIGKILL)
    assert bench.wait_heard("state", 2)["signals"] == [signal.SIGUSR1]


def test_an_ignored_signal_stays_ignored(bench: Bench) -> None:
    """As under nohup."""
    bench.supervisor(_START_AND_END)
    bench.script("grep SigIgn /proc/self/status; kill -HUP $$; exit 5\n")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = bench.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert bench.finish(process)[0] == 5


def test_child_and_continue_signals_are_nobodys_business(bench: Bench) -> None:
    """SIGCHLD and SIGCONT come with everything Slurm does."""
    bench.supervisor(_START_AND_END)
    bench.script(
        f"trap 'touch {bench.folder}/chld' CHLD CONT; echo $$ >{bench.folder}/pid; read -t 0.8 <> <(:); exit 0\n"
    )
    process = bench.start()
    bench.wait_file("pid")
    process.send_signal(signal.SIGCHLD)
    process.send_signal(signal.SIGCONT)
    assert bench.finish(process)[0] == 0
    assert [each for each in bench.heard() if each["is"] == "signal"] == []


def test_the_end_leaves_nothing_behind(bench: Bench) -> None:
    """A supervisor that does not end by itself, its helpers and what the script left in the background are killed."""
    bench.supervisor(
        'import subprocess\nhelper = subprocess.Popen(["sleep", "300"])\n'
        '(folder / "pid-helper").write_text(str(helper.pid))\n'
        'start(1)\nhear("ended")\ntell(do="finish", code=0, signal=None)\ntime.sleep(300)\n'
    )
    bench.script(f"sleep 300 >/dev/null 2>&1 & echo $! >{bench.folder}/pid; exit 0\n")
    assert bench.run(LAST_S=0.2)[0] == 0
    left = [int(bench.wait_file("pid")), int(bench.wait_file("pid-helper")), bench.pid_of(1)]
    wait_for(lambda: not [pid for pid in left if _is_running(pid)], "the end of all processes")


def test_no_zombie_stays_while_the_script_runs(bench: Bench) -> None:
    """Dead supervisors are reaped."""
    bench.supervisor('if generation == 1:\n    start(1)\nif generation < 4:\n    sys.exit(0)\nhear("never")\n')
    bench.script("sleep 60\n")
    process = bench.start(BACKOFF_S=(0.0, 0.02))
    bench.pid_of(4)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert [pid for pid in children if not _is_running(int(pid))] == []


def test_the_script_lives_in_a_session_of_its_own(bench: Bench) -> None:
    """A signal for its group does not reach the keeper, nor the keeper's the script."""
    bench.supervisor(_START_AND_END)
    bench.script("ps -o sid= -p $$; echo $$\n")
    _, out, _ = bench.run()
    sid, pid = out.split()
    assert sid == pid


def _is_stopped(pid: int) -> bool:
    """Whether a signal has stopped it."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def _is_running(pid: int) -> bool:
    """Whether it exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
