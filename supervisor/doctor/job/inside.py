"""The script of the test job, on its first node: `python -I -m supervisor.doctor.job.inside FOLDER`.

First attempt: a task on each node, one of which kills itself. Second attempt, in the same allocation: what is left of
the first, one task that takes more memory than it may, and whether sbatch is allowed here.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from supervisor.doctor.job import answers
from supervisor.doctor.job.answers import Ask, AttemptLook, Done, MemoryTry
from supervisor.doctor.job.processes import has_agent
from supervisor.doctor.place import Tried
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.model.ids import NodeName
from supervisor.slurm import commands, parse
from supervisor.slurm.hostlist import expand
from supervisor.slurm.process import run

LIVE_S: Final = 55
"""The job ends by itself within a minute, whatever happens."""
LIMIT_MB: Final = 64
_STEP_S: Final = 25.0
_ASK_S: Final = 10.0
_SURVIVED: Final = "took it all"
# Only what Python itself brings: the limit must be met by what is taken, not by what is imported.
_HOG: Final = f"""\
taken = []
for _ in range({4 * LIMIT_MB}):
    taken.append(b"x" * (1 << 20))
print("{_SURVIVED}", flush=True)
"""
_MARKS: Final = ("SUPERVISE_RUN_ID", "SUPERVISE_ATTEMPT")
"""A step without them is none of the attempt's: its end must not be taken for a fault."""
_LIMITS: Final = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU")


def main(folder: Path) -> None:
    """One attempt."""
    signal.alarm(LIVE_S)
    nodes = expand(os.environ.get("SLURM_JOB_NODELIST", ""))
    job = os.environ.get("SLURM_JOB_ID", "")
    is_supervised = bool(os.environ.get("SUPERVISE_RUN_ID"))
    if not (folder / answers.ATTEMPT).exists():
        answers.write(folder, answers.ATTEMPT, AttemptLook(job_id=job, nodes=nodes, is_supervised=is_supervised))
        sys.exit(_probe(folder, "look", len(nodes)))
    _probe(folder, "after", len(nodes))
    answers.write(folder, answers.MEMORY, _tried_memory(job))
    ask = answers.read(folder, answers.ASK, Ask) or Ask()
    answers.write(folder, answers.DONE, Done(submits=asyncio.run(_tried_sbatch(ask.options))))


def _probe(folder: Path, word: str, nodes: int) -> int:
    address = asyncio.run(_own_address()) if word == "look" else ""
    module = [sys.executable, "-I", "-m", "supervisor.doctor.job.probe", word, str(folder), address, str(nodes)]
    step = ["srun", "-N", str(nodes), "-n", str(nodes), "--ntasks-per-node=1", "--input=none", *module]
    if word == "look":
        # In the place of this process: the failed task ends the step, and the step the script.
        return subprocess.call(step)
    return _called(step, os.environ).returncode


async def _own_address() -> str:
    """Where the broker would listen: the address that Slurm knows this node by."""
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]
    try:
        asked = commands.show_nodes([NodeName(node)])
        answer = await run(asked, deadline_s=_ASK_S, env=commands.clean_environment(os.environ))
        found = parse.parse_nodes(answer.checked().stdout)
        name = found[0].address or found[0].host_name or node
    except (SlurmFailed, NoSlurm, ValueError, IndexError):
        name = node
    try:
        return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return name


def _tried_memory(job: str) -> MemoryTry:
    """A task beside our agent takes four times what its step may have."""
    node = os.environ.get("SLURMD_NODENAME", "")
    env = {name: value for name, value in os.environ.items() if name not in {*_MARKS, *_LIMITS}}
    where = ["-w", node] if node else []
    step = ["srun", "-N1", "-n1", *where, f"--mem={LIMIT_MB}", "--input=none", sys.executable, "-I", "-S", "-c", _HOG]
    done = _called(step, env)
    words = " ".join(done.stderr.decode(errors="replace").split())
    return MemoryTry(survived=_SURVIVED.encode() in done.stdout, has_agent=has_agent(job), words=words[:300])


async def _tried_sbatch(options: Sequence[str]) -> Tried:
    env = {**commands.clean_environment(os.environ), **_of_sbatch(os.environ)}
    argv = ["sbatch", "--test-only", *options, "-t1", "--wrap", "true"]
    try:
        answer = await run(argv, deadline_s=_ASK_S, env=env)
    except (SlurmFailed, NoSlurm) as exc:
        return Tried(is_accepted=False, words=str(exc))
    return Tried(is_accepted=answer.code == 0, words=" ".join((answer.stderr or answer.stdout).split()))


def _of_sbatch(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith("SBATCH_")}


def _called(argv: Sequence[str], env: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes]":
    """Its output is kept from the job's, where the supervisor would read of a failed task."""
    try:
        return subprocess.run(argv, env=env, capture_output=True, timeout=_STEP_S, check=False)
    except subprocess.TimeoutExpired as exc:
        return subprocess.CompletedProcess(argv, 1, exc.stdout or b"", exc.stderr or b"timed out")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
