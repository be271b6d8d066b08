"""What is done after each cause: budgets by cause, pauses, checkpoints not used again, data left out."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.instructions import Submit
from supervisor.core.policy_table import Rule, as_text, parse, table
from supervisor.core.summary import carried
from supervisor.diagnose.taxonomy import causes
from supervisor.model.verdict import Class, Retry, Verdict
from supervisor.settings import Settings
from tests.core.facts import crash, whole
from tests.core.harness import World


def _failure(cause: str, *, retry: Retry = Retry.YES, skip: str = "", fingerprint: str = "") -> Verdict:
    cls = causes()[cause].cls
    return Verdict(
        cls=cls, cause=cause, confidence=0.9, summary="it broke", retry=retry, skip=skip, fingerprint=fingerprint
    )


def _again(world: World, verdict: Verdict, *, step: int) -> None:
    """One more failure of this kind, after progress."""
    world.verdict = verdict
    world.ranks().progress(step)
    world.exit(1)
    world.run(2000)


def test_the_table_names_only_what_the_taxonomy_knows() -> None:
    """A row of a cause that nobody finds would never count."""
    known = {"default", *map(str, Class), *causes()}
    assert set(table().rules) <= known


def test_every_cause_has_a_row_with_nothing_open() -> None:
    """Class and default fill in what a cause's own row leaves out."""
    for one in causes().values():
        row = table().row(one.name, one.cls)
        assert row.wait_most_s >= row.wait_s >= 0


def test_a_cause_has_a_budget_of_its_own() -> None:
    """Ports that are taken again and again are no accident, however far the run gets in between."""
    world = World(settings=Settings(policy="port_in_use.budget=2 port_in_use.wait_s=0", max_lost_share=1)).start()
    for step in (1, 2, 3):
        _again(world, _failure("port_in_use", fingerprint=f"port {step}"), step=step)
    assert len(world.launches) == 3
    assert "2 restarts for port_in_use are behind this run" in world.said
    assert world.finish is not None


def test_a_class_has_a_budget_over_all_its_causes() -> None:
    """Different faults of one program, each a little further on."""
    world = World(settings=Settings(policy="software.budget=2", max_lost_share=1)).start()
    for step, cause in enumerate(("segfault", "jit_cache_race", "deadlock"), 1):
        _again(world, _failure(cause, fingerprint=cause), step=step)
    assert len(world.launches) == 3
    assert "2 restarts for software are behind this run" in world.said


def test_other_causes_do_not_use_up_a_budget() -> None:
    """Each is counted by itself."""
    world = World(settings=Settings(policy="port_in_use.budget=1 port_in_use.wait_s=0", max_lost_share=1)).start()
    for step, cause in enumerate(("segfault", "port_in_use", "deadlock"), 1):
        _again(world, _failure(cause, fingerprint=cause), step=step)
    assert len(world.launches) == 4


def test_the_count_travels_to_the_next_job() -> None:
    """A budget is the run's, not the job's."""
    world = World().start()
    _again(world, crash(), step=1)
    assert world.state.behind.restarts_by == {"segfault": 1, "software": 1}
    later = World(carried=world.state.behind, settings=Settings(policy="segfault.budget=1")).start()
    later.verdict = crash(fingerprint="other")
    later.ranks().progress(9).exit(1)
    later.run(60)
    assert "1 restarts for segfault are behind this run" in later.said


def test_a_throttling_source_is_given_time() -> None:
    """The pause doubles each time, nothing is checked or started within it, and it is told."""
    world = World(settings=Settings(policy="data_source_throttled.wait_s=30", max_lost_share=1)).start()
    for number, pause in ((1, 30), (2, 60), (3, 120)):
        world.verdict = _failure("data_source_throttled", fingerprint=f"slow down {number}")
        world.ranks().progress(number).exit(1)
        world.settle()
        began = world.at
        world.run(pause - 2)
        assert len(world.launches) == number, "started before its time"
        assert f"in {pause} s" in world.said
        world.run(10)
        assert len(world.launches) == number + 1
        assert world.at - began < pause + 10


def test_a_pause_has_an_end() -> None:
    """Doubling stops at wait_most_s, however often it has happened."""
    row = table("shared_fs_outage.wait_s=1 shared_fs_outage.wait_most_s=5").row("shared_fs_outage", Class.NETWORK)
    assert [row.pause(before) for before in (0, 1, 2, 3, 1000)] == [1, 2, 4, 5, 5]


def test_a_pause_outlives_the_supervisor() -> None:
    """A supervisor that is killed within it does not start at once, nor never."""
    world = World(settings=Settings(policy="data_source_throttled.wait_s=60")).start()
    world.verdict = _failure("data_source_throttled")
    world.ranks().progress(1).exit(1)
    world.run(10)
    world.restart()
    world.run(30)
    assert len(world.launches) == 1
    world.run(40)
    assert len(world.launches) == 2


def test_a_pause_ends_with_the_job() -> None:
    """SIGTERM within it: nothing is started any more."""
    world = World(settings=Settings(policy="data_source_throttled.wait_s=600")).start()
    world.verdict = _failure("data_source_throttled")
    world.ranks().progress(1).exit(1)
    world.run(10)
    world.slurm = msgspec.structs.replace(world.slurm, state="COMPLETING") if world.slurm else None
    world.term()
    world.run(700)
    assert len(world.launches) == 1
    assert world.finish is not None


def test_a_pause_that_the_job_does_not_live_through_is_spent_in_the_queue() -> None:
    """Nodes that wait for a restart which the time limit forbids serve nobody; the restart is counted once."""
    world = World(settings=Settings(policy="data_source_throttled.wait_s=600"), walltime_s=900).start()
    world.run(400)
    world.verdict = _failure("data_source_throttled")
    world.ranks().progress(1).exit(1)
    world.run(60)
    assert len(world.given(Submit)) == 1
    assert world.finish is not None
    assert world.finish.handed_over
    later = World(carried=carried(world.state, world.at)).start()
    assert later.state.behind.restarts == 1


def test_data_that_are_met_again_although_they_were_to_be_left_out_end_the_run() -> None:
    """Also where the program got further in between, in another order say: it does not heed SUPERVISE_SKIP."""
    world = World(settings=Settings(skip_data=True, max_lost_share=1)).start()
    for step in (5, 50):
        _again(
            world, _failure("corrupt_shard", retry=Retry.SKIP, skip="/data/17.tar", fingerprint=f"at {step}"), step=step
        )
    assert len(world.launches) == 2
    assert "was asked to leave out /data/17.tar, and has met it again" in world.said


def test_a_checkpoint_that_could_not_be_loaded_is_not_used_again() -> None:
    """It looks whole, and the program says that it is not: the one before it is next."""
    world = World(settings=Settings(checkpoint="/ck"), choice=whole(7)).start()
    assert world.launches[0].resume_from == "/ck/7"
    world.verdict = _failure("checkpoint_corrupt", fingerprint="a")
    world.exit(1)
    world.choice = whole(3)
    world.run(30)
    assert world.state.behind.distrusted == ("/ck/7",)
    assert world.launches[1].resume_from == "/ck/3"


def test_a_checkpoint_that_was_loaded_is_trusted() -> None:
    """Who made steps after it has loaded it: what broke later is another file."""
    world = World(settings=Settings(checkpoint="/ck"), choice=whole(7)).start()
    world.verdict = _failure("checkpoint_corrupt", fingerprint="a")
    world.ranks().progress(9).exit(1)
    world.run(30)
    assert world.state.behind.distrusted == ()


@pytest.mark.parametrize("is_asked", [True, False])
def test_data_are_left_out_where_the_program_can(*, is_asked: bool) -> None:
    """Once for each file; without the setting, or without a name, a data fault stops the run."""
    world = World(settings=Settings(skip_data=is_asked)).start()
    bad = _failure("corrupt_shard", retry=Retry.SKIP, skip="/data/17.tar", fingerprint="corrupt_shard|17")
    world.verdict = bad
    world.ranks().progress(5).exit(1)
    world.run(30)
    assert len(world.launches) == 1 + is_asked
    if is_asked:
        assert world.launches[1].skip == ("/data/17.tar",)
        world.exit(1)
        world.run(30)
        assert "has met it again" in world.said
    else:
        assert "the data must be repaired" in world.said


def test_data_without_a_name_cannot_be_left_out() -> None:
    """The program would meet them again."""
    world = World(settings=Settings(skip_data=True)).start()
    world.verdict = _failure("corrupt_sample", retry=Retry.SKIP, fingerprint="x")
    world.ranks().progress(5).exit(1)
    world.run(30)
    assert len(world.launches) == 1


def test_one_more_try_can_be_forbidden() -> None:
    """A site may say that an exception is final."""
    world = World(settings=Settings(policy="python_exception.one_more=false")).start()
    world.verdict = _failure("python_exception", retry=Retry.NO, fingerprint="x")
    world.ranks().progress(5).exit(1)
    world.run(30)
    assert len(world.launches) == 1


def test_observing_remembers_nothing() -> None:
    """What is not done must not count."""
    world = World(settings=Settings(mode="observe")).start()
    world.verdict = _failure("data_source_throttled")
    world.ranks().progress(1).exit(1)
    world.run(30)
    assert world.state.not_before is None
    assert world.state.behind.restarts_by == {}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ("network", "'network' is not NAME.FIELD=VALUE"),
        ("network.budget", "'network.budget' is not NAME.FIELD=VALUE"),
        (".budget=3", "'.budget=3' is not NAME.FIELD=VALUE"),
        ("network.budgets=3", "fields are budget, wait_s, wait_most_s, one_more, rollback"),
        ("network.budget=many", "network: Expected `int | null`, got `str`"),
        ("network.budget=-1", "network.budget must be 0 or more"),
        ("network.wait_s=inf", "network.wait_s must be 0 or more"),
        ("network.wait_s=nan", "network.wait_s must be 0 or more"),
    ],
)
def test_a_wrong_word_is_named(changes: str, told: str) -> None:
    """And nothing of the line is taken."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse(f"software.budget=1 {changes}")
    assert told in str(caught.value)


_RULES = st.builds(
    Rule,
    budget=st.none() | st.integers(0, 99),
    wait_s=st.none() | st.floats(0, 1e6),
    wait_most_s=st.none() | st.floats(0, 1e6),
    one_more=st.none() | st.booleans(),
    rollback=st.none() | st.booleans(),
)


@given(st.dictionaries(st.sampled_from(["network", "segfault", "default"]), _RULES))
def test_a_table_and_a_line_say_the_same(rows: dict[str, Rule]) -> None:
    """A file's tables travel as a line."""
    given_ones = {
        name: {field: value for field, value in msgspec.structs.asdict(rule).items() if value is not None}
        for name, rule in rows.items()
    }
    assert parse(as_text(given_ones)) == {name: rule for name, rule in rows.items() if given_ones[name]}
