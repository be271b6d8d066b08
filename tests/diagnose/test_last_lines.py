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
