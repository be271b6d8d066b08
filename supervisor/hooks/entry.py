"""One hook from its environment to its exit code: whom it trusts, its deadline, and what it says."""

import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from supervisor.hooks import trust
from supervisor.hooks.bounded import gather
from supervisor.hooks.job import Job, clean, job_of
from supervisor.hooks.reading import Marks, Reading, read
from supervisor.hooks.settings import HookSettings, settings_of
from supervisor.hooks.spool import Spool, SpoolUnsafe, opened
from supervisor.model.base import Fact
from supervisor.model.node import Hook, NodeFinding, NodeRecord

_READINGS_SHARE: Final = 0.6
"""Of the deadline, for what is read; the rest is for Slurm's answer to a drain and for the record."""
_RECORD_S: Final = 0.5
"""Of the deadline, kept for the record."""
_MESSAGE: Final = 500


class Ended(Fact, frozen=True, kw_only=True):
    """How a hook ended: what slurmd is answered, what a person is told, and the record if there is one."""

    exit_code: int = 0
    message: str = ""
    record: NodeRecord | None = None


def run_hook(
    hook: Hook, environment: Mapping[str, str], *, config: str, deadline_s: float, dry_run: bool = False
) -> Ended:
    """Within the deadline, whatever hangs: all of it is done by a process that can be left behind."""
    work = partial(_encoded, hook, dict(environment), config=config, deadline_s=deadline_s, dry_run=dry_run)
    answer = gather({hook: work}, deadline_s=deadline_s, own_group=True)[hook]
    if answer.value is None:
        return Ended(message=clean(f"{hook}: {answer.complaint}", _MESSAGE))
    return msgspec.json.decode(answer.value, type=Ended)


def _encoded(hook: Hook, environment: Mapping[str, str], *, config: str, deadline_s: float, dry_run: bool) -> bytes:
    os.umask(0o077)
    return msgspec.json.encode(_run(hook, environment, config=config, deadline_s=deadline_s, dry_run=dry_run))


def _run(hook: Hook, environment: Mapping[str, str], *, config: str, deadline_s: float, dry_run: bool) -> Ended:
    if why := distrust(config):
        return Ended(message=clean(f"{hook} does not run: {why}", _MESSAGE))
    settings, complaints = _settings(config)
    if not settings.enabled:
        return Ended(message=f"{hook}: switched off in {clean(config)}")
    job = job_of(environment)
    # SLURM_CONF is slurmd's own word, and still nothing that a user could have written is handed on to a command.
    conf = settings.slurm_conf or environment.get("SLURM_CONF", "")
    conf = "" if trust.complaint(conf) else conf
    try:
        with opened(settings.spool.replace("%n", job.node), keep_bytes=settings.keep_bytes, dry_run=dry_run) as spool:
            return _of(hook, settings, job, spool, complaints, deadline_s=deadline_s, conf=conf, dry_run=dry_run)
    except (SpoolUnsafe, OSError) as exc:
        return Ended(message=clean(f"{hook} does not run: {exc}", _MESSAGE))


def _of(
    hook: Hook,
    settings: HookSettings,
    job: Job,
    spool: Spool,
    complaints: tuple[str, ...],
    *,
    deadline_s: float,
    conf: str,
    dry_run: bool,
) -> Ended:
    until = time.monotonic() + deadline_s

    def look(before: Marks) -> Reading:
        found = read(
            before,
            settings=settings,
            job=job,
            deadline_s=deadline_s * _READINGS_SHARE,
            with_strays=hook == "epilog",
        )
        return found.also_unread(complaints)

    if hook == "health":
        from supervisor.hooks.health import health  # each hook loads what it needs, and no more

        def drain(finding: NodeFinding) -> str:
            left_s = until - time.monotonic() - _RECORD_S
            return _drain(finding, job, settings, conf=conf, within_s=left_s, dry_run=dry_run)

        return Ended(record=health(settings, job, spool, look, drain))
    from supervisor.hooks import around_jobs  # as above

    act = around_jobs.prolog if hook == "prolog" else around_jobs.epilog
    outcome = act(settings, job, spool, look)
    return Ended(exit_code=outcome.exit_code, record=outcome.record)


def _drain(finding: NodeFinding, job: Job, settings: HookSettings, *, conf: str, within_s: float, dry_run: bool) -> str:
    from supervisor.hooks import drain  # brings asyncio: only where a node is really to be drained

    if dry_run:
        return f"would drain: {drain.reason_for(finding)}"
    return drain.drain(finding, job.node, settings, slurm_conf=conf, within_s=within_s)


def distrust(config: str) -> str:
    """Why this process must not go on as root; empty: it may."""
    if os.geteuid() != 0:
        return "it must be root to see what a hook must see"
    if not (sys.flags.isolated and sys.flags.ignore_environment):
        return "start it isolated, as `python -I -m supervisor.cli.main hook ...`: else others could bring their code"
    own = trust.own_files()
    if os.path.lexists(config):
        own.append(config)
    return "; ".join(trust.complaints(own)[:3])


def _settings(config: str) -> tuple[HookSettings, tuple[str, ...]]:
    try:
        with open(config, encoding="utf-8") as file:  # noqa: PTH123 - the path was looked at as it is
            return settings_of(file.read(1_000_000))
    except FileNotFoundError:
        return HookSettings(), ()
    except (OSError, UnicodeDecodeError) as exc:
        return HookSettings(), (clean(f"settings: {exc}", 200),)
