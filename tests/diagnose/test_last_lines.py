"""A program that no signature knows: what its last lines mean in the system's words or its own."""

from pathlib import Path

import pytest

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.model.verdict import Verdict


def _said(folder: Path, text: str) -> Verdict:
    log = folder / "job.out"
    log.write_text(f"chunk 11\nchunk 12\n{text}\n")
    return diagnose(read_bundle(log))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("fastgrid: alloc_grid: Cannot allocate memory", "host_oom"),
        ("fastgrid: pthread_create: Resource temporarily unavailable", "process_limit"),
        ("fastgrid: /scratch/x: Transport endpoint is not connected", "shared_fs_outage"),
        ("fastgrid: licence for module flow is down", "license_unavailable"),
        ("fastgrid: /proj/x/run.log: Permission denied", "permission_denied"),
        ("fastgrid: peer 12: No route to host", "fabric_misconfigured"),
        ("fastgrid: grid.nml: No such file or directory", "file_not_found"),
        ("CRITICAL: Could not find file /proj/x/contigs.fa", "file_not_found"),
        ("fastgrid: File given doesn't exist or the path is wrong: s041.grb", "file_not_found"),
        ("fastgrid: unknown host n7", "dns_failure"),
        ("fastgrid: link to n7: packet loss 2.1%", "fabric_packet_loss"),
        ("fastgrid: database on port 5432: Connection timed out", "remote_service_unreachable"),
    ],
)
def test_the_systems_own_words(line: str, cause: str, tmp_path: Path) -> None:
    """They mean the same whoever passes them on, and are not believed much."""
    said = _said(tmp_path, line)
    assert said.cause == cause, said.evidence
    assert said.confidence < 0.8


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("driver: preempted, state saved", "preemption"),
        ("Broadcast message: maintenance starts in 5 minutes, all jobs will be terminated", "maintenance"),
        ("driver: time limit in 120 s, saving and handing over to the next link", "requeue_before_walltime"),
        ("[trap] SIGUSR1: checkpointing and leaving", "walltime_warning_signal"),
        ("driver: max_time of 4 h reached at step 12000, restart written, stopping", "walltime"),
        ("driver: interrupted by the user", "user_stop"),
    ],
)
def test_a_program_says_why_it_ends(line: str, cause: str, tmp_path: Path) -> None:
    """In its own words."""
    assert _said(tmp_path, line).cause == cause


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: /proj/x/old.log: Permission denied",
        "+ rm: cannot remove 'x': No such file or directory",
        "driver: when the time limit is reached a restart is written",
        "wall_time=240 max_time=230 stop=save",
    ],
)
def test_settings_and_warnings_tell_nothing(line: str, tmp_path: Path) -> None:
    """What is harmless, may come, or is a setting."""
    assert _said(tmp_path, line).cause == "unattributed"


@pytest.mark.parametrize(
    "line",
    [
        "STOP-ALL: emission table and grid do not fit",
        "ERROR in /proj/x/src/ice_grid.F90 at line 411",
        "Abort with message: tracer 12 has no parent",
        "FATAL: cannot place 7 subdomains on 4 devices",
        "fatal: block 12 of tracers.nml is never closed",
        "Error in fit_model(tab, lambda) : 'lambda' is needed",
        "Plugin error from tracerkit: no sample is left",
        "panic: lookup table holds no level",
        "Died at split_levels.pl line 31.",
        "make: *** [Makefile:14: levels] Error 2",
        "error: process didn't exit successfully: `target/release/levels` (code 101)",
        "  what():  grid has no southern edge",
        'Exception in thread "main" org.levels.NoEdge',
        "DRIVER_ABORT: layer 4 has no mass",
        "*** input error(s)",
        "TILE run failed, please examine the log for details:",
        "Stopping Program from Node:    3",
        "*** Fatal Exception *** core dump ***",
    ],
)
def test_a_program_ends_itself(line: str, tmp_path: Path) -> None:
    """It says so, and no exit code is at hand: the program's own failure, and hardly more than a guess."""
    said = _said(tmp_path, line)
    assert said.cause == "not_converged"
    assert said.confidence < 0.5


@pytest.mark.parametrize("line", ["relative error: 0.0021 in block 7", "Error bars are one sigma"])
def test_an_error_that_is_measured_ends_nothing(line: str, tmp_path: Path) -> None:
    """Words of numerics stand at the end of good runs, too."""
    assert _said(tmp_path, line).cause == "unattributed"


@pytest.mark.parametrize(
    "line",
    [
        " - Finish Gridlib calculation at :  Tue Mar 3 10:11:12 CET 2026",
        "Calculation ended 03/03/2026 at 10:11:12",
        "Program Time: 00:12:00 (hh:mm:ss) Elapsed Time",
        "The results have been saved to:",
        "Total running time           :  6hr. 2min. 34sec.",
        "2026-03-01 10:11:12,041 Finished!",
        "Finished : Sun Mar  1 10:11:12 CET 2026",
        "[2026-03-01 10:11:12] tileqc   [INFO   ]  TileQC complete",
        "DRIFT_CHECK_DONE",
        "Total calculation time: 812.4 seconds\nEnd likelihood: -812.3",
        "Total time taken by the run is about 13.4 minutes",
        "Thank you for using TileMaker!",
        "End of the simulation!",
        "Solver Exit\nAll convergence criteria satisfied.",
        "Percentiles saved.",
        "-: shown if the operator can't be optimized\nRun time: 12 s",
        (
            "========   End of simulation   ========\nSolver time: 81.2 s (Failed: 12.5; 1.6%)\n"
            "Error summary:\nErrors      0"
        ),
    ],
)
def test_a_program_tells_when_it_ended(line: str, tmp_path: Path) -> None:
    """With the time of its end, or how long it took: it came to its end."""
    assert _said(tmp_path, line).cause == "completed"


def test_a_time_after_trouble_is_no_good_end(tmp_path: Path) -> None:
    """Programs tell how long they took after a failure, too."""
    assert _said(tmp_path, "cannot place 7 subdomains\nTotal running time: 12 s").cause != "completed"


_FRAMES = {
    "Java": "\n".join(f"\tat org.levels.Tile.read{n}(Tile.java:{n})" for n in range(20)),
    "Intel Fortran": "\n".join(f"levels.x   0000000000{n:06X}  Unknown    Unknown  Unknown" for n in range(20)),
    "Julia": "\n".join(f" [{n}] read_tile(path::String)\n   @ Levels ~/levels/src/tile.jl:{n}" for n in range(1, 12)),
    "many ranks": "\n".join(["leaving the tile loop"] * 20),
}


@pytest.mark.parametrize("frames", _FRAMES.values(), ids=list(_FRAMES))
def test_a_complaint_is_read_above_its_frames(frames: str, tmp_path: Path) -> None:
    """Tracebacks of every language, and what all ranks repeat, do not hide the words above them."""
    assert _said(tmp_path, f"FATAL: cannot place 7 subdomains on 4 devices\n{frames}").cause == "not_converged"


def test_variables_of_a_library_are_no_other_ranks(tmp_path: Path) -> None:
    """A module of collective variables does not wait for anybody."""
    assert _said(tmp_path, "FATAL ERROR: Error in the collective variables module").cause == "not_converged"


def test_one_part_that_is_done_is_no_end(tmp_path: Path) -> None:
    """More may follow."""
    assert _said(tmp_path, "block 13 done").cause == "unattributed"


def test_what_we_said_between_two_attempts_is_no_evidence(tmp_path: Path) -> None:
    """The file that we start again from is not the sample that failed twice: the program's own slip stays its own."""
    crash = (
        'Traceback (most recent call last):\n  File "/h/train.py", line 9, in <module>\n    train()\n'
        '  File "/h/train.py", line 5, in collate\n    return batch["mask"]\nKeyError: \'mask\'\n'
    )
    text = (
        f"step 10 loss 0.5\nstep 20 loss 0.4\n{crash}"
        "supervise: attempt 2 starts on n1, from step 20 (/h/ck/step-20.npz)\nresumed from /h/ck/step-20.npz\n"
    )
    said = _said(tmp_path, text + crash)
    assert said.cause == "python_exception", said.evidence
