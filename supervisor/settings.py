"""All settings, their defaults and what each does. Resolved once (`settings_resolve`), frozen, kept in `run.json`."""

from typing import Literal

from supervisor.model.base import Fact


class Settings(Fact, frozen=True, kw_only=True):
    """Every value that steers a run. Durations are seconds."""

    mode: Literal["act", "observe"] = "act"
    """observe: watch, diagnose and record, but never stop, restart or submit anything."""
    spares: int = 0
    """Nodes asked for beyond what the job needs, to replace a bad one at once. They cost GPU-hours while they wait."""
    checkpoint: str = ""
    """Folder or URL with checkpoints named by step; empty: none is known and the script resumes by itself."""
    max_restarts: int = 20
    """Restarts over the whole run."""
    max_restarts_without_progress: int = 3
    """Restarts in a row that bring no new step."""
    max_lost_share: float = 0.10
    """Share of the requested node-seconds that interruptions may cost before the run stops."""
    policy: str = ""
    """Changes of the table of causes (`supervise policy`): `network.budget=4 port_in_use.wait_s=10`.

    In a file also as tables: [policy.network], then budget = 4.
    """
    skip_data: bool = False
    """The program leaves out what `SUPERVISE_SKIP` names (a file, or `step N`, one a line).

    Data faults are then tried again, once for each file or step; without it they stop the run.
    """
    min_nodes: int = 0
    """Go on with fewer nodes, down to this many, when no spare is left; 0: never with fewer."""
    on_rank_exit: Literal["stalled", "any", "never"] = "stalled"
    """A rank that fails breaks the attempt: when all others stand still; at once; or only when the script ends."""
    transport: Literal["auto", "mqtt", "stdout"] = "auto"
    """How beats travel; auto: MQTT, and the agent step's stdout where no port may be opened."""
    rank_lines: Literal["content", "sattach"] = "content"
    """How lines get their rank: by content, or labelled by a `sattach -l` beside each step.

    The latter costs: Slurm then tells srun of a task's end 2.3 s later (as often as tasks of a node end apart from each
    other), so a healthy job ends 2.3 s later and a relaunch takes 5.4 s instead of 0.5 s; and it adds lines like
    `slurmstepd: error: Failed to send MESSAGE_TASK_EXIT` to the output. Who prints over 1 MB in 2 s gets no labels.
    """
    stop_grace_s: float = 5.0
    """Between TERM and KILL when an attempt is stopped."""
    node_silence_s: float = 2.2
    """A node whose agent is silent this long is probed."""
    lease_s: float = 30.0
    """Nobody heard for this long: agents kill their ranks; a lone unreachable node is given up."""
    stall_s: float = 5.0
    """After a rank has failed, the others must stand still at most this long before the attempt counts as broken.

    Less where ranks beat, one of them has died and the others are in the midst of steps: three times their usual step,
    at least one second.
    """
    hang_s: float = 10.0
    """Ranks that beat, all live and are in the midst of steps stand still this long, and for five usual steps: a hang.

    Never sooner than twice their longest pause so far. 0: hangs are not looked for. Ranks that have told of no save or
    evaluation yet have ten minutes; a save, an evaluation or the loading of data has five, or five times the longest.
    """
    first_step_s: float = 1800.0
    """What no rank has done before in this attempt may take so long: its start, its first steps, save and evaluation.

    So may what follows when a rank has ended, and a standstill at the step at which a hang was noticed before.
    """
    check_deadline_s: float = 10.0
    """Tier 0 on all nodes."""
    agents_deadline_s: float = 20.0
    """For the agents' first report; the job starts without those that are late."""
    collect_deadline_s: float = 3.0
    """For the evidence of one incident."""
    stop_deadline_s: float = 30.0
    """For the proof that nothing of an attempt lives."""
    slurm_deadline_s: float = 3.0
    """For one question to Slurm."""
    submit_deadline_s: float = 30.0
    """For one sbatch."""
    standby: bool = False
    """A second job waits in the queue and begins where the first has failed, also where all of ours died with it.

    Queued by `supervise sbatch`: some sites forbid sbatch on nodes. Where the run ends it is taken away.
    """
    save_margin_s: float = 120.0
    """Ranks are asked to save and stop so long before the time limit, earlier by one and a half of the longest save.

    `beat()` returns True then; once they have, another job goes on. Only with `checkpoint`, and not before half of the
    job's time is over; 0: never.
    """
    save_signal: Literal["none", "HUP", "INT", "TERM", "USR1", "USR2"] = "none"
    """Asks ranks to save and stop, besides `beat()`: sent once to each that beats; without beats to each task."""
    save_file: bool = False
    """Ranks are asked by a file as well: it is made at the path that `SUPERVISE_SAVE_FILE` names."""
    checkpoint_deadline_s: float = 20.0
    """For finding the newest whole checkpoint."""
    ranks_deadline_s: float = 0.0
    """For ranks to appear after a launch; 0: unlimited (a script may stage data for hours)."""
    log_lines: int = 400
    """Last lines of each file of the job's output that an incident keeps."""
    evidence_span_s: float = 3600.0
    """Lines before those that tell something are kept as well, so far back from the last line and the last step.

    It must span the longest wait from a failure to what it makes others print: half an hour for some collectives.
    """
    agent_memory_mb: int = 128
    """Memory limit of the agent step on each node, so that it hits its own limit before the ranks do."""
    ledger: str = ""
    """Folder of the site's ledger, where each job leaves a small file of its interruptions; empty: none is kept."""
    ledger_users: Literal["name", "pseudonym", "none"] = "name"
    """How the ledger names users; without a key that the job can read a pseudonym becomes none."""
    ledger_without: str = ""
    """Partitions whose jobs are left out of the ledger, with commas between them."""
    ledger_keep: str = "400d"
    """How long the ledger keeps a month; `supervise ledger upkeep` removes what is older."""
    notify: str = ""
    """Where a person is told of this run: URLs with blanks between them, such as `mailto:me@site https://host/hook`."""
    notify_on: Literal["stopped", "interrupted", "all"] = "stopped"
    """What is told: that the run has stopped or failed; also each interruption; also that it has ended well."""
    off: bool = False
    """The emergency off-switch: `supervise sbatch` and `supervise run` hand over what they got and do nothing more.

    The file /etc/supervise/off does the same and is stronger than every setting. Jobs that are in already go on.
    """
