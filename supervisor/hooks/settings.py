"""What a site decides about the hooks: `/etc/supervise/hooks.toml`, root's alone, read anew by each hook."""

from typing import Any, Final, Literal

import msgspec

from supervisor.model.base import Fact
from supervisor.model.node import Hook

DEFAULT_PATH: Final = "/etc/supervise/hooks.toml"


class HookSettings(Fact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every value, with what a site gets that writes none."""

    enabled: bool = True
    """false: all hooks end at once and well."""
    drain: Literal["never", "suggest", "act"] = "suggest"
    """What a fatal finding does: nothing; a word in the record; the hook fails, or the health check drains the node."""
    drain_in: tuple[Hook, ...] = ("health",)
    """The hooks that may act, where `drain` is "act"."""
    ignore: tuple[str, ...] = ()
    """Rules that are never to fire here."""
    spool: str = "/var/spool/supervise"
    """Where records lie; `%n` is the node's name, where several nodes share a disk."""
    keep_bytes: int = 4_000_000
    """Of node.jsonl, before it becomes node.jsonl.1."""
    kernel_log: str = "/dev/kmsg"
    shm: str = "/dev/shm"  # noqa: S108 - asked about, not written to
    tmp: str = "/tmp"  # noqa: S108 - asked about, not written to
    full_share: float = 0.95
    """From here on a filesystem counts as full."""
    leaked_gpu_mib: int = 64
    """More than at the prolog, with no process that is told to hold it."""
    remapped_rows: int = 512
    nvlink_crc: int = 100
    nhc_log: str = "/var/log/nhc.log"
    nhc_result: str = "/var/run/nhc/nhc.status"
    gcm_results: str = ""
    """The file of gcm's `--sink file`."""
    told_age_s: float = 3600.0
    """What another check said longer ago is not told again."""
    expected_gpus: int = 0
    """0: as many as were seen before."""
    confirm_runs: int = 2
    """Runs of the health check in a row that must see a finding."""
    hold_s: float = 3600.0
    """How long an Xid in the kernel log counts as seen."""
    boot_window_s: float = 300.0
    """After a boot nothing is more than watched."""
    max_drains_per_hour: int = 2
    """On the whole cluster."""
    max_drained_share: float = 0.1
    """Of each partition of the node; one node is always allowed."""
    slurm_bin: str = ""
    """The folder of sinfo and scontrol; empty: the usual ones."""
    slurm_conf: str = ""
    """Of these; empty: what slurmd names (it names none to its health check), else where they look themselves."""
    slurm_deadline_s: float = 5.0
    """For one call of them."""


def settings_of(text: str) -> tuple[HookSettings, tuple[str, ...]]:
    """The settings of a file, and what is wrong with it: then all are the defaults, under which nothing is drained."""
    try:
        return _checked(msgspec.toml.decode(text))
    except msgspec.DecodeError as exc:
        return HookSettings(), (f"settings: {exc}",)


def _checked(told: Any) -> tuple[HookSettings, tuple[str, ...]]:
    """Each key by itself, so that all mistakes are told at once."""
    complaints = []
    for name, value in told.items():
        try:
            msgspec.convert({name: value}, HookSettings)
        except msgspec.ValidationError as exc:
            complaints.append(f"settings: {name}: {exc}")
    if complaints:
        return HookSettings(), tuple(complaints)
    return msgspec.convert(told, HookSettings), ()
