"""The kinds of fault that a plain user can make in a job of his own, and what each must lead to. Pure data."""

from dataclasses import dataclass
from typing import Final, Literal

from supervisor.errors import UsageError
from supervisor.model.verdict import Class

Target = Literal["rank", "agent", "supervisor", "broker", "node"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of fault."""

    name: str
    what: str
    """What is done, for a person."""
    target: Target = "rank"
    signal: str = ""
    """What the target is sent; empty: the drill's own trainer has the fault by itself, on order."""
    rank: int = -1
    """Which of the trainer's ranks has it; -1: the last."""
    classes: frozenset[Class] = frozenset()
    """What its verdict may be; empty: it must interrupt nothing."""
    causes: frozenset[str] = frozenset()
    """Empty: any cause of these classes."""
    blames: Literal["", "rank", "node"] = ""
    """Whom the verdict must name."""
    is_undone: bool = False
    """Whoever was stopped must be let go on where nobody noticed."""
    is_safe: bool = False
    """Costs a user's own run at most a restart from its newest checkpoint."""
    stops: bool = False
    """A rerun would fail the same way: the run must stop and its nodes be free."""
    rolls_back: bool = False
    """The newest checkpoint must not be the one that it goes on from."""

    @property
    def interrupts(self) -> bool:
        """An incident must follow."""
        return bool(self.classes)


_UNKNOWN: Final = frozenset({Class.UNKNOWN, Class.SOFTWARE})
_SOFTWARE: Final = frozenset({Class.SOFTWARE})
KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(
            name="rank_killed",
            what="a rank is killed (SIGKILL)",
            signal="KILL",
            classes=_UNKNOWN,
            blames="rank",
            is_safe=True,
        ),
        Kind(
            name="rank_crashed",
            what="a rank crashes (SIGSEGV)",
            signal="SEGV",
            classes=_SOFTWARE,
            causes=frozenset({"segfault"}),
            blames="rank",
            is_safe=True,
        ),
        Kind(
            name="rank_aborted",
            what="a rank aborts (SIGABRT)",
            signal="ABRT",
            classes=_UNKNOWN,
            blames="rank",
            is_safe=True,
        ),
        Kind(
            name="rank_hung",
            what="a rank stands still and lives (SIGSTOP)",
            signal="STOP",
            classes=_SOFTWARE,
            causes=frozenset({"deadlock"}),
            blames="rank",
            is_undone=True,
        ),
        Kind(
            name="exception",
            what="a rank ends with a Python exception that nobody catches",
            classes=_SOFTWARE,
            causes=frozenset({"python_exception"}),
            blames="rank",
        ),
        Kind(
            name="out_of_memory",
            what="a rank gets no more host memory",
            classes=_SOFTWARE,
            causes=frozenset({"host_oom"}),
            blames="rank",
            stops=True,
        ),
        Kind(
            name="port_in_use",
            what="a rank finds its port taken",
            classes=_SOFTWARE,
            causes=frozenset({"port_in_use"}),
            blames="rank",
        ),
        Kind(
            name="bad_data",
            what="a rank reads a damaged data shard",
            classes=frozenset({Class.DATA}),
            causes=frozenset({"corrupt_shard"}),
        ),
        Kind(
            name="torn_checkpoint",
            what="the newest checkpoint is cut in half and a rank dies",
            rank=0,
            classes=_UNKNOWN,
            blames="rank",
            rolls_back=True,
        ),
        Kind(
            name="agent_killed",
            what="a node's agent is killed",
            target="agent",
            signal="KILL",
            is_safe=True,
        ),
        Kind(
            name="supervisor_killed",
            what="the supervisor is killed",
            target="supervisor",
            signal="KILL",
            is_safe=True,
        ),
        Kind(
            name="broker_killed",
            what="the broker is killed",
            target="broker",
            signal="KILL",
            is_safe=True,
        ),
        Kind(
            name="node_emptied",
            what="all processes of the job on one node are killed, as a user sees a node that reboots",
            target="node",
            signal="KILL",
            classes=frozenset({Class.HARDWARE, Class.UNKNOWN}),
            blames="node",
        ),
    )
}
NOT_DRILLED: Final = (
    "a node that loses its power or network, GPU and link faults, a shared filesystem that hangs: they need root "
    "(rehearse them on a testbed)"
)


def known_kind(name: str) -> Kind:
    """The kind of this name. Raises `UsageError`."""
    if name not in KINDS:
        raise UsageError(f"no fault is called {name}; there are {', '.join(KINDS)}")
    return KINDS[name]
