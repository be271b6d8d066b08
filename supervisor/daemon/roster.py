"""Who was heard when, and how far the ranks are: beats in, events out. Pure; time is given."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from supervisor.bus.protocol import NO_ATTEMPT
from supervisor.core.events import AgentSilent, AgentUp, Event, Progressed, RankFailed, RanksSeen, Saved, Stalled
from supervisor.daemon import saves
from supervisor.daemon.hangs import Hangs
from supervisor.daemon.heard import Heard
from supervisor.daemon.stall import Failure, Seen, Stall, intervals_with, is_refuted
from supervisor.model.ids import AttemptNo, NodeName, Rank
from supervisor.model.wire import Beats, NodeFacts, RankBeat, RankGone, Status

_FAILURES = 64
"""So many failed tasks of one attempt are kept: one that is true is enough."""
_SETTLED_S = 2.0
"""No further rank has told of itself for so long: their number stands. Agents read them once a second."""
_ASK_S = 0.5
"""Between two questions for beats out of turn, because of a failure."""
_FIRST_ASKS = 4
"""So often, at each look, beats are asked for out of turn until ranks of a new attempt are seen."""


@dataclass(slots=True)
class Roster:
    """The nodes and ranks of the present attempt."""

    silence_s: float
    expected_s: float
    """How long a node may take to report for the first time."""
    hangs: Hangs = field(default_factory=Hangs)
    attempt: AttemptNo = NO_ATTEMPT
    _nodes: dict[NodeName, Heard] = field(default_factory=dict)
    _ranks: dict[Rank, Seen] = field(default_factory=dict)
    _seen_on: set[NodeName] = field(default_factory=set)
    _progress: int | None = None
    _progress_at: float = float("-inf")
    _has_steps: bool = False
    """Some task of the attempt was started by srun, which tells how its tasks end."""
    _longest_save_s: float = 0.0
    _told_ranks: int = 0
    _new_rank_at: float = float("-inf")
    _failures: list[Failure] = field(default_factory=list)
    _is_stall_told: bool = False
    _asked_at: float = float("-inf")
    _first_asks: int = 0
    _looked_at: float | None = None
    _awake_since: float = float("-inf")

    def expect(self, nodes: Iterable[NodeName], now: float) -> None:
        """From now on these nodes should be heard; others are forgotten."""
        wanted = set(nodes)
        self._nodes = {name: seen for name, seen in self._nodes.items() if name in wanted}
        for name in wanted - self._nodes.keys():
            self._nodes[name] = Heard(expected_since=now)

    def begin(self, attempt: AttemptNo) -> None:
        """A new attempt: what was known of the old one's ranks is forgotten."""
        if attempt != self.attempt:
            self.attempt, self._first_asks = attempt, _FIRST_ASKS
            self._ranks.clear()
            self._seen_on.clear()
            self._failures.clear()
            self._has_steps, self._told_ranks, self._longest_save_s = False, 0, 0.0
            self._progress, self._progress_at, self._is_stall_told = None, float("-inf"), False

    def status(self, message: Status, now: float) -> list[Event]:
        """An agent's status arrived."""
        node = self._nodes.get(message.node)
        if node is None:
            return []
        if message.state == "down":
            return self._gone(message.node, node, now, how="last_will")
        node.address, node.facts = message.address, message.facts
        return self._heard(message.node, node, now)

    def beats(self, message: Beats, now: float) -> list[Event]:
        """One node's second arrived."""
        node = self._nodes.get(message.node)
        if node is None:
            return []
        events = self._heard(message.node, node, now)
        if message.attempt != self.attempt or not self.attempt:
            return events
        self._has_steps = self._has_steps or message.processes > 0
        for beat in message.ranks:
            events += self._vanished(
                message.node, beat.rank, beat.pid, now, is_expected=beat.is_alive or beat.has_ended
            )
            events += self._saved(self._note(message.node, beat, now), now)
        return events + self._first_sight(message, now) + self._moved(now)

    def rank_gone(self, message: RankGone, now: float) -> list[Event]:
        """A rank's process has ended: its page said last how far it was."""
        known = self._ranks.get(message.rank)
        if known is None or message.attempt != self.attempt or known.beat.pid != message.pid:
            return []
        events = self._vanished(known.node, message.rank, message.pid, now, is_expected=message.has_ended)
        beat = msgspec.structs.replace(known.beat, step=max(message.step, known.beat.step), is_alive=False)
        self._ranks[message.rank] = replace(known, beat=beat, seen_at=now)
        return events + self._moved(now)

    def step_ended(self, nodes: Iterable[NodeName], now: float) -> list[Event]:
        """The agent step of these nodes is gone."""
        events: list[Event] = []
        for name in nodes:
            node = self._nodes.get(name)
            if node is not None:
                events += self._gone(name, node, now, how="step_ended")
        return events

    def rank_failed(
        self, now: float, *, rank: Rank | None = None, node: NodeName | None = None, is_told: bool = True
    ) -> None:
        """A rank of the attempt has failed: from now on it matters whether the others move.

        `is_told`: the output says so; otherwise its process was seen to be gone, and a launcher may start it again.
        """
        known = any((failure.rank, failure.node) == (rank, node) for failure in self._failures)
        if not known and len(self._failures) < _FAILURES:
            self._failures.append(Failure(rank, node, now, is_early=not self._ranks, is_told=is_told))

    def wants_beats(self, now: float, *, stall_s: float) -> bool:
        """Whether beats should come at once and not at their turn: ranks are about to begin, or one has failed."""
        if self._first_asks and not self._seen_on:
            self._first_asks -= 1
            return True
        if not self.is_waiting or now - self._asked_at < _ASK_S or not self._stall().is_unseen(now, stall_s=stall_s):
            return False
        self._asked_at = now
        return True

    def tick(self, now: float, *, stall_s: float) -> list[Event]:
        """What follows from the passing of time alone. To be called several times within `silence_s`."""
        if self._looked_at is not None and now - self._looked_at > self.silence_s / 2:
            # It is we who slept: what was said meanwhile is still to be read, and nobody was silent for that.
            self._awake_since = now
        self._looked_at = now
        hung = self.hangs.look(self._ranks, attempt=self.attempt, awake_since=self._awake_since, now=now)
        return self._silent(now) + self._counted(now) + self._stalled(now, stall_s) + hung

    def heard(self, name: NodeName) -> float | None:
        """When the node was heard last."""
        node = self._nodes.get(name)
        return node.last_heard if node else None

    def up(self) -> tuple[NodeName, ...]:
        """Nodes whose agent is there."""
        return tuple(sorted(name for name, node in self._nodes.items() if node.is_up))

    def address(self, name: NodeName) -> str:
        """`host:port` of the node's slurmd, as its agent said; empty where unknown."""
        node = self._nodes.get(name)
        return node.address if node else ""

    def ranks(self) -> list[tuple[NodeName, RankBeat, float]]:
        """Every rank of the attempt: node, last beat, when it last moved."""
        return [(rank.node, rank.beat, rank.moved_at) for _, rank in sorted(self._ranks.items())]

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """The nodes that should be heard."""
        return tuple(sorted(self._nodes))

    def facts(self, name: NodeName) -> NodeFacts | None:
        """What its agent said of the node; None where it has not."""
        node = self._nodes.get(name)
        return node.facts if node else None

    def gpu_count(self, name: NodeName) -> int | None:
        """How many GPUs the job may use on the node, as its agent said; None where unknown."""
        node = self._nodes.get(name)
        return node.facts.gpu_count if node and node.facts else None

    @property
    def progress_at(self) -> float | None:
        """When the slowest rank's step moved last; None: none has."""
        return None if self._progress is None else self._progress_at

    @property
    def is_waiting(self) -> bool:
        """A rank has failed, and it is not known yet whether the others stand still."""
        return bool(self._failures) and not self._is_stall_told and any(rank.is_alive for rank in self._ranks.values())

    @property
    def rank_count(self) -> int:
        """How many ranks of the attempt have told of themselves."""
        return len(self._ranks)

    @property
    def progress(self) -> int | None:
        """The slowest rank's step."""
        return self._progress

    @property
    def furthest(self) -> int | None:
        """The step of the rank that has come furthest; None: none makes steps."""
        return max(self._steps(), default=None)

    def _steps(self) -> list[int]:
        """Of the ranks that make steps."""
        return [rank.beat.step for rank in self._ranks.values() if rank.beat.phase not in {"setup", "idle"}]

    def _heard(self, name: NodeName, node: Heard, now: float) -> list[Event]:
        node.last_heard = now
        if node.is_up and not node.is_reported_silent:
            return []
        node.is_up, node.is_reported_silent = True, False
        return [AgentUp(at=now, node=name, facts=node.facts)]

    def _gone(self, name: NodeName, node: Heard, now: float, *, how: str) -> list[Event]:
        if not node.is_up:
            return []
        node.is_up, node.is_reported_silent = False, True
        last = node.last_heard if node.last_heard is not None else now
        why = "last_will" if how == "last_will" else "step_ended"
        return [AgentSilent(at=now, node=name, how=why, last_heard=last)]  # type: ignore[arg-type]  # one of two words

    def _silent(self, now: float) -> list[Event]:
        events: list[Event] = []
        for name, node in sorted(self._nodes.items()):
            if node.is_reported_silent:
                continue
            if node.last_heard is None and now - node.expected_since > self.expected_s:
                node.is_reported_silent = True
                events.append(AgentSilent(at=now, node=name, how="never_heard", last_heard=node.expected_since))
            elif node.last_heard is not None and now - max(node.last_heard, self._awake_since) > self.silence_s:
                node.is_up, node.is_reported_silent = False, True
                events.append(AgentSilent(at=now, node=name, how="silent", last_heard=node.last_heard))
        return events

    def _vanished(self, node: NodeName, rank: Rank, pid: int, now: float, *, is_expected: bool) -> list[Event]:
        """A living rank's process is gone, and nobody else will tell how it ended."""
        known = self._ranks.get(rank)
        if is_expected or self._has_steps or known is None or known.beat.pid != pid or not known.is_alive:
            return []
        self.rank_failed(now, rank=rank, node=node, is_told=False)
        text = f"the process of rank {rank} on {node} is gone; nothing tells how it ended"
        return [RankFailed(at=now, attempt=self.attempt, rank=rank, node=node, text=text)]

    def _note(self, node: NodeName, beat: RankBeat, now: float) -> float:
        """Keep it; how long the save took that ends with it, 0 where none does."""
        known = self._ranks.get(beat.rank)
        if known is None:
            self._new_rank_at = now
        has_moved = known is None or known.beat.pid != beat.pid or known.beat.count != beat.count
        moved_at = now - beat.age_s if has_moved or known is None else known.moved_at
        intervals = intervals_with(known, beat, moved_at) if known else ()
        since = saves.since(known, beat, moved_at)
        self._ranks[beat.rank] = Seen(
            node, beat, moved_at=moved_at, seen_at=now, intervals=intervals, saving_since=since
        )
        return saves.took_s(known, beat, moved_at, now)

    def _saved(self, seconds: float, now: float) -> list[Event]:
        if not saves.is_news(seconds, self._longest_save_s):
            return []
        self._longest_save_s = seconds
        return [Saved(at=now, attempt=self.attempt, seconds=seconds)]

    def _first_sight(self, message: Beats, now: float) -> list[Event]:
        if not (message.processes or message.ranks) or message.node in self._seen_on:
            return []
        self._seen_on.add(message.node)
        return self._tell_ranks(now)

    def _counted(self, now: float) -> list[Event]:
        """Nodes are seen before their ranks have begun to beat: their number is told again once it stands."""
        is_told = len(self._ranks) == self._told_ranks
        return [] if is_told or now - self._new_rank_at < _SETTLED_S else self._tell_ranks(now)

    def _tell_ranks(self, now: float) -> list[Event]:
        self._told_ranks = len(self._ranks)
        return [RanksSeen(at=now, attempt=self.attempt, nodes=tuple(sorted(self._seen_on)), ranks=self._told_ranks)]

    def _moved(self, now: float) -> list[Event]:
        slowest = min(self._steps(), default=None)
        if slowest is None or slowest == self._progress:
            return []
        self._progress, self._progress_at = slowest, now
        return [Progressed(at=now, attempt=self.attempt, step=slowest)]

    def _stalled(self, now: float, stall_s: float) -> list[Event]:
        self._failures = [
            failure
            for failure in self._failures
            if not is_refuted(failure, self._ranks, progress_at=self._progress_at, stall_s=stall_s)
        ]
        if not self.is_waiting or not self._stall().is_certain(now, stall_s=stall_s):
            return []
        self._is_stall_told = True
        return [Stalled(at=now, attempt=self.attempt, silent_s=max(0.0, now - self._stall().since))]

    def _stall(self) -> Stall:
        return Stall(self._ranks, self._failures, awake_since=self._awake_since)
