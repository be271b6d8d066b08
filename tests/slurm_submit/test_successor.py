"""What a resubmission asks for."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import UsageError
from supervisor.ledger.run_file import RunFile
from supervisor.model.facts import NodeState
from supervisor.model.ids import NodeName, RunId
from supervisor.slurm.directives import parse_directives
from supervisor.slurm.hostlist import expand
from supervisor.slurm.sbatch_options import effective, parse
from supervisor.slurm.successor import EXCLUDE_LIMIT_BYTES, Circumstances, Successor, affordable, successor

FOLDER = "/w/.supervise/r-abc12"
SCRIPT = "#!/bin/sh\n#SBATCH -N 2\nsrun x\n"


def _names(text: str) -> tuple[NodeName, ...]:
    return expand(text)


def _again(  # the axes of a resubmission
    args: str = "",
    *,
    script: str = SCRIPT,
    exclude: str = "n1",
    known: str | None = "n[1-9]",
    spares: int = 0,
    env: dict[str, str] | None = None,
    array_task: str = "",
) -> Successor:
    run = RunFile(
        run_id=RunId("r-abc12"),
        created_at=1.0,
        sbatch_args=tuple(args.split()),
        script_name="train.sh",
        script_args=("--lr", "0.1"),
        workdir="/w",
    )
    at = Circumstances(
        env=env or {}, script=script, known=None if known is None else _names(known), array_task=array_task
    )
    return successor(run, FOLDER, exclude=_names(exclude), spares=spares, at=at)


def _obeyed(made: Successor) -> dict[str, str]:
    argv = made.argv[made.argv.index("sbatch") + 1 :]
    script = made.files.get("submitted/train.sh", SCRIPT.encode()).decode()
    return effective(parse_directives(script).options(), parse(argv).options)


def test_script_arguments_and_folder_are_the_first_ones() -> None:
    """The job runs the same file with the same arguments, submitted from the same folder."""
    made = _again("-p gpu")
    line = parse(made.argv[made.argv.index("sbatch") + 1 :])
    assert line.script == f"{FOLDER}/submitted/train.sh"
    assert line.script_args == ("--lr", "0.1")
    assert made.cwd == "/w"
    assert _obeyed(made)["partition"] == "gpu"
    assert "parsable" in _obeyed(made)


@pytest.mark.parametrize(
    ("args", "script", "exclude", "expected"),
    [
        ("", SCRIPT, "n1", "n1"),
        ("-x n5", SCRIPT, "n1,n2", "n[1-2,5]"),
        ("--exclude=n[4-5] -x n6", SCRIPT, "n1", "n[1,6]"),
        ("", "#!/bin/sh\n#SBATCH -N 2 -x n7\n:\n", "n1", "n[1,7]"),
    ],
)
def test_exclusions_are_merged_with_the_users_own(args: str, script: str, exclude: str, expected: str) -> None:
    """Of two `--exclude` sbatch obeys the last: both sets go into one list, compressed."""
    assert _obeyed(_again(args, script=script, exclude=exclude))["exclude"] == expected


def test_an_exclude_from_the_environment_counts_as_the_users_own() -> None:
    """There is no SBATCH_EXCLUDE in Slurm; a variable of that name changes nothing."""
    assert _obeyed(_again(env={"SBATCH_EXCLUDE": "n9"}))["exclude"] == "n1"


def test_names_that_the_cluster_does_not_know_are_left_out() -> None:
    """One of them and sbatch refuses everything."""
    made = _again(exclude="n1,x99")
    assert _obeyed(made)["exclude"] == "n1"
    assert made.excluded == ("n1",)
    assert any("x99" in reason for reason in made.reasons)


def test_without_a_list_of_the_cluster_no_name_is_dropped() -> None:
    """Unknown stays unknown: an unanswered question is no reason to go back to a bad node."""
    assert _obeyed(_again(exclude="x99", known=None))["exclude"] == "x99"


def test_a_users_exclude_file_that_was_not_read_goes_first() -> None:
    """Ours cannot be merged with a file: the user's word stays, and the reason says so."""
    made = _again("-x ./bad-nodes")
    assert _obeyed(made)["exclude"] == "./bad-nodes"
    assert made.excluded == ()
    assert any("bad-nodes" in reason for reason in made.reasons)


def test_a_list_beyond_the_kernels_limit_is_shortened_from_its_end() -> None:
    """The worst nodes stand first and stay."""
    many = tuple(NodeName(f"n{number}-{'x' * 40}{number}") for number in range(4000))
    run = RunFile(run_id=RunId("r"), created_at=1.0, script_name="t", workdir="/w")
    made = successor(run, FOLDER, exclude=many, spares=0, at=Circumstances(env={}, script=SCRIPT))
    option = next(word for word in made.argv if word.startswith("--exclude="))
    assert len(option) <= EXCLUDE_LIMIT_BYTES + len("--exclude=")
    assert made.excluded == many[: len(made.excluded)]
    assert 0 < len(made.excluded) < len(many)


def test_a_pinned_node_that_is_excluded_leaves_the_pin() -> None:
    """`-w A -x A` is refused by sbatch."""
    made = _again("-w n[1-3]")
    assert _obeyed(made)["nodelist"] == "n[2-3]"
    assert any("--nodelist=n[1-3]" in reason for reason in made.reasons)


@pytest.mark.parametrize(
    ("args", "script"), [("-w n1", SCRIPT), ("", "#!/bin/sh\n#SBATCH -N 2\n#SBATCH -w n1 --mem=1G\n:\n")]
)
def test_a_pin_of_which_nothing_is_left_is_dropped(args: str, script: str) -> None:
    """From the command line and from the script, which keeps its other options and its line numbers."""
    made = _again(args, script=script)
    assert "nodelist" not in _obeyed(made)
    assert _obeyed(made)["nodes"] == "2"
    for content in made.files.values():
        assert content.decode().count("\n") == script.count("\n")


def test_a_pin_without_bad_nodes_stays() -> None:
    """The user's reason for it still holds."""
    assert _obeyed(_again("-w n[3-4]"))["nodelist"] == "n[3-4]"


@pytest.mark.parametrize("place", ["args", "script"])
@pytest.mark.parametrize("option", ["--begin=20:00", "--dependency=afterok:1", "--hold", "--wait", "--parsable"])
def test_what_held_for_the_first_job_does_not_hold_again(option: str, place: str) -> None:
    """A second `--begin=20:00` would wait for tomorrow, a hold for ever."""
    script = SCRIPT.replace("-N 2", f"-N 2 {option}") if place == "script" else SCRIPT
    made = _again(option if place == "args" else "", script=script)
    name = option[2:].split("=", maxsplit=1)[0]
    assert name not in _obeyed(made) or name == "parsable"
    assert _obeyed(made)["nodes"] == "2"


def test_a_fixed_output_file_is_appended_to() -> None:
    """Otherwise the second job empties the log of the first."""
    assert _obeyed(_again("-o train.log"))["open-mode"] == "append"
    assert "open-mode" not in _obeyed(_again("-o train-%j.log"))
    assert "open-mode" not in _obeyed(_again())
    assert _obeyed(_again("-o train.log --open-mode=truncate"))["open-mode"] == "truncate"


def test_a_task_of_an_array_is_repeated_alone() -> None:
    """With the index it had, which its script reads."""
    assert _obeyed(_again("-a 0-9", array_task="3"))["array"] == "3"


def test_spares_are_asked_for_anew() -> None:
    """As many as there is room for now, not as many as at first."""
    assert _obeyed(_again(spares=1))["nodes"] == "3"
    assert _obeyed(_again(spares=0))["nodes"] == "2"
    with pytest.raises(UsageError):
        _again("-N1-2", spares=1)


def test_the_environment_is_the_users() -> None:
    """Nothing of the old job and of the attempt stays; SLURM_CONF and the user's own do."""
    env = {
        "HOME": "/h",
        "SLURM_CONF": "/etc/s.conf",
        "SLURM_JOB_ID": "1",
        "SLURM_NTASKS_PER_NODE": "8",
        "SLURMD_NODENAME": "n1",
        "SUPERVISE_ATTEMPT": "1",
        "SUPERVISE_RUN_ID": "r",
        "SUPERVISE_HOME": "/scratch",
        "SBATCH_PARTITION": "gpu",
        "SBATCH_WAIT": "1",
        "WANDB_PROJECT": "x",
    }
    made = _again(env=env)
    assert made.environment == {
        "HOME": "/h",
        "SLURM_CONF": "/etc/s.conf",
        "SUPERVISE_HOME": "/scratch",
        "SBATCH_PARTITION": "gpu",
        "WANDB_PROJECT": "x",
    }


@pytest.mark.parametrize(
    ("env", "head"), [({}, ("env", "-u", "LC_ALL")), ({"LC_ALL": "de_DE"}, ("env", "LC_ALL=de_DE"))]
)
def test_the_successor_gets_the_users_locale(env: dict[str, str], head: tuple[str, ...]) -> None:
    """Our own calls of Slurm run under LC_ALL=C, and sbatch hands its environment on."""
    made = _again(env=env)
    assert made.argv[: len(head) + 1] == (*head, "sbatch")


def test_a_file_descriptor_of_the_first_sbatch_is_not_used() -> None:
    """`--export-file=3` meant an open file that is gone."""
    assert "export-file" not in _obeyed(_again("--export-file=3"))
    assert _obeyed(_again("--export-file=/w/env"))["export-file"] == "/w/env"


def _states(text: str) -> list[NodeState]:
    """`n1 n2:DOWN` as states."""
    pairs = (word.partition(":") for word in text.split())
    return [NodeState(node=NodeName(name), states=tuple((state or "IDLE").split("+"))) for name, _, state in pairs]


@pytest.mark.parametrize(
    ("nodes", "exclude", "users", "needed", "spares", "kept", "room"),
    [
        ("n1 n2 n3 n4", "n1", "", 3, 0, "n1", 0),
        ("n1 n2 n3 n4", "n1", "", 2, 1, "n1", 1),
        ("n1 n2 n3 n4", "n1,n2", "", 2, 1, "n1,n2", 0),
        ("n1 n2 n3 n4", "n1,n2", "", 3, 0, "n1", 0),
        ("n1 n2 n3 n4", "n1", "", 4, 0, "", 0),
        ("n1:DOWN n2 n3 n4", "n1", "", 3, 0, "n1", 0),
        ("n1 n2 n3 n4", "n1", "n2", 3, 0, "", 0),
        ("n1:DOWN+DRAIN n2 n3", "n1,n2", "", 2, 0, "n1", 0),
        ("n1 n2:ALLOCATED n3:MIXED", "n1", "", 2, 0, "n1", 0),
        ("n1 n2", "n9", "", 2, 0, "n9", 0),
    ],
)
def test_exclusions_leave_enough_nodes(  # a table
    nodes: str, exclude: str, users: str, needed: int, spares: int, kept: str, room: int
) -> None:
    """The worst node stays out longest; spares are given up first; a dead node is excluded for nothing."""
    found = affordable(_names(exclude), nodes=_states(nodes), user_excluded=_names(users), needed=needed, spares=spares)
    assert found.kept == _names(kept)
    assert found.spares == room


@given(
    st.lists(st.sampled_from(["IDLE", "DOWN", "DRAIN", "ALLOCATED"]), max_size=8),
    st.lists(st.integers(0, 9), max_size=8),
    st.integers(1, 6),
    st.integers(0, 3),
)
def test_an_exclusion_never_makes_a_possible_job_impossible(
    states: list[str], bad: list[int], needed: int, spares: int
) -> None:
    """Where there were enough nodes before, there are enough after, spares included."""
    nodes = [NodeState(node=NodeName(f"n{at}"), states=(state,)) for at, state in enumerate(states)]
    exclude = [NodeName(f"n{number}") for number in bad]
    found = affordable(exclude, nodes=nodes, user_excluded=(), needed=needed, spares=spares)
    before = sum(state in {"IDLE", "ALLOCATED"} for state in states)
    assert set(found.kept) | set(found.dropped) == set(exclude)
    left = sum(not {"DOWN", "DRAIN"} & set(one.states) and one.node not in found.kept for one in nodes)
    assert left >= min(before, needed)
    assert found.spares <= spares
    if before >= needed:
        assert left >= needed + found.spares


def test_the_old_hostlist_pattern_of_jobs_is_seen() -> None:
    """`%4j` and `%A_%a` differ from job to job."""
    assert "open-mode" not in _obeyed(_again("-o log-%4j"))
    assert "open-mode" not in _obeyed(_again("-o log-%A_%a"))
    assert re.search("append", " ".join(_again("-o log-%x").argv))
