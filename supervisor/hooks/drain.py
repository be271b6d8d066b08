"""Taking this node out of service by Slurm: asked first, capped, marked as ours, and never against another's word."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.errors import NoSlurm, SlurmFailed
from supervisor.hooks.health import DRAINED
from supervisor.hooks.job import clean
from supervisor.hooks.settings import HookSettings
from supervisor.model.node import NodeFinding
from supervisor.slurm.process import run

PREFIX: Final = "[supervise]"
"""Of each reason that is ours."""
_FORMAT: Final = "%N|%R|%T|%H|%E"
_PARTS: Final = 5
_HOUR_S: Final = 3600.0
_CALLS: Final = 4
"""At most: two questions, a drain, and its taking back."""
_OUT: Final = ("drain", "down", "fail", "maint", "reboot", "power")
_REASON_CHARS: Final = 120
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node in one partition, as sinfo shows it."""

    name: str
    partition: str
    state: str
    since: float
    reason: str

    @property
    def is_out(self) -> bool:
        """Whether it takes no new jobs."""
        return any(word in self.state for word in _OUT)

    @property
    def is_ours(self) -> bool:
        """Whether we took it out."""
        return self.is_out and self.reason.startswith(PREFIX)


def rows_of(text: str) -> list[NodeRow]:
    """What `sinfo -N` printed; a reason may hold the separator itself."""
    found = []
    for line in text.splitlines():
        name, *rest = line.split("|", _PARTS - 1)
        if len(rest) == _PARTS - 1:
            partition, state, since, reason = rest
            at = float(since) if since.isdigit() else 0.0
            found.append(NodeRow(name=name, partition=partition, state=state.lower(), since=at, reason=reason))
    return found


def refusal(rows: Sequence[NodeRow], node: str, *, now: float, settings: HookSettings) -> str:
    """Why this node must not be drained by us; empty: it may.

    Once we have drained it, the same question shows whether others were before us: many nodes that find the same fault
    in the same second all see an empty list first.
    """
    mine = [row for row in rows if row.name == node]
    if not mine:
        return "Slurm does not know this node"
    if any(row.is_out and not row.is_ours for row in mine):
        return f"it is {mine[0].state} already: {mine[0].reason}"
    before = _ours_before(rows, mine[0])
    if len({row.name for row in before if row.since > now - _HOUR_S}) >= settings.max_drains_per_hour:
        return f"{settings.max_drains_per_hour} nodes were drained by supervise within the hour"
    for partition in {row.partition for row in mine}:
        size = len({row.name for row in rows if row.partition == partition})
        out = len({row.name for row in before if row.partition == partition})
        if out + 1 > max(1, int(settings.max_drained_share * size)):
            return f"{out} of the {size} nodes of partition {partition} are drained by supervise"
    return ""


def _ours_before(rows: Sequence[NodeRow], mine: NodeRow) -> list[NodeRow]:
    """Nodes that we drained; once this one is among them, those before it."""
    others = [row for row in rows if row.is_ours and row.name != mine.name]
    if not mine.is_ours:
        return others
    return [row for row in others if (row.since, row.name) < (mine.since, mine.name)]


def reason_for(finding: NodeFinding) -> str:
    """The reason that Slurm shows."""
    return clean(f"{PREFIX} {finding.rule} {finding.gpu} {finding.text}", _REASON_CHARS).strip()


def drain(finding: NodeFinding, node: str, settings: HookSettings, *, slurm_conf: str, within_s: float) -> str:
    """Drain it if that may be; what was done, or why not.

    All calls together take no longer than `within_s`: whoever is killed between two of them has not looked whether
    others were first.
    """
    path = f"{settings.slurm_bin}:{_PATH}" if settings.slurm_bin else _PATH
    environment = {"PATH": path, "SLURM_TIME_FORMAT": "%s", **({"SLURM_CONF": slurm_conf} if slurm_conf else {})}
    deadline_s = min(settings.slurm_deadline_s, within_s / _CALLS)
    if deadline_s <= 0:
        return "not drained: no time is left for Slurm"
    slurm = _Slurm(environment, deadline_s)
    try:
        return asyncio.run(_drain(slurm, node, reason_for(finding), settings))
    except (SlurmFailed, NoSlurm) as exc:
        return clean(f"not drained: {exc}", 200)


@dataclass(frozen=True, slots=True)
class _Slurm:
    """Its commands, each within the same deadline."""

    environment: Mapping[str, str]
    deadline_s: float

    async def ask(self, *argv: str) -> str:
        answer = await run(argv, deadline_s=self.deadline_s, env=self.environment)
        return answer.checked().stdout

    async def rows(self) -> list[NodeRow]:
        return rows_of(await self.ask("sinfo", "-N", "-h", "-o", _FORMAT))

    async def update(self, node: str, *changes: str) -> None:
        await self.ask("scontrol", "update", f"NodeName={node}", *changes)


async def _drain(slurm: _Slurm, node: str, reason: str, settings: HookSettings) -> str:
    rows = await slurm.rows()
    # It may be ours already: a scontrol that gave no answer in time may have done what it was told.
    if not _is_ours(rows, node):
        if why := refusal(rows, node, now=time.time(), settings=settings):
            return clean(f"not drained: {why}", 200)
        await slurm.update(node, "State=DRAIN", f"Reason={reason}")
        rows = await slurm.rows()
    # Only what is still our own word is taken back.
    if _is_ours(rows, node) and (why := refusal(rows, node, now=time.time(), settings=settings)):
        await slurm.update(node, "State=UNDRAIN")
        return clean(f"taken back: {why}", 200)
    return DRAINED


def _is_ours(rows: Sequence[NodeRow], node: str) -> bool:
    return any(row.name == node and row.is_ours for row in rows)
