"""The options that stand before the command: one for each setting, and those for all commands.

A table of its own, so that `--help` need not import the settings; a test holds the two together.
"""

from dataclasses import dataclass, field
from typing import Final

SETTINGS: Final = (
    ("mode", "act|observe", "observe: watch, explain and record, but stop, restart and submit nothing"),
    ("spares", "K", "nodes asked for beyond what the job needs, to replace a bad one at once"),
    ("checkpoint", "URL", "folder or URL with checkpoints named by step"),
    ("max_restarts", "N", "restarts over the whole run"),
    ("max_restarts_without_progress", "N", "restarts in a row that bring no new step"),
    ("max_lost_share", "SHARE", "share of the node-hours that interruptions may cost"),
    ("min_nodes", "N", "go on with fewer nodes, down to this many"),
    ("on_rank_exit", "stalled|any|never", "when a failed rank breaks the attempt"),
    ("transport", "auto|mqtt|stdout", "how beats travel"),
    ("rank_lines", "content|sattach", "how lines of the output get their rank"),
    ("stop_grace_s", "S", "between TERM and KILL"),
    ("node_silence_s", "S", "a node silent this long is probed"),
    ("lease_s", "S", "nobody heard this long: agents stop their ranks"),
    ("stall_s", "S", "how long the others must stand still after a rank has failed"),
    ("check_deadline_s", "S", "for the check of all nodes before a launch"),
    ("agents_deadline_s", "S", "for the agents' first report"),
    ("collect_deadline_s", "S", "for the evidence of one incident"),
    ("stop_deadline_s", "S", "for the proof that nothing of an attempt lives"),
    ("slurm_deadline_s", "S", "for one question to Slurm"),
    ("submit_deadline_s", "S", "for one resubmission"),
    ("checkpoint_deadline_s", "S", "for finding the newest whole checkpoint"),
    ("ranks_deadline_s", "S", "for ranks to appear after a launch; 0: unlimited"),
    ("log_lines", "N", "last lines of the output that an incident keeps"),
    ("agent_memory_mb", "MB", "memory limit of the agent on each node"),
)
"""Setting, what its value looks like, one line of help."""
WORDS: Final = {"quiet", "dry_run", "json"}
"""Options without a value, for all commands."""


@dataclass(slots=True, kw_only=True)
class GlobalOptions:
    """What stood before the command; commands find it as `click.get_current_context().obj`."""

    quiet: bool = False
    dry_run: bool = False
    json: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    """As typed; `settings_resolve` converts and validates."""
