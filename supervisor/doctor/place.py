"""Everything that `doctor` has seen, as one frozen value: checks know no file, no clock and no Slurm."""

from supervisor.model.base import Fact


class Tried(Fact, frozen=True, kw_only=True):
    """Something that was asked for, and what came back."""

    is_accepted: bool
    words: str = ""
    """On one line."""


class NodeGroup(Fact, frozen=True, kw_only=True):
    """Nodes of one partition that look alike, as sinfo groups them."""

    partition: str
    count: int
    state: str
    cpus: str = ""
    memory_mb: str = ""
    gres: str = ""
    is_default: bool = False
    is_up: bool = True


class PartitionSeen(Fact, frozen=True, kw_only=True):
    """One partition, as far as it matters here."""

    name: str
    alloc_nodes: str = "ALL"
    """From where jobs may be submitted to it."""
    preempt_mode: str = ""
    is_default: bool = False


class SlurmSeen(Fact, frozen=True, kw_only=True):
    """Slurm as its commands tell. `complaint`: why there is no configuration."""

    missing: tuple[str, ...] = ()
    """Commands that are not on PATH."""
    client: str = ""
    """The release of the commands here."""
    config: dict[str, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    complaint: str = ""
    partitions: tuple[PartitionSeen, ...] = ()
    nodes: tuple[NodeGroup, ...] = ()
    unanswered: tuple[str, ...] = ()
    """Questions that got no answer, each with why."""
    submits: Tried | None = None
    """`sbatch --test-only` from here; None: not asked."""
    accounts: Tried | None = None
    """One question to sacct; None: there is no database to ask."""
    calls: int = 0


class Machine(Fact, frozen=True, kw_only=True):
    """One host: the one that doctor runs on, or a node of the test job."""

    host: str = ""
    python: tuple[int, int, int] = (0, 0, 0)
    glibc: str = ""
    """Empty: another C library."""
    arch: str = ""
    ptrace_scope: int | None = None
    """None: the kernel has no such limit."""
    shm_bytes: int | None = None
    """Size of /dev/shm; None: there is none that can be written."""
    cgroup: str = ""
    """`v1`, `v2`, `hybrid`; empty: none."""
    is_root: bool = False


class FolderSeen(Fact, frozen=True, kw_only=True):
    """The folder that run folders are made in, tried with files of our own that are gone again."""

    path: str = ""
    complaint: str = ""
    """Why nothing could be written in it."""
    filesystem: str = ""
    options: tuple[str, ...] = ()
    flock: str = ""
    """Empty: it works; else the error's name."""
    link: str = ""
    can_execute: bool = True
    free_bytes: int = 0
    free_files: int | None = None
    """None: the filesystem does not count them."""
    skew_s: float = 0.0
    """How far the file server's clock is ahead of ours."""


class LedgerSeen(Fact, frozen=True, kw_only=True):
    """The site's ledger."""

    path: str
    complaint: str = ""
    """Why jobs of this user cannot write into it."""
    is_nameless: bool = False
    """Jobs are to have a pseudonym there, and this user may not read the key that makes it."""


class Own(Fact, frozen=True, kw_only=True):
    """This installation and its settings."""

    version: str = ""
    prefix: str = ""
    prefix_filesystem: str = ""
    off: str = ""
    """Where supervise is switched off; empty: it is not."""
    settings_complaint: str = ""
    origins: dict[str, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """Setting to where it was set."""
    brokers: tuple[str, ...] = ()
    transport: str = "auto"
    spares: int = 0
    checkpoint: str = ""
    checkpoint_look: str = ""
    """What lies there, in one sentence; empty where no checkpoint is named."""
    ledger: LedgerSeen | None = None
    hooks: tuple[str, ...] = ()
    """Hooks of ours that lie on this host."""


class Place(Fact, frozen=True, kw_only=True):
    """All of it."""

    slurm: SlurmSeen
    machine: Machine
    folder: FolderSeen
    own: Own
