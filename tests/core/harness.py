"""A fake world for the machine: nodes, a keeper, Slurm, a checkpoint store. Tests change the world and let time pass.

Every instruction is checked against the rules that must hold whatever happens, the moment it is given.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from supervisor.core.carried import Carried
from supervisor.core.events import (
    AgentSilent,
    AgentUp,
    AttemptEnded,
    AttemptStarted,
    CheckpointChosen,
    Diagnosed,
    Event,
    KeeperReported,
    NodeProbed,
    NodesChecked,
    Ordered,
    Progressed,
    RankFailed,
    RanksSeen,
    Requeued,
    RunStarted,
    Shrunk,
    SignalReceived,
    SlurmReported,
    Stopped,
    Submitted,
    SupervisorStarted,
    Tick,
)
from supervisor.core.instructions import (
    AskSave,
    AskSlurm,
    CancelJob,
    CheckNodes,
    ChooseCheckpoint,
    Collect,
    Comment,
    Finish,
    Instruction,
    KeepRecord,
    LaunchAttempt,
    ProbeNode,
    PutAway,
    Requeue,
    Say,
    Shrink,
    StopAttempt,
    Submit,
    TellStandby,
)
from supervisor.core.log_policy import LogPolicy
from supervisor.core.machine import handle, replay
from supervisor.core.snapshot import Recorded
from supervisor.core.state import State
from supervisor.model.facts import Choice, JobFacts, NodeState
from supervisor.model.ids import AttemptNo, IncidentNo, JobId, NodeName, Rank, RunId
from supervisor.model.order import PersonOrder
from supervisor.model.records import IncidentRecord
from supervisor.model.verdict import Verdict
from supervisor.settings import Settings
from tests.core.facts import NONE_YET, crash, node, nodes, unreachable
from tests.core.rules import check_rules

_Order = TypeVar("_Order")
_UNANSWERED = (Say, Comment, KeepRecord, Finish, CancelJob, AskSave, PutAway, TellStandby)


@dataclass
class World:
    """The machine with everything that it acts upon."""

    count: int = 4
    spares: int = 0
    settings: Settings = field(default_factory=Settings)
    walltime_s: float | None = 86_400.0
    preempt_mode: str = ""
    job_id: JobId = field(default=JobId("17"))
    standby: JobId | None = None
    has_script: bool = True
    is_waited_for: bool = False
    carried: Carried | None = None
    at: float = 1000.0
    state: State = field(default_factory=State)
    pending: deque[Instruction] = field(default_factory=deque)
    done: list[Instruction] = field(default_factory=list)
    log: list[Recorded] = field(default_factory=list)
    dead: set[NodeName] = field(default_factory=set)
    bad: dict[NodeName, str] = field(default_factory=dict)
    mute: set[NodeName] = field(default_factory=set)
    """Nodes whose agent never comes."""
    unreached: set[NodeName] = field(default_factory=set)
    """Nodes of which a probe finds out nothing."""
    slurm: JobFacts | None = field(default_factory=lambda: JobFacts(job_id=JobId("17"), state="RUNNING"))
    down: set[NodeName] = field(default_factory=set)
    reasons: dict[NodeName, str] = field(default_factory=dict)
    """Why Slurm drains nodes."""
    choice: Choice = NONE_YET
    verdict: Verdict = field(default_factory=crash)
    furthest: int | None = None
    """The furthest step that is found with the evidence."""
    sbatch: list[str] = field(default_factory=list)
    """How the next submissions end; when it is empty they are accepted. `holds`: somebody waits for this very job."""
    unheard: JobId | None = None
    """The job that a submission has made whose answer nobody heard."""
    requeue_ok: bool = True
    shrink_ok: bool = True
    shrink_heard: bool = True
    """False: Slurm gives no answer to it."""
    stop_proofs: list[Stopped] = field(default_factory=list)
    """Answers to the next stops; when it is empty they are proven."""
    silent_hands: set[type[Instruction]] = field(default_factory=set)
    """Kinds of instruction that get no answer."""
    live: int = 0
    """The attempt that runs; 0 = none."""
    last_attempt: int = 0
    unproven: set[int] = field(default_factory=set)
    """Attempts of which something may still live."""
    generation: int = 1
    signals: tuple[int, ...] = ()
    """That the keeper has received."""
    policy: LogPolicy = field(default_factory=LogPolicy)
    next_job: int = 18

    # ---- the story ----

    def begin(self) -> "World":
        """The job begins, its agents come up."""
        end = None if self.walltime_s is None else self.at + self.walltime_s
        self.send(
            RunStarted(
                at=self.at,
                run_id=RunId("llama-abcde"),
                job_id=self.job_id,
                standby=self.standby,
                has_script=self.has_script,
                is_waited_for=self.is_waited_for,
                nodes=self.all_nodes,
                batch_host=node(1),
                spares=self.spares,
                walltime_at=end,
                preempt_mode=self.preempt_mode,
                carried=self.carried,
            )
        )
        self.send(SupervisorStarted(at=self.at, generation=1))
        self.send(KeeperReported(at=self.at, attempt=AttemptNo(0), is_alive=False))
        return self

    def start(self) -> "World":
        """The job begins and its first attempt runs."""
        self.begin().settle()
        return self.ranks()

    def ranks(self) -> "World":
        """Ranks of the present attempt show up."""
        attempt = self.state.attempt
        assert attempt is not None
        self.send(RanksSeen(at=self.at, attempt=attempt.number, nodes=attempt.nodes, ranks=8))
        return self

    def progress(self, step: int) -> "World":
        """The slowest rank reaches this step."""
        self.send(Progressed(at=self.at, attempt=AttemptNo(self.live), step=step))
        return self

    def exit(self, code: int | None = 1, *, signal: int | None = None, ranks_fail: bool = True) -> "World":
        """The script ends by itself; where that is no success, because one of its ranks failed."""
        number, self.live = self.live, 0
        if ranks_fail and code != 0:
            self.send(RankFailed(at=self.at, attempt=AttemptNo(number), rank=Rank(0), code=code, signal=signal))
        self.send(AttemptEnded(at=self.at, attempt=AttemptNo(number), code=code, signal=signal))
        return self

    def kill(self, *lost: NodeName) -> "World":
        """Nodes lose power; the broker gives their last will 2.2 s later."""
        self.dead.update(lost)
        self.at += 2.2
        return self.hush(*lost, how="last_will")

    def hush(self, *quiet: NodeName, how: str = "silent") -> "World":
        """Agents are not heard, though their nodes live."""
        for name in quiet:
            self.send(AgentSilent(at=self.at, node=name, how=how, last_heard=self.at - 2.2))  # type: ignore[arg-type]  # one of its words
        return self

    def term(self, *, whole: bool = True) -> "World":
        """SIGTERM reaches the batch pid."""
        self.signals = (15,)
        self.send(SignalReceived(at=self.at, number=15, whole_step=whole))
        return self

    def order(self, what: str, **more: Any) -> str:  # fields of PersonOrder
        """A person orders something; the answer."""
        number = f"order-{len(self.given(PutAway))}"
        order = PersonOrder(id=number, at=self.at, by="alice", what=what, **more)  # type: ignore[arg-type]  # its words
        self.send(Ordered(at=self.at, order=order))
        return self.state.answers[number].text

    def restart(self) -> "World":
        """The supervisor is killed and begins again from its log; open questions are lost."""
        self.state = replay(self.log, self.settings)
        self.policy = LogPolicy()
        self.pending.clear()
        self.generation += 1
        began, report = SupervisorStarted(at=self.at, generation=self.generation), self.keeper_report()
        # As `daemon.main.first_events` does.
        for event in (report, began) if self.signals else (began, report):
            self.send(event)
        return self

    def keeper_report(self, **changes: Any) -> KeeperReported:  # fields of KeeperReported
        """What the keeper says when it greets a supervisor."""
        report = KeeperReported(
            at=self.at,
            attempt=AttemptNo(self.last_attempt),
            is_alive=bool(self.live),
            code=None if self.live or not self.last_attempt else 1,
            signals=self.signals,
        )
        return msgspec.structs.replace(report, **changes)

    def settle(self) -> "World":
        """Every open instruction is answered, and what follows from that."""
        for _ in range(500):
            if not self.answer():
                return self
        raise AssertionError(f"no end of it: {self.done[-12:]}")

    def run(self, seconds: float) -> "World":
        """Time passes, second by second, and everybody answers."""
        end = self.at + seconds
        self.settle()
        while self.at < end:
            self.at += 1.0
            self.send(Tick(at=self.at))
            self.settle()
        return self

    # ---- what the tests look at ----

    @property
    def all_nodes(self) -> tuple[NodeName, ...]:
        """The nodes that the job began with."""
        return nodes(*range(1, self.count + 1))

    def given(self, kind: type[_Order]) -> list[_Order]:
        """The orders of one kind so far."""
        return [instruction for instruction in self.done if isinstance(instruction, kind)]

    @property
    def launches(self) -> list[LaunchAttempt]:
        """The orders to launch so far."""
        return self.given(LaunchAttempt)

    @property
    def finish(self) -> Finish | None:
        """The order to end the job, once it is given."""
        return next(iter(self.given(Finish)), None)

    @property
    def said(self) -> str:
        """What the user reads."""
        return "\n".join(item.text for item in self.given(Say))

    @property
    def records(self) -> list[IncidentRecord]:
        """The newest record of each incident."""
        newest: dict[IncidentNo, IncidentRecord] = {}
        for item in self.given(KeepRecord):
            newest[item.record.incident] = item.record
        return list(newest.values())

    # ---- how the world works ----

    def send(self, event: Event) -> None:
        """One event into the machine; what it orders is checked and kept for an answer."""
        before = self.state
        self.state, instructions = handle(before, event, self.settings)
        self.log.extend(self.policy.kept(event, decides=bool(instructions)))
        for instruction in instructions:
            check_rules(self, instruction)
            self.done.append(instruction)
            if not isinstance(instruction, _UNANSWERED):
                self.pending.append(instruction)

    def answer(self) -> bool:
        """Answer the oldest open instruction; False: there is none."""
        while self.pending:
            order = self.pending.popleft()
            if type(order) in self.silent_hands:
                continue
            event = self._answered(order)
            if event is not None:
                self.send(event)
            return True
        return False

    def _answered(self, order: Instruction) -> Event | None:
        match order:
            case CheckNodes():
                return self._checked(order)
            case LaunchAttempt():
                return self._launched(order)
            case StopAttempt():
                return self._stopped(order)
            case Submit() | Requeue() | Shrink():
                return self._slurm_answered(order)
            case _:
                return self._found(order)

    def _found(self, order: Instruction) -> Event | None:
        """Answers to questions that change nothing."""
        match order:
            case ChooseCheckpoint():
                return CheckpointChosen(at=self.at, attempt=order.attempt, choice=self._choice(order))
            case ProbeNode():
                return self._probed(order)
            case AskSlurm():
                states = [
                    NodeState(node=name, states=self._slurm_state(name), reason=self.reasons.get(name, ""))
                    for name in self.all_nodes
                ]
                return SlurmReported(at=self.at, job=self.slurm, nodes=tuple(states))
            case Collect():
                verdict = unreachable(*order.lost_nodes) if order.lost_nodes else self.verdict
                return Diagnosed(at=self.at, incident=order.incident, verdict=verdict, step=self.furthest)
            case _:
                return None

    def _choice(self, order: ChooseCheckpoint) -> Choice:
        best = self.choice.chosen
        is_avoided = best is not None and best.path in order.avoid
        if best is None or not is_avoided:
            return self.choice
        refused = msgspec.structs.replace(best, verdict="corrupt", why="an attempt could not begin with it")
        return Choice(chosen=None, passed_over=(refused,), why="none is whole")

    def _slurm_answered(self, order: Submit | Requeue | Shrink) -> Event:
        match order:
            case Shrink():
                ok = self.shrink_ok and self.shrink_heard
                text = "" if ok else "no"
                return Shrunk(at=self.at, dropped=order.drop, ok=ok, is_heard=self.shrink_heard, text=text)
            case Submit():
                return self._looked() if order.only_look else self._submitted(order)
            case Requeue():
                return Requeued(at=self.at, ok=self.requeue_ok, text="" if self.requeue_ok else "disabled")

    def _slurm_state(self, name: NodeName) -> tuple[str, ...]:
        return ("DOWN",) if name in self.down else ("ALLOCATED",)

    def _checked(self, order: CheckNodes) -> NodesChecked:
        silent = tuple(name for name in order.nodes if name in self.dead | self.mute)
        bad = {name: why for name, why in self.bad.items() if name in order.nodes and name not in silent}
        good = tuple(name for name in order.nodes if name not in silent and name not in bad)
        for name in (*good, *bad):
            self.send(AgentUp(at=self.at, node=name))
        self.at += 0.3
        return NodesChecked(at=self.at, ask=order.ask, good=good, bad=bad, silent=silent)

    def _launched(self, order: LaunchAttempt) -> Event | None:
        """The keeper refuses while an attempt lives, and a number that is not higher than the last."""
        if self.live or order.attempt <= self.last_attempt:
            return None
        self.live = self.last_attempt = int(order.attempt)
        self.unproven.add(self.live)
        self.at += 0.1
        return AttemptStarted(at=self.at, attempt=order.attempt, pid=4711)

    def _probed(self, order: ProbeNode) -> NodeProbed:
        self.at += 0.05
        if order.node in self.unreached:
            return NodeProbed(at=self.at, node=order.node, answer="unknown", text="no other node is heard")
        answer = "dead" if order.node in self.dead else "alive"
        return NodeProbed(at=self.at, node=order.node, answer=answer, text="slurmd refuses" * (answer == "dead"))  # type: ignore[arg-type]  # two of its words

    def _stopped(self, order: StopAttempt) -> Stopped:
        self.at += 0.4
        number, self.live = self.live, 0
        if number:
            self.send(AttemptEnded(at=self.at, attempt=AttemptNo(number), signal=15))
        if self.stop_proofs:
            return msgspec.structs.replace(self.stop_proofs.pop(0), at=self.at, attempt=order.attempt)
        self.unproven.discard(int(order.attempt))
        return Stopped(at=self.at, attempt=order.attempt, is_proven=True, unreachable=order.lost)

    def _looked(self) -> Submitted:
        if self.unheard is None:
            return Submitted(at=self.at, outcome="refused", text="no job was made")
        return Submitted(at=self.at, outcome="accepted", job_id=self.unheard)

    def _submitted(self, order: Submit) -> Submitted:
        outcome = self.sbatch.pop(0) if self.sbatch else "accepted"
        if outcome == "holds" and not order.whoever_waits:
            return Submitted(at=self.at, outcome="refused", text="job 40 waits for this very job", holds=True)
        outcome = "accepted" if outcome == "holds" else outcome
        self.next_job += 1
        job = (order.standby or JobId(str(self.next_job))) if outcome == "accepted" else None
        return Submitted(at=self.at, outcome=outcome, job_id=job, text=f"sbatch: {outcome}")  # type: ignore[arg-type]  # one of its words
