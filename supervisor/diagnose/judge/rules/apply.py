"""All rules in their order: first what is no evidence, then what a message means beside others, then plans."""

from collections.abc import Callable
from typing import Final

from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.rules import (
    beats,
    checkpoints,
    closing,
    fabric,
    gpus,
    hints,
    history,
    hosts,
    noise,
    plans,
    programs,
    storage,
)

Rule = Callable[[Case], None]

RULES: Final[tuple[Rule, ...]] = (
    noise.caught,
    noise.said_caught,
    noise.survived,
    noise.steps_came,
    noise.foreign_nodes,
    noise.torn_down,
    gpus.repeats,
    noise.old_kernel_lines,
    hosts.prolog_names_hardware,
    hosts.rebooted,
    hosts.lost_nodes_own_words,
    hosts.behind_one_port,
    hosts.one_rack,
    hosts.one_node_differs,
    gpus.kernel_only,
    gpus.nvlink_by_kernel,
    gpus.silent_corruption,
    gpus.device_explains,
    gpus.slow_explains,
    gpus.alone_and_sudden,
    programs.bus_error,
    programs.killed,
    programs.crash_after,
    programs.compiler_caches,
    programs.asserts,
    programs.out_of_range_from_the_start,
    storage.lost_server,
    storage.silent_registry,
    storage.local_disk,
    storage.stale_cache,
    checkpoints.other_nodes_shards,
    checkpoints.other_layout,
    fabric.links,
    hosts.one_switch,
    fabric.first_collective,
    fabric.no_peer_reached,
    fabric.virtual_interface,
    fabric.one_host_refuses,
    fabric.names,
    fabric.uneven,
    fabric.mismatch,
    fabric.many_pairs,
    plans.finished,
    plans.ended_well,
    fabric.timeouts,
    hints.explain,
    hints.spike_is_enough,
    history.same_elsewhere,
    history.ablation,
    history.checked_good,
    plans.did_not_move,
    plans.limit_by_numbers,
    plans.silent_until_the_limit,
    beats.still_until_the_limit,
    beats.waited_for,
    closing.said_so,
)


def apply_rules(case: Case) -> None:
    """Change the case's findings by what they mean together."""
    for rule in RULES:
        rule(case)
