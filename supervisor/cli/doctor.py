"""`supervise doctor [--job [SBATCH OPTIONS] | --security]`: what works here, what it costs, how to mend it."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from supervisor.cli.answer import json_answer
from supervisor.cli.checkpoint_look import sentence_on
from supervisor.cli.exit_codes import ExitCode
from supervisor.cli.off_switch import switched_off
from supervisor.doctor import screen, security
from supervisor.doctor.ask_slurm import ask_slurm
from supervisor.doctor.checks.nodes import is_usable
from supervisor.doctor.checks.table import examine
from supervisor.doctor.finding import Finding, Level, of_level
from supervisor.doctor.look_files import look_files, look_root
from supervisor.doctor.look_machine import look_machine
from supervisor.doctor.look_own import look_own
from supervisor.doctor.place import Place
from supervisor.doctor.sbom import components, cyclonedx
from supervisor.doctor.security import SecuritySeen
from supervisor.doctor.slurm_text import ports
from supervisor.doctor.try_folder import try_folder
from supervisor.errors import UsageError
from supervisor.ledger.run_folder import base_folder
from supervisor.model.base import plain
from supervisor.settings_resolve import from_environment, from_files, from_options, resolve

if TYPE_CHECKING:
    from supervisor.doctor.job.answers import JobOutcome

_CHECKPOINT_S: Final = 5.0
_PATIENCE_S: Final = 300.0
_WANTED_NODES: Final = 2


@click.command(
    name="doctor",
    context_settings={"ignore_unknown_options": True},
    help=(
        "What works on this cluster, what is limited, what that costs and how to mend it. Needs no root, installs and "
        "changes nothing, and asks Slurm a handful of questions. --job submits a test job of two nodes and at most two "
        "minutes, with the options for sbatch that follow: supervise doctor --job -p gpu --gpus-per-node=1. "
        "Exit code 0: usable, 1: not usable, 5: no Slurm here; with --security 1: others can change a file of ours."
    ),
)
@click.option("--job", is_flag=True, help="submit a small test job too; what follows is given to sbatch")
@click.option(
    "--security", "is_security", is_flag=True, help="ports, files, what root runs, what leaves the host, SBOM"
)
@click.option("--patience-s", type=click.FloatRange(1), default=_PATIENCE_S, metavar="S", help="in the queue; 300")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[SBATCH OPTIONS]")
@click.pass_context
def command(
    ctx: click.Context, *, job: bool, is_security: bool, patience_s: float, as_json: bool, options: tuple[str, ...]
) -> None:
    """Look, and tell."""
    as_json = as_json or bool(getattr(ctx.obj, "json", False))
    given: dict[str, str] = getattr(ctx.obj, "settings", {})
    if options and not job:
        raise UsageError(f"{options[0]}: options for sbatch follow --job, as in `supervise doctor --job -p gpu`")
    if is_security:
        ctx.exit(_tell_security(given, as_json=as_json))
    place = _place(given, options)
    findings, calls, left = examine(place), place.slurm.calls, "Nothing was installed or changed"
    if job and not of_level(findings, Level.FAIL):
        findings, outcome = _with_job(place, findings, options, patience_s)
        calls += outcome.calls
        left = (
            f"The folder of the test job is kept: {outcome.kept}" if outcome.kept else "The test job has left nothing"
        )
    code = _code(findings, place)
    if as_json:
        print(_json(findings, place, calls=calls, code=code))
    else:
        print(f"{screen.conclusion(findings)} {left}; {calls} Slurm calls made.")
        print("\n".join(screen.rows(findings)))
    ctx.exit(code)


def _place(given: dict[str, str], options: Sequence[str]) -> Place:
    """Folders first: they are tried in processes of their own, which are forked while no loop runs."""
    folder = try_folder(base_folder(Path.cwd(), os.environ))
    slurm = asyncio.run(ask_slurm(options))
    own = look_own(given, slurm.config.get("ClusterName", ""))
    look = sentence_on(own.checkpoint, _CHECKPOINT_S)
    return Place(
        slurm=slurm,
        machine=look_machine(),
        folder=folder,
        own=msgspec.structs.replace(own, checkpoint_look=look, off=switched_off(os.environ, given)),
    )


def _with_job(
    place: Place, findings: list[Finding], options: Sequence[str], patience_s: float
) -> tuple[list[Finding], "JobOutcome"]:
    from supervisor.doctor.job.judge import with_job  # only where a job is wanted
    from supervisor.doctor.job.send import TestJob

    usable = sum(group.count for group in place.slurm.nodes if is_usable(group) and group.is_default)
    test = TestJob(
        base_folder(Path.cwd(), os.environ),
        options,
        nodes=1 if usable == 1 else _WANTED_NODES,
        ports=ports(place.slurm.config) or (0, 0),
        env=os.environ,
    )
    print(f"supervise: submitting {test.name}; it is cancelled if you interrupt this", file=sys.stderr, flush=True)
    outcome = asyncio.run(test.carried_out(patience_s))
    return with_job(findings, outcome), outcome


def _json(findings: list[Finding], place: Place, *, calls: int, code: ExitCode) -> str:
    return json_answer(
        conclusion=screen.conclusion(findings),
        blockers=screen.blockers(findings),
        cluster=place.slurm.config.get("ClusterName", ""),
        ends_with=code,
        findings=[plain(finding) for finding in findings],
        slurm_calls=calls,
        place=_without_config(place),
    )


def _without_config(place: Place) -> dict[str, Any]:
    """The configuration has folders and names of the site; `scontrol show config` tells it to whoever may see it."""
    return plain(msgspec.structs.replace(place, slurm=msgspec.structs.replace(place.slurm, config={})))


def _code(findings: list[Finding], place: Place) -> ExitCode:
    if "sbatch" in place.slurm.missing or "scontrol" in place.slurm.missing:
        return ExitCode.NO_SLURM
    return ExitCode.FAILED if of_level(findings, Level.FAIL) else ExitCode.OK


def _tell_security(given: dict[str, str], *, as_json: bool) -> ExitCode:
    """Ends with 1 where something of ours can be changed by others, as a script that guards a cluster wants it."""
    resolved = resolve([*from_files(os.environ), *from_environment(os.environ), *from_options(given)])
    settings = resolved.settings
    slurm = asyncio.run(ask_slurm())
    seen = SecuritySeen(
        ports=ports(slurm.config),
        transport=settings.transport,
        files=look_files(Path.cwd(), os.environ, settings.ledger),
        root_runs=look_root(),
        leaves=security.ways_out(settings.notify, resolved.origin.get("notify", "")),
        components=components(),
    )
    told, findings = security.conclusion(seen), security.findings(seen)
    code = ExitCode.FAILED if findings else ExitCode.OK
    if not as_json:
        print("\n".join([told, *security.lines(seen)]))
        return code
    found = plain(seen)
    found.pop("components", None)
    blockers = [f"{each.text}: {each.remedy}" for each in findings]
    cluster, sbom = slurm.config.get("ClusterName", ""), cyclonedx(seen.components)
    print(json_answer(conclusion=told, blockers=blockers, cluster=cluster, ends_with=code, security=found, sbom=sbom))
    return code
