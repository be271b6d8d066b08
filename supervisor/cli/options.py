"""The options that stand before the command: one for each setting, and those for all commands.

A table of its own, so that `--help` need not import the settings; a test holds the two together.
"""

from dataclasses import dataclass, field
from typing import Final

SETTINGS: Final = (
    ("mode", "act|observe", "observe: watch, explain and record, but stop, restart and submit nothing; default act"),
    ("spares", "K", "nodes asked for beyond what the job needs (-N), to replace a bad one at once; default 0"),
    ("checkpoint", "URL", "folder or URL with checkpoints named by step; default none"),
    ("max_restarts", "N", "restarts over the whole run; default 20"),
    ("max_restarts_without_progress", "N", "restarts in a row that bring no new step; default 3"),
    ("max_lost_share", "SHARE", "share of the requested node-hours that interruptions may cost; default 0.1"),
    (
        "policy",
        "CHANGES",
        "of the table of causes (supervise policy): network.budget=4; default none",
    ),
    ("skip_data", "true|false", "the program leaves out what SUPERVISE_SKIP names; default false"),
    ("min_nodes", "N", "go on with fewer nodes, down to this many; 0: never with fewer; default 0"),
    (
        "on_rank_exit",
        "stalled|any|never",
        "a failed rank breaks the attempt: once all others stand still, at once, never; default stalled",
    ),
    ("transport", "auto|mqtt|stdout", "how the reports of agents and ranks travel; default auto"),
    ("rank_lines", "content|sattach", "how lines of the output get their rank; default content"),
    ("stop_grace_s", "S", "between TERM and KILL; default 5"),
    ("node_silence_s", "S", "a node silent this long is probed; default 2.2"),
    ("lease_s", "S", "nobody heard this long: agents stop their ranks; default 30"),
    ("stall_s", "S", "how long at most the others must stand still after a rank has failed; default 5"),
    ("hang_s", "S", "ranks that beat and live stand still so long in a step: a hang; 0: not looked for; default 10"),
    ("first_step_s", "S", "for a first step, save or evaluation, before it counts as a hang; default 1800"),
    ("check_deadline_s", "S", "for the check of all nodes before a launch; default 10"),
    ("agents_deadline_s", "S", "for the agents' first report; default 20"),
    ("collect_deadline_s", "S", "for the evidence of one incident; default 3"),
    ("stop_deadline_s", "S", "for the proof that nothing of an attempt lives; default 30"),
    ("slurm_deadline_s", "S", "for one question to Slurm; default 3"),
    ("submit_deadline_s", "S", "for one resubmission; default 30"),
    ("standby", "true|false", "a second job waits in the queue for the first to fail; default false"),
    ("save_margin_s", "S", "ranks are asked to save and stop so long before the time limit; 0: never; default 120"),
    ("save_signal", "none|HUP|INT|TERM|USR1|USR2", "asks ranks to save and stop, besides beat(); default none"),
    ("save_file", "true|false", "ask them by the file that SUPERVISE_SAVE_FILE names as well; default false"),
    ("checkpoint_deadline_s", "S", "for finding the newest whole checkpoint; default 20"),
    ("ranks_deadline_s", "S", "for ranks to appear after a launch; 0: unlimited; default 0"),
    ("log_lines", "N", "last lines of each output file that an incident keeps; default 400"),
    ("evidence_span_s", "S", "how far back an incident keeps telling lines before those; default 3600"),
    ("agent_memory_mb", "MB", "memory limit of the agent on each node; default 128"),
    ("ledger", "FOLDER", "the site's ledger, where each job leaves its interruptions; default none"),
    ("ledger_users", "name|pseudonym|none", "how the ledger names users; default name"),
    ("ledger_without", "P1,P2", "partitions whose jobs are left out of the ledger; default none"),
    ("ledger_keep", "DAYS", "how long the ledger keeps a month, for supervise ledger upkeep; default 400d"),
    ("notify", "URLS", "who is told of this run: mailto:me@site, https://host/hook; default none"),
    ("notify_on", "stopped|interrupted|all", "what is told; default stopped"),
    ("off", "true|false", "hand over to plain sbatch, or run the command as it is; default false"),
)
"""Setting, what its value looks like, one line of help."""
QUIET_HELP: Final = "announce nothing; errors, and each decision about the job in its output, are still told"
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
