"""The few questions to Slurm: one after the other, each counted and with a deadline. Nothing is submitted."""

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Final

from supervisor.doctor import slurm_text
from supervisor.doctor.place import SlurmSeen, Tried
from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.slurm.commands import clean_environment, show_config
from supervisor.slurm.process import Answer, CallCount, run

NEEDED: Final = ("sbatch", "scontrol", "scancel", "srun", "squeue", "sinfo")
ASK_S: Final = 10.0
"""For one question: a busy slurmctld makes its users wait."""


class _Asker:
    """Asks, counts, and keeps what was not answered."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = clean_environment(env)
        # sbatch obeys SBATCH_ACCOUNT and its sisters, and so does the test job.
        self.submit_env = {**self.env, **{name: env[name] for name in env if name.startswith("SBATCH_")}}
        self.count = CallCount()
        self.unanswered: list[str] = []

    async def text(self, argv: Sequence[str]) -> str:
        """Its stdout; empty where there is no answer."""
        try:
            return (await self._run(argv, self.env)).checked().stdout
        except (SlurmFailed, NoSlurm) as exc:
            said = exc.stderr if isinstance(exc, SlurmFailed) else ""
            self.unanswered.append(f"{argv[0]}: {' '.join(said.split())}" if said else str(exc))
            return ""

    async def tried(self, argv: Sequence[str]) -> Tried:
        """Whether it was accepted, and its words."""
        env = self.submit_env if argv[0] == "sbatch" else self.env
        try:
            answer = await self._run(argv, env)
        except (SlurmFailed, NoSlurm) as exc:
            return Tried(is_accepted=False, words=str(exc))
        return Tried(is_accepted=answer.code == 0, words=" ".join((answer.stderr or answer.stdout).split()))

    async def _run(self, argv: Sequence[str], env: Mapping[str, str]) -> Answer:
        return await run(argv, deadline_s=ASK_S, env=env, count=self.count)


async def ask_slurm(options: Sequence[str] = (), env: Mapping[str, str] = os.environ) -> SlurmSeen:
    """Slurm as seen from here. `options` are the user's for sbatch. A controller that is away is asked once only."""
    missing = tuple(name for name in NEEDED if shutil.which(name, path=env.get("PATH", os.defpath)) is None)
    if "scontrol" in missing or "sbatch" in missing:
        return SlurmSeen(missing=missing)
    asker = _Asker(env)
    client = await asker.text(["sbatch", "--version"])
    config = slurm_text.parse_config(await asker.text(show_config()))
    if "SLURM_VERSION" not in config:
        why = asker.unanswered[-1] if asker.unanswered else "`scontrol show config` says nothing"
        return SlurmSeen(missing=missing, client=client.strip(), complaint=why, calls=asker.count.total)
    partitions = slurm_text.parse_partitions(await asker.text(["scontrol", "-a", "-o", "show", "partition"]))
    nodes = slurm_text.parse_sinfo(await asker.text(["sinfo", "-h", "-o", slurm_text.SINFO_FORMAT]))
    submits = await asker.tried(["sbatch", "--test-only", *options, "-t1", "--wrap", "true"])
    accounts = None
    if slurm_text.value(config, "AccountingStorageType"):
        accounts = await asker.tried(["sacct", "-X", "-n", "-P", "-S", "now-1minutes", "-o", "JobID"])
    return SlurmSeen(
        missing=missing,
        client=client.strip(),
        config=config,
        partitions=partitions,
        nodes=nodes,
        unanswered=tuple(asker.unanswered),
        submits=submits,
        accounts=accounts,
        calls=asker.count.total,
    )
