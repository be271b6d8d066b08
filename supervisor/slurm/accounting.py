"""Asking Slurm's accounting for the jobs of a window of time: a few slow questions, none of them urgent."""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from supervisor.errors import NoSlurm, SlurmFailed, SlurmTimeout, SlurmTooMuch
from supervisor.model.accounts import AccountedJob, Accounts
from supervisor.model.ids import JobId
from supervisor.slurm.client import Runner
from supervisor.slurm.commands import clean_environment
from supervisor.slurm.parse_accounting import fields_of, parse_accounting
from supervisor.slurm.process import CallCount, run

ACCOUNTING_DEADLINE_S: Final = 300.0
"""For all questions together. A slurmdbd that hangs lets sacct wait for 45 s and more."""
SLICE_S: Final = 7 * 86_400.0
"""Asked for at once, as long as the answer has room: sites limit the range of one question."""
_SHORTEST_S: Final = 3_600.0
"""Of an hour an answer has room for a hundred thousand jobs that lived in it."""
_AWAY: Final = ("Problem talking to the database", "slurm_persist_conn_open", "Connection refused")
_OFF: Final = "accounting storage is disabled"
_REFUSED: Final = ("Access/permission denied", "MaxQueryTimeRange", "Range of the query")
_TOO_MANY: Final = "Slurm's accounting has too many jobs in an hour"
_OTHERWISE: Final = "or read a ledger instead (settings: ledger)"


def list_fields() -> list[str]:
    """The fields that this sacct knows: no question to the database."""
    return ["sacct", "--helpformat"]


def list_jobs(
    since: float,
    until: float,
    *,
    separator: str,
    fields: Sequence[str],
    all_users: bool,
    clusters: Sequence[str] = (),
) -> list[str]:
    """Every row of the jobs that lived in the window, without steps. Its times are in UTC: so must sacct's zone be.

    `all_users` shows what PrivateData allows this user to see.
    """
    # "Multi-character" separators are allowed by every release; see `parse_accounting` for why it is a secret.
    argv = ["sacct", "--parsable2", f"--delimiter={separator}", "--noheader", "--duplicates", "--allocations"]
    argv += [f"--starttime={_utc(since)}", f"--endtime={_utc(until)}", f"--format={','.join(fields)}"]
    if all_users:
        argv.append("--allusers")
    return [*argv, f"--clusters={','.join(clusters)}"] if clusters else argv


async def read_accounts(
    since: float,
    until: float,
    *,
    all_users: bool,
    clusters: Sequence[str] = (),
    deadline_s: float = ACCOUNTING_DEADLINE_S,
    runner: Runner = run,
    environment: Mapping[str, str] | None = None,
) -> Accounts:
    """All that accounting keeps of the window, asked in slices, each row once; in shorter ones where a site is busy.

    Raises `SlurmFailed` (`SlurmTimeout` at the deadline) where it keeps nothing, is away, or sacct is missing.
    """
    env = clean_environment(os.environ if environment is None else environment) | {"TZ": "UTC"}
    ends = time.monotonic() + deadline_s
    found: dict[tuple[str, JobId, float | None, float], AccountedJob] = {}
    problems: dict[str, None] = {}
    fields = fields_of(await _asked(list_fields(), deadline_s, runner, env))
    begin, longest = since, SLICE_S
    while begin < until:
        end = min(until, begin + longest)
        separator = f"|{secrets.token_hex(4)}|"
        argv = list_jobs(begin, end, separator=separator, fields=fields, all_users=all_users, clusters=clusters)
        try:
            text = await _asked(argv, ends - time.monotonic(), runner, env)
        except SlurmTooMuch:
            if end - begin <= _SHORTEST_S:
                raise
            longest = max(_SHORTEST_S, (end - begin) / 2)
            continue
        answer = parse_accounting(text, separator, fields)
        # What lived in two slices comes twice, the second time with its newest state.
        found |= {(job.cluster, job.raw_id, job.submitted_at, job.started_at): job for job in answer.jobs}
        problems |= dict.fromkeys(answer.problems)
        begin = end
    return Accounts(jobs=tuple(found.values()), problems=tuple(problems))


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"


async def _asked(argv: Sequence[str], deadline_s: float, runner: Runner, env: Mapping[str, str]) -> str:
    try:
        answer = await runner(argv, deadline_s=max(0.0, deadline_s), env=env, count=CallCount())
        return answer.checked().stdout
    except NoSlurm as exc:
        raise SlurmFailed(f"sacct is not on PATH: load Slurm's module, {_OTHERWISE}") from exc
    except SlurmTimeout as exc:
        raise SlurmTimeout(
            f"Slurm's accounting gave no answer in time ({exc}): ask for a shorter window, see whether slurmdbd is "
            f"well (`sacctmgr show cluster`), {_OTHERWISE}"
        ) from exc
    except SlurmTooMuch as exc:
        raise SlurmTooMuch(f"{_TOO_MANY} ({exc}): ask for one cluster alone (--cluster), {_OTHERWISE}") from exc
    except SlurmFailed as exc:
        raise SlurmFailed(_remedy(exc), code=exc.code, stderr=exc.stderr) from exc


def _remedy(failed: SlurmFailed) -> str:
    words = f"{failed.stderr} {failed}"
    if _OFF in words:
        return (
            f"this cluster keeps no accounts (AccountingStorageType): ask its administrator for slurmdbd, {_OTHERWISE}"
        )
    if any(sign in words for sign in _AWAY):
        return f"Slurm's accounting database is away ({failed}): try again when slurmdbd answers, {_OTHERWISE}"
    if any(sign in words for sign in _REFUSED):
        return f"Slurm's accounting refuses ({failed}): ask for your own jobs or a shorter window, {_OTHERWISE}"
    return f"Slurm's accounting cannot be read ({failed}): try the command by hand, {_OTHERWISE}"
