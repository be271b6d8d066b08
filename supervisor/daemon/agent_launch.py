"""The command that brings agents up: one Slurm step for many nodes, or one process where there is no Slurm. Pure."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from supervisor.bus.stdout_hub import IN_NAME, OUT_NAME
from supervisor.daemon.job_environment import packed
from supervisor.daemon.surroundings import Surroundings
from supervisor.model.ids import NodeName
from supervisor.slurm import commands

# The step's own shell keeps the FIFO open for reading and writing, so that it never ends when a supervisor does.
_OVER_FILES = 'exec 3<>"$1" 4>>"$2"; shift 2; exec "$@" <&3 >&4'


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFiles:
    """What an agent is started from: three files on the shared filesystem, and no more."""

    boot: Path
    runtime: Path
    config: Path


def agent_command(
    around: Surroundings, nodes: Sequence[NodeName], files: AgentFiles, *, memory_mb: int, pipes: Path | None
) -> list[str]:
    """The argument list that starts agents on these nodes; `pipes`: the folder of the stdout transport."""
    program = [sys.executable, "-I", "-S", str(files.boot), str(files.runtime), "supervisor.agent", str(files.config)]
    if around.is_slurm:
        program = commands.agent_step(
            around.raw_job_id, nodes, program, memory_mb=memory_mb, stdin="none" if pipes is None else "all"
        )
    if pipes is None:
        return program
    return ["/bin/sh", "-c", _OVER_FILES, "sh", str(pipes / IN_NAME), str(pipes / OUT_NAME), *program]


def agent_environment(around: Surroundings, env: Mapping[str, str], job: Mapping[str, str]) -> dict[str, str]:
    """A clean environment, which carries the job's own: what steers the script's own sruns must not steer this step."""
    if not around.is_slurm:
        return {**env, "SLURMD_NODENAME": around.here}
    return packed(commands.clean_environment(env, job=around.raw_job_id), job)
