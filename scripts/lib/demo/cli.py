"""The command line of the demo."""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from product.packages import CannotInstall
from product.venv import CannotBuild
from story.job import Job, NotSubmitted
from story.run_folder import text_of
from story.waiting import Late
from testbed.api import Testbed
from testbed.errors import TestbedError

from demo import explain, local, story
from demo.outcome import Told, answer
from demo.screen import Screen, incident_text

_TERMINATED = 143
_FAULTS = (Late, NotSubmitted, CannotInstall, CannotBuild, TestbedError, OSError, subprocess.SubprocessError)
_LAST_LINES = 15


def main(argv: Sequence[str] | None = None) -> int:
    """0 only if the job completed with exactly the one incident that the demo caused."""
    arguments = _parser().parse_args(argv)
    reason = "--local was asked for" if arguments.local else why_not_a_cluster()
    if arguments.explain:
        print(explain.local_text(reason) if reason else explain.cluster_text())
        return 0
    signal.signal(signal.SIGTERM, _leave)
    screen = Screen()
    with socket.socket(socket.AF_UNIX) as lock:
        if not _is_the_only_one(lock):
            screen.say("another demo runs on this machine; wait for its end")
            return 1
        try:
            told, complaints = _on_this_machine(reason, screen) if reason else _on_a_cluster(screen, arguments.keep)
        except _FAULTS as exc:
            screen.say(f"the demo failed: {exc}")
            return 1
    return _finish(told, complaints, screen, as_json=arguments.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="demo",
        description="A training job on a throw-away Slurm, a node killed under it, and the incident on the screen.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, on stdout")
    parser.add_argument("--explain", action="store_true", help="only say what would be installed, made and run")
    parser.add_argument("--local", action="store_true", help="on this machine alone, without Slurm, as this user")
    parser.add_argument(
        "--keep", action="store_true", help="leave the cluster up (end it: scripts/testbed down --name demo)"
    )
    return parser


def why_not_a_cluster() -> str:
    """Why there can be no throw-away Slurm here; empty: there can."""
    if not Path("/etc/debian_version").exists() or shutil.which("apt-get") is None:
        return "This machine is no Debian"
    if os.geteuid() != 0:
        return "Only root can bring up a Slurm of several nodes"
    return ""


def _is_the_only_one(lock: socket.socket) -> bool:
    """The name is the kernel's: it is free again when this process ends, however that happens."""
    try:
        lock.bind(f"\0supervise-demo-{explain.NAME}")
    except OSError:
        return False
    return True


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """TERM ends the demo as Ctrl-C does: everything is taken down."""
    sys.exit(_TERMINATED)


def _on_a_cluster(screen: Screen, keep: bool) -> tuple[Told, list[str]]:  # noqa: FBT001  # one caller
    python = story.prepare(screen)
    bed = Testbed(explain.NAME)
    jobs: list[Job] = []
    try:
        told, complaints = story.play(bed, python, screen, jobs.append)
        if complaints:
            _explain(bed, jobs, screen)
    except _FAULTS:
        _explain(bed, jobs, screen)
        raise
    finally:
        if not keep:
            bed.down()
    return told, complaints


def _explain(bed: Testbed, jobs: Sequence[Job], screen: Screen) -> None:
    """What is known, before the testbed goes away with it."""
    for job in jobs:
        screen.show(job.story())
    for log in sorted(bed.logs.glob("*.log")):
        lines = text_of(log).splitlines()[-_LAST_LINES:]
        screen.show("\n".join([f"--- {log}", *lines]))
    screen.say(f"logs are in {bed.logs}, the run below {bed.home}; `scripts/demo --keep` leaves them for a look")


def _on_this_machine(reason: str, screen: Screen) -> tuple[Told, list[str]]:
    screen.say(f"{reason}: the same story on one machine, with a rank in the place of the node")
    python = local.prepare(screen)
    with tempfile.TemporaryDirectory(prefix="supervise-demo-") as name:
        folder = Path(name).resolve()
        try:
            return local.play(folder, python, screen)
        except _FAULTS:
            screen.show(local.story_text(folder))
            raise


def _finish(told: Told, complaints: Sequence[str], screen: Screen, *, as_json: bool) -> int:
    if told.incidents:
        screen.say("the incident")
        screen.show(incident_text(told))
    for text in complaints:
        screen.say(f"NOT AS EXPECTED: {text}")
    if as_json:
        print(json.dumps(answer(told)), flush=True)
    return 1 if complaints else 0
