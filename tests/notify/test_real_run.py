"""A real supervisor tells a real server, and a server that hangs changes nothing for the job."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.notify.conftest import Server


@pytest.mark.parametrize("hangs", [False, True], ids=["answers", "hangs"])
def test_a_run_that_fails_is_told_once(tmp_path: Path, checkout: Path, server: Server, *, hangs: bool) -> None:
    """The exit code is the command's own."""
    server.hangs = threading.Event() if hangs else None
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SUPERVISE", "SLURM"))}
    env = {**inherited, "HOME": str(tmp_path), "PYTHONPATH": str(checkout)}
    words = ["--notify", server.url, "--notify-on", "all", "run", "--", "sh", "-c", "echo hi; exit 3"]
    done = subprocess.run(
        [sys.executable, "-m", "supervisor.cli.main", *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (3, "hi\n")
    ((_, _, body),) = server.got
    told = json.loads(body)
    assert told["kind"] == "stopped"
    assert told["title"].startswith(f"supervise: run {told['run_id']} STOPPED, needs you: ")
    folder = tmp_path / ".supervise" / told["run_id"]
    assert json.loads((folder / "notified.json").read_text())["sent"]
    log = (folder / "supervisor.log").read_text()
    assert ("notify.cut" if hangs else "notify.sent") in log
    assert "secret-part" not in log
