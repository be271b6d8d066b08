"""The environment of an attempt, variable by variable."""

import pytest

from supervisor.model.ids import AttemptNo, IncidentNo, NodeName, RunId
from supervisor.slurm.environment import Attempt, Shim, attempt_environment, parse_environ

# What 22.05.8 gives the batch script of `sbatch -N4 --ntasks-per-node=2 --gpus=32`.
BASE = {
    "PATH": "/usr/bin:/bin",
    "SLURM_JOB_ID": "17",
    "SLURM_JOB_NODELIST": "node[001-004]",
    "SLURM_NODELIST": "node[001-004]",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_NNODES": "4",
    "SLURM_NTASKS": "8",
    "SLURM_NPROCS": "8",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_TASKS_PER_NODE": "2(x4)",
    "SLURM_JOB_CPUS_PER_NODE": "8(x4)",
    "SLURM_GPUS": "32",
    "SLURM_GPUS_ON_NODE": "8",
}
WHOLE = tuple(NodeName(f"node00{number}") for number in range(1, 5))
SHIM = Shim(folder="/run/shim", real="/usr/bin/srun", function="() { :; }")


def attempt(*nodes: str, **more: object) -> Attempt:
    names = tuple(NodeName(node) for node in nodes)
    hidden = tuple(node for node in WHOLE if node not in names) if names else ()
    fields = {"run_id": RunId("llama-abcde"), "attempt": AttemptNo(2), "nodes": names, "hidden": hidden, **more}
    return Attempt(**fields)  # type: ignore[arg-type]  # a test names the fields it changes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SLURM_JOB_NODELIST", "node[001-003]"),
        ("SLURM_NODELIST", "node[001-003]"),
        ("SLURM_JOB_NUM_NODES", "3"),
        ("SLURM_NNODES", "3"),
        ("SLURM_NTASKS", "6"),
        ("SLURM_NPROCS", "6"),
        ("SLURM_TASKS_PER_NODE", "2(x3)"),
        ("SLURM_JOB_CPUS_PER_NODE", "8(x3)"),
        ("SLURM_GPUS", "24"),
    ],
)
def test_each_variable_of_slurm(name: str, value: str) -> None:
    """With one of four nodes out, each variable tells of three; where it was not set, it stays unset."""
    inside = attempt("node001", "node002", "node003")
    assert attempt_environment(BASE, inside).set[name] == value
    without = {key: old for key, old in BASE.items() if key != name}
    changes = attempt_environment(without, inside)
    assert name not in changes.set
    assert name not in changes.unset


def test_only_the_listed_variables_of_slurm_change() -> None:
    """Nothing else of Slurm's is touched: what a node or a task gets does not depend on how many there are."""
    changed = attempt_environment(BASE, attempt("node001", "node002", "node003")).set
    assert not {"SLURM_JOB_ID", "SLURM_NTASKS_PER_NODE", "SLURM_GPUS_ON_NODE"} & set(changed)


@pytest.mark.parametrize("nodes", [WHOLE, ()])
def test_nothing_of_slurm_changes_with_all_nodes_or_without_slurm(nodes: tuple[str, ...]) -> None:
    """An attempt on the whole job sees the very environment that Slurm made, and none of the shim."""
    changed = attempt_environment(BASE, attempt(*nodes, shim=SHIM)).set
    assert not [name for name in changed if name.startswith(("SLURM", "BASH_FUNC", "SUPERVISE_SHIM", "PATH"))]


def test_heterogeneous_job_is_left_alone() -> None:
    """A heterogeneous job has its variables per group, and srun obeys only those."""
    changed = attempt_environment({**BASE, "SLURM_HET_SIZE": "2"}, attempt("node001")).set
    assert not [name for name in changed if name.startswith("SLURM")]


def test_uneven_nodes_keep_their_own_counts() -> None:
    """Nodes that hold different counts keep theirs, and the sum follows."""
    base = {**BASE, "SLURM_TASKS_PER_NODE": "3,1(x2),4", "SLURM_NTASKS": "9", "SLURM_JOB_CPUS_PER_NODE": "6,2,2,8"}
    changed = attempt_environment(base, attempt("node001", "node003", "node004")).set
    assert (changed["SLURM_TASKS_PER_NODE"], changed["SLURM_NTASKS"]) == ("3,1,4", "8")
    assert changed["SLURM_JOB_CPUS_PER_NODE"] == "6,2,8"


@pytest.mark.parametrize(
    ("old", "new"), [("32", "24"), ("h100:32", "h100:24"), ("h100:16,a100:8", "h100:12,a100:6"), ("1", "1")]
)
def test_gpus_are_cut_to_the_share_of_the_nodes(old: str, new: str) -> None:
    """GPUs with and without a type follow the nodes, never below one: srun hangs for ever on too many."""
    changed = attempt_environment({**BASE, "SLURM_GPUS": old}, attempt("node001", "node002", "node003")).set
    assert changed["SLURM_GPUS"] == new


def test_tasks_that_nobody_counted_per_node_are_cut_to_the_share() -> None:
    """Where the counts per node do not add up to the tasks, the tasks follow the nodes."""
    base = {**BASE, "SLURM_TASKS_PER_NODE": "8(x4)"}
    changed = attempt_environment(base, attempt("node001", "node002")).set
    assert (changed["SLURM_NTASKS"], changed["SLURM_TASKS_PER_NODE"]) == ("4", "8(x2)")


def test_garbled_counts_are_left_as_they_are() -> None:
    """A value of another shape than Slurm's is not made worse, and does not fill the memory."""
    base = {**BASE, "SLURM_TASKS_PER_NODE": "2(x999999999)", "SLURM_JOB_CPUS_PER_NODE": "many"}
    changed = attempt_environment(base, attempt("node001", "node002")).set
    assert changed["SLURM_TASKS_PER_NODE"] == "2(x999999999)"
    assert changed["SLURM_JOB_CPUS_PER_NODE"] == "many"


@pytest.mark.parametrize(
    ("field", "value", "name", "text"),
    [
        ("resume_from", "/c/step 7", "SUPERVISE_RESUME_FROM", "/c/step 7"),
        ("resume_step", 0, "SUPERVISE_RESUME_STEP", "0"),
        ("incident", IncidentNo(3), "SUPERVISE_INCIDENT", "3"),
        ("skip", ("/data/1.tar", "step 7"), "SUPERVISE_SKIP", "/data/1.tar\nstep 7"),
        ("hidden", (NodeName("n1"), NodeName("n2")), "SUPERVISE_HIDDEN", "n[1-2]"),
    ],
)
def test_what_is_said_only_when_there_is_something_to_say(field: str, value: object, name: str, text: str) -> None:
    """Each of these is set where known, and otherwise unset, so that nothing of an earlier attempt is believed."""
    assert attempt_environment({}, attempt(**{field: value})).set[name] == text
    silent = attempt_environment({name: "old"}, attempt())
    assert name not in silent.set
    assert name in silent.unset


def test_run_and_attempt() -> None:
    """Every process of an attempt carries both."""
    changed = attempt_environment({}, attempt()).set
    assert (changed["SUPERVISE_RUN_ID"], changed["SUPERVISE_ATTEMPT"]) == ("llama-abcde", "2")


@pytest.mark.parametrize(
    ("name", "value"), [("WANDB_RUN_ID", "llama-abcde"), ("WANDB_RESUME", "allow"), ("PYTHONFAULTHANDLER", "1")]
)
def test_defaults_never_override_the_user(name: str, value: str) -> None:
    """Loggers keep one run over all attempts and crashes leave a trace, unless the user has said otherwise."""
    assert attempt_environment({}, attempt()).set[name] == value
    assert name not in attempt_environment({name: ""}, attempt()).set


def test_torchelastic_is_left_alone() -> None:
    """PyTorch takes a set TORCHELASTIC_RUN_ID as proof of torchrun, and Lightning then fails under plain srun."""
    assert "TORCHELASTIC_RUN_ID" not in attempt_environment({}, attempt()).set


def test_shim_stands_in_front_where_nodes_are_hidden() -> None:
    """PATH, the shell function, the real srun and the job that they are for come together."""
    changed = attempt_environment(BASE, attempt("node001", shim=SHIM)).set
    assert changed["PATH"] == "/run/shim:/usr/bin:/bin"
    assert changed["BASH_FUNC_srun%%"] == "() { :; }"
    assert (changed["SUPERVISE_SHIM_SRUN"], changed["SUPERVISE_SHIM_JOB"]) == ("/usr/bin/srun", "17")


@pytest.mark.parametrize(("old", "new"), [(None, "/run/beat"), ("", "/run/beat"), ("/x:/y", "/run/beat:/x:/y")])
def test_beat_module_is_found_first(old: str | None, new: str) -> None:
    """The beat's folder is put in front; an empty entry, which would mean the working folder, never arises."""
    base = {} if old is None else {"PYTHONPATH": old}
    assert attempt_environment(base, attempt(beat_folder="/run/beat")).set["PYTHONPATH"] == new


@pytest.mark.parametrize("old", [None, "C", "de_DE.UTF-8"])
def test_pythons_own_locale_does_not_reach_the_script(old: str | None) -> None:
    """LC_CTYPE is what Slurm gave the script, whatever Python set in the keeper under the C locale."""
    changes = attempt_environment({} if old is None else {"LC_CTYPE": old}, attempt())
    assert changes.set.get("LC_CTYPE") == old
    assert ("LC_CTYPE" in changes.unset) is (old is None)


def test_environment_of_a_process() -> None:
    """A /proc/<pid>/environ is read as it is: values with equals signs, newlines and bytes that are no UTF-8."""
    block = b"A=1=2\0B=x\ny\0C=\xff\0garbage\0BASH_FUNC_ml%%=() {  :\n}\0"
    assert parse_environ(block) == {"A": "1=2", "B": "x\ny", "C": "\udcff", "BASH_FUNC_ml%%": "() {  :\n}"}
