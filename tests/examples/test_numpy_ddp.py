"""The numpy example: deterministic, resumable, and stuck when a peer is gone."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from supervisor.beat import supervise_beat
from supervisor.checkpoint.find import find_newest
from tests.examples.launch import DEADLINE_S, EXAMPLES, free_port, numpy_ranks, run, run_numpy

_STEPS = 30


def _options(folder: Path) -> list[str]:
    return ["--steps", str(_STEPS), "--checkpoint", str(folder / "ck"), "--out", str(folder / "out")]


def _result(folder: Path) -> str:
    result = json.loads((folder / "out" / "result.json").read_text())
    assert result["step"] == _STEPS
    return str(result["sha256"])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("undisturbed")
    run_numpy(2, *_options(folder))
    return _result(folder)


@pytest.mark.parametrize("ranks", [1, 3, 5])
def test_the_number_of_ranks_changes_nothing(tmp_path: Path, undisturbed: str, ranks: int) -> None:
    """The result is equal to the last bit on any number of ranks."""
    run_numpy(ranks, *_options(tmp_path))
    assert _result(tmp_path) == undisturbed


def test_an_interruption_changes_nothing(tmp_path: Path, undisturbed: str) -> None:
    """A rank is killed in the middle; the next launch goes on from the newest checkpoint to the same result."""
    with numpy_ranks(2, *_options(tmp_path), "--kill-at", "1:25") as started:
        assert started[1].wait(DEADLINE_S) == -9
    newest = find_newest(str(tmp_path / "ck"), deadline_s=DEADLINE_S).chosen
    assert newest is not None
    assert newest.step == 20
    assert "resumed from" in run_numpy(3, *_options(tmp_path), SUPERVISE_ATTEMPT="2")
    assert _result(tmp_path) == undisturbed
    steps = [line.split()[:2] for line in (tmp_path / "out" / "steps.log").read_text().splitlines()]
    assert [int(step) for step, attempt in steps if attempt == "2"] == list(range(21, _STEPS + 1))


def test_supervise_chooses_where_to_resume(tmp_path: Path, undisturbed: str) -> None:
    """SUPERVISE_RESUME_FROM counts before the newest in the folder."""
    run_numpy(2, *_options(tmp_path))
    chosen = tmp_path / "ck" / "step-000010.npz"
    output = run_numpy(2, *_options(tmp_path), SUPERVISE_RESUME_FROM=f"file://{chosen}", SUPERVISE_ATTEMPT="2")
    assert f"resumed from {chosen} at step 10" in output
    assert _result(tmp_path) == undisturbed


def test_ranks_wait_for_ever_for_a_peer_that_is_gone(tmp_path: Path) -> None:
    """When one rank has failed, the others neither end nor go on."""
    with numpy_ranks(3, *_options(tmp_path), "--raise-at", "1:15") as started:
        assert started[1].wait(DEADLINE_S) == 1
        log = tmp_path / "out" / "steps.log"
        deadline = time.monotonic() + DEADLINE_S
        while len(log.read_text().splitlines()) < 15 and time.monotonic() < deadline:
            time.sleep(0.02)
        for rank in (0, 2):
            with pytest.raises(subprocess.TimeoutExpired):
                started[rank].wait(0.5)
        assert len(log.read_text().splitlines()) == 15


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        (["--raise-at", "0:3"], 1, "KeyError: 'loss_mask'"),
        (["--oom-at", "0:3"], 1, "torch.OutOfMemoryError: CUDA out of memory"),
        (["--segfault-at", "0:3"], -11, ""),
        (["--exit-at", "0:3", "--exit-code", "9"], 9, ""),
        (["--kill-at", "0:3"], -9, ""),
    ],
)
def test_faults(tmp_path: Path, fault: list[str], code: int, message: str) -> None:
    """Each fault ends its rank in its own way, in the attempt it is meant for."""
    options = [*_options(tmp_path), *fault, "--fault-attempt", "1"]
    with numpy_ranks(1, *options) as started:
        error = started[0].communicate(timeout=DEADLINE_S)[1]
        assert started[0].returncode == code
    assert message in error
    run_numpy(1, *options, SUPERVISE_ATTEMPT="2")


def test_ranks_beat(tmp_path: Path) -> None:
    """Where supervise_beat can be imported, each rank's page holds its last step."""
    pages = tmp_path / "pages"
    run_numpy(
        2,
        *_options(tmp_path),
        PYTHONPATH=str(Path(supervise_beat.__file__).parent),
        SUPERVISE_BEAT_DIR=str(pages),
        SUPERVISE_RUN_ID="r",
        SUPERVISE_ATTEMPT="1",
    )
    for rank in range(2):
        page = (pages / f"1-{rank}").read_bytes()
        assert supervise_beat.RECORD.unpack_from(page, supervise_beat.RECORD_AT)[1] == _STEPS


def test_the_local_launcher_has_the_failed_ranks_exit_code(tmp_path: Path) -> None:
    """`local.sh` runs the same without Slurm and ends as its ranks end."""
    script = EXAMPLES / "numpy_ddp" / "local.sh"
    env = {"PYTHON": sys.executable, "MASTER_PORT": str(free_port())}
    assert run(["bash", script, "2", *_options(tmp_path)], **env).returncode == 0
    failed = run(["bash", script, "1", *_options(tmp_path), "--steps", "40", "--exit-at", "0:35"], **env)
    assert failed.returncode == 7
