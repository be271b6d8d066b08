"""The rules that hold whatever happens: each order is held against them the moment it is given."""

from typing import TYPE_CHECKING

from supervisor.core.carried import Carried
from supervisor.core.instructions import (
    AskSlurm,
    CancelJob,
    Finish,
    Instruction,
    KeepRecord,
    LaunchAttempt,
    PutAway,
    Requeue,
    Say,
    Shrink,
    StopAttempt,
    Submit,
)
from supervisor.core.policy_table import Rule, table
from supervisor.model.ids import NodeName
from supervisor.settings import Settings

if TYPE_CHECKING:
    from tests.core.harness import World


def check_rules(world: "World", order: Instruction) -> None:
    """What must hold whatever happened before."""
    last = world.given(Finish)[-1:]
    allowed = (Finish, CancelJob, Say, KeepRecord, PutAway, *([AskSlurm] if last and last[0].handed_over else []))
    assert not last or isinstance(order, allowed), f"{order} after the end"
    if isinstance(order, LaunchAttempt):
        assert world.state.term is None, "launched after SIGTERM"
        assert world.state.halt is None, "launched though a person halted the run"
        assert not world.live or world.live == order.attempt, f"{world.live} lives while {order} is given"
        others = world.unproven - {int(order.attempt)}
        assert not others, f"{others} not proven stopped before {order}"
        assert not set(order.nodes) & set(world.state.out), "a node that has left is used"
        lost = {name for name in world.state.unfit if name in world.state.trouble}
        assert _mode(world) == "observe" or not set(order.nodes) & lost, "a lost node is used"
        if not world.state.may_start_anyway and _mode(world) == "act":
            assert not set(order.nodes) & _unfit(world, order), "an unfit node is used"
        assert set(order.nodes) | set(order.hidden) == set(world.state.held)
        assert order.resume_from not in world.state.behind.distrusted, "a checkpoint that could not be loaded is used"
        assert world.state.not_before is None or world.at >= world.state.not_before, "started within the pause"
    if isinstance(order, (Submit, Requeue, StopAttempt, Shrink)):
        is_wanted = world.state.term is not None or world.state.halt is not None
        assert _mode(world) == "act" or is_wanted, f"{order} in mode observe"
    if isinstance(order, Submit) and world.state.halt is not None:
        assert order.only_look, "submitted though a person halted the run"
    if isinstance(order, Submit) and world.state.term is not None and not order.only_look:
        # A submission that was ordered for the dead node, before Slurm ended the job for it, may be ordered again.
        causes = {"walltime", "preemption", "node_failure"}
        assert world.state.term.cause in causes, "submitted without a positive cause"
    _check_budgets(world.state.behind, world.settings)


def _unfit(world: "World", order: LaunchAttempt) -> set[NodeName]:
    """A node that a person excludes while an attempt begins stays in that one, though its order is given again."""
    is_again = any(each.attempt == order.attempt for each in world.launches)
    by_person = {name for name, why in world.state.unfit.items() if why.startswith("excluded by ")}
    return set(world.state.unfit) - (by_person if is_again else set())


def _mode(world: "World") -> str:
    return world.state.behind.mode or world.settings.mode


def _check_budgets(behind: Carried, settings: Settings) -> None:
    """None is ever exceeded: neither the run's nor a cause's nor a class's."""
    assert behind.restarts <= settings.max_restarts
    assert behind.restarts_without_progress <= settings.max_restarts_without_progress
    for name, done in behind.restarts_by.items():
        budget = table(settings.policy).rules.get(name, Rule()).budget
        assert budget is None or done <= budget, f"{done} restarts for {name}"
