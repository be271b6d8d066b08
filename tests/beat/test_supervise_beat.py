"""The module that ranks import, under every interpreter that it is promised for and that is installed here."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supervisor.beat import supervise_beat as layout
from supervisor.beat.pages import Pages

OLDEST = (3, 8)


def _interpreters() -> list[str]:
    found = [Path("/usr/bin/python3"), Path(sys.executable)]
    found += sorted(Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob("versions/*/bin/python3"))
    return [str(path) for path in found if path.exists() and _version(path) >= OLDEST]


def _version(interpreter: Path) -> tuple[int, ...]:
    ask = [str(interpreter), "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    return tuple(int(word) for word in subprocess.run(ask, capture_output=True, check=True, text=True).stdout.split())


every_interpreter = pytest.mark.parametrize("python", _interpreters())
Start = Callable[..., Any]


@every_interpreter
def test_beat_is_read_by_the_agent(python: str, rank: Start, folder: Path) -> None:
    """What a rank says is what the agent reads, whatever Python the rank runs."""
    started = rank(python)
    assert started.do("print(beat(41))") == "False"
    started.do("beat(42, loss=0.5, phase='checkpoint', compute_s=0.25, comm_s=0.125)")
    (beat,) = Pages(folder).read(now=1.0)
    assert (beat.rank, beat.pid, beat.step, beat.phase, beat.count) == (5, started.process.pid, 42, "checkpoint", 2)
    assert (beat.loss, beat.compute_s, beat.comm_s, beat.is_alive) == (0.5, 0.25, 0.125, True)


@every_interpreter
def test_wrong_arguments_are_counted_and_left_out(python: str, rank: Start, folder: Path) -> None:
    """Nothing that a caller hands over raises; the beat counts as a sign of life and keeps what is usable."""
    started = rank(python)
    odd = [
        "beat('x', loss=0.5)",
        "beat(2**70)",
        "beat(None)",
        "beat(8, phase=[])",
        "beat(8, phase='lunch')",
        "beat(8, loss='high', compute_s='long', comm_s=object())",
        "beat(8, loss=10**400)",
    ]
    started.do("beat(7)")
    pages = Pages(folder)
    pages.read(now=1.0)
    for line in odd[:3]:
        assert started.do(f"print({line})") == "False"
    assert pages.read(now=1.0)[0].step == 7
    for line in odd[3:]:
        assert started.do(f"print({line})") == "False"
    (beat,) = pages.read(now=1.0)
    assert (beat.step, beat.count >= 8, beat.phase, beat.loss, beat.compute_s) == (8, True, "step", None, None)
    assert started.do("print(sb._page[sb.MISUSED_AT] >= 7)") == "True"


@every_interpreter
def test_a_forked_child_leaves_its_parents_page_alone(python: str, rank: Start, folder: Path) -> None:
    """A data loader forked from a rank may import and call what it likes: the page stays the rank's."""
    started = rank(python)
    started.do("beat(1)")
    child = "pid = os.fork(); pid or ([beat(99) for _ in range(40)], os._exit(0)); os.waitpid(pid, 0)"
    started.do(child)
    (beat,) = Pages(folder).read(now=1.0)
    assert (beat.step, beat.pid) == (1, started.process.pid)


@every_interpreter
def test_a_forked_child_with_a_rank_of_its_own_gets_its_own_page(python: str, rank: Start, folder: Path) -> None:
    """A launcher that forks its ranks gives each a page, also after it has beaten itself."""
    started = rank(python)
    started.do("beat(1)")
    child = "os.environ.update(SUPERVISE_RANK='6'), beat(9), os._exit(0)"
    started.do(f"pid = os.fork(); pid or ({child}); os.waitpid(pid, 0)")
    assert [(beat.rank, beat.step) for beat in Pages(folder).read(now=1.0)] == [(5, 1), (6, 9)]


@every_interpreter
def test_without_supervision_nothing_happens(python: str, rank: Start, folder: Path) -> None:
    """Outside a supervised attempt `beat` answers False and touches nothing."""
    started = rank(python, SUPERVISE_ATTEMPT="")
    assert started.do("print([beat(n) for n in range(100)] == [False] * 100)") == "True"
    assert list(folder.iterdir()) == []


@every_interpreter
def test_beat_makes_no_system_call(python: str, environment: dict[str, str]) -> None:
    """Under seccomp's strict mode, which kills at any call but read, write and exit, beats go on."""
    code = (
        "import ctypes, platform, supervise_beat as sb\n"
        "libc = ctypes.CDLL(None)\n"
        "leave = {'x86_64': 60, 'aarch64': 93}[platform.machine()]\n"
        "sb.beat(0)\n"
        "assert libc.prctl(22, 1, 0, 0, 0) == 0\n"  # PR_SET_SECCOMP, SECCOMP_MODE_STRICT
        "for step in range(10000):\n"
        "    sb.beat(step, loss=0.5, compute_s=0.1)\n"
        "libc.syscall(leave, 7)\n"
    )
    done = subprocess.run([python, "-S", "-c", code], env=environment, timeout=60, check=False)
    assert done.returncode == 7


def test_a_rank_that_learns_its_number_late_gets_its_page(rank: Start, folder: Path) -> None:
    """Ranks that a library starts learn their number after the import; the page is tried for ever, ever more rarely."""
    started = rank(SLURM_PROCID="")
    started.do("[beat(n) for n in range(20)]; os.environ['RANK'] = '2'; [beat(n) for n in range(20, 60)]")
    (beat,) = Pages(folder).read(now=1.0)
    assert (beat.rank, beat.step) == (2, 59)


def test_a_page_without_memory_is_no_page(rank: Start, folder: Path) -> None:
    """Where memory for the page is not to be had, the rank goes on without: storing into it would be a SIGBUS."""
    started = rank()
    started.do("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))")
    assert started.do("print(any(beat(n) for n in range(100)), sb._page)") == "False None"


def test_a_page_of_a_living_owner_is_not_taken(rank: Start, folder: Path) -> None:
    """Two processes with one rank (parallel steps): the first one's page stays its own."""
    first, second = rank(), rank()
    first.do("beat(1)")
    second.do("[beat(2) for _ in range(10)]")
    (beat,) = Pages(folder).read(now=1.0)
    assert (beat.pid, beat.step) == (first.process.pid, 1)


def test_a_page_of_a_dead_owner_is_taken_over(rank: Start, folder: Path) -> None:
    """A worker that a launcher starts again within the attempt goes on with its predecessor's page, from count 1."""
    first = rank()
    first.do("beat(1); beat(2)")
    first.end()
    second = rank()
    second.do("beat(3)")
    (beat,) = Pages(folder).read(now=1.0)
    assert (beat.pid, beat.step, beat.count) == (second.process.pid, 3, 1)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_is_not_used(rank: Start, folder: Path, mode: int) -> None:
    """A folder somebody else made, or may write in, holds no page of ours."""
    folder.chmod(mode)
    assert rank().do("print(beat(1), sb._page)") == "False None"
    folder.chmod(0o700)


def test_a_page_of_another_version_is_left_alone(rank: Start, folder: Path) -> None:
    """A page that a newer product made is not written over."""
    page = layout.HEADER.pack(layout.MAGIC, layout.VERSION + 1, 0, 1).ljust(layout.PAGE_BYTES, b"\0")
    (folder / "3-5").write_bytes(page)
    assert rank().do("print(beat(1), sb._page)") == "False None"
    assert (folder / "3-5").read_bytes() == page


def test_a_loss_on_a_device_is_not_read(rank: Start, folder: Path) -> None:
    """Reading a tensor that lies on a device would make the step wait for it."""
    started = rank()
    started.do("T = type('T', (), {'device': 'cuda:0', '__float__': lambda self: sys.exit('was read')})")
    started.do("beat(1, loss=T())")
    started.do("C = type('C', (), {'device': 'cpu', '__float__': lambda self: 2.5})")
    assert Pages(folder).read(now=1.0)[0].loss is None
    started.do("beat(1, loss=C())")
    assert Pages(folder).read(now=1.0)[0].loss == 2.5


def test_importing_it_costs_no_other_module(environment: dict[str, str]) -> None:
    """Beside what every interpreter has loaded, only two small modules come with it."""
    code = "import sys; before = set(sys.modules); import supervise_beat; print(*sorted(set(sys.modules) - before))"
    bare = [sys.executable, "-S", "-c", "import contextlib, itertools, math, struct;" + code]
    done = subprocess.run(bare, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["__future__", "mmap", "supervise_beat"]


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({"SLURM_PROCID": "3"}, 3),
        ({"SLURM_PROCID": "3", "RANK": "9"}, 3),
        ({"SUPERVISE_RANK": "1", "SLURM_PROCID": "3", "RANK": "9"}, 1),
        ({"SLURM_PROCID": "0", "RANK": "9", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "x"}, 9),
        ({"SLURM_PROCID": "0", "RANK": "9", "TORCHELASTIC_RUN_ID": "x"}, 0),
        ({"SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "4"}, 4),
        ({"SLURM_PROCID": "0", "PMI_RANK": "4"}, 4),
        ({"RANK": "2"}, 2),
        ({"RANK": "two"}, None),
        ({}, None),
    ],
)
def test_the_rank_is_the_innermost_launchers(environment: dict[str, str], rank: int | None) -> None:
    """torchrun, mpirun and hydra know their ranks better than Slurm, which counts the launcher."""
    assert layout.rank_of(environment) == rank
