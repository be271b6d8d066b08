"""Send a successor from inside a job. A submission that was not answered is looked for before anybody tries again."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from supervisor.errors import RunFolderUnusable, SlurmFailed, SlurmTimeout
from supervisor.model.ids import JobId
from supervisor.slurm.commands import clean_environment
from supervisor.slurm.process import Answer, CallCount, run, shielded
from supervisor.slurm.submit import Outcome, job_of_folder, queue_query
from supervisor.slurm.successor import Successor

LOOKS: Final = 3
LOOK_PAUSE_S: Final = 1.0
"""A job that was accepted at the last moment shows in the queue a little later."""


async def resubmit(
    successor: Successor,
    folder: Path,
    *,
    known: Sequence[JobId],
    deadline_s: float,
    look_deadline_s: float,
    look_first: bool = False,
    count: CallCount | None = None,
) -> JobId:
    """The id of the successor. `known` are the run's jobs so far, which the search for a lost one passes over.

    `look_first`: the order was given before and nobody heard the answer: the job that it made is found.

    Raises `SlurmFailed` where sbatch refused, or was not heard and no job is there: trying again is safe. Raises
    `SlurmTimeout` where nobody knows: a second submission might make a twin. Raises `RunFolderUnusable`.
    """
    if look_first and (found := await find_unheard(folder, known=known, deadline_s=look_deadline_s, count=count)):
        return found
    await asyncio.to_thread(_write, folder, successor.files)
    try:
        # Not shielded from the SIGTERM that ends this job: some shells take variables away whose names they do not like
        # (functions of bash), and the job would miss them. An sbatch that a signal ends counts as unheard.
        answer = await run(
            successor.argv, deadline_s=deadline_s, env=successor.environment, cwd=Path(successor.cwd), count=count
        )
    except SlurmTimeout as exc:
        return await _look(folder, known, look_deadline_s, count, exc)
    heard = Outcome(
        code=answer.code,
        stdout=answer.stdout.encode(),
        stderr=answer.stderr.encode(),
        is_cut_short=answer.code < 0,
    )
    if heard.job_id:
        return heard.job_id
    if heard.may_have_submitted or answer.code == 0:
        return await _look(folder, known, look_deadline_s, count, _refusal(answer))
    raise _refusal(answer)


async def _look(
    folder: Path, known: Sequence[JobId], deadline_s: float, count: CallCount | None, cause: SlurmFailed
) -> JobId:
    """The job that an unheard sbatch made; raises the cause where the queue shows none."""
    for again in range(LOOKS):
        await asyncio.sleep(LOOK_PAUSE_S if again else 0)
        found = await find_unheard(folder, known=known, deadline_s=deadline_s, count=count, before=f"{cause}; ")
        if found:
            return found
    raise SlurmFailed(f"{cause}; no job was made", code=cause.code, stderr=cause.stderr) from cause


async def find_unheard(
    folder: Path, *, known: Sequence[JobId], deadline_s: float, count: CallCount | None = None, before: str = ""
) -> JobId | None:
    """The job of the run that an unheard sbatch made; None: there is none. Raises `SlurmTimeout` where nobody knows."""
    query = shielded(queue_query())
    try:
        queue = await run(query, deadline_s=deadline_s, env=clean_environment(os.environ), count=count)
        return job_of_folder(queue.checked().stdout, folder, known=known)
    except SlurmFailed as exc:
        text = f"{before}whether a job was made is unknown, the queue gives no answer: {exc}"
        raise SlurmTimeout(text) from exc


def _refusal(answer: Answer) -> SlurmFailed:
    words = " ".join((answer.stderr or answer.stdout).split())[:500]
    return SlurmFailed(
        f'sbatch refused (exit {answer.code}) after {answer.took_s:.1f}s: "{words}"',
        code=answer.code,
        stderr=answer.stderr,
    )


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        fresh = folder / f"{name}.new"
        try:
            fresh.write_bytes(content)
            fresh.chmod(0o700)
            fresh.replace(folder / name)
        except OSError as exc:
            raise RunFolderUnusable(f"{folder / name} cannot be written: {exc.strerror}") from exc
