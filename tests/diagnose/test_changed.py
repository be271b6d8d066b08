"""What changed since the good run, in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.diagnose.bundle import Bundle, Log
from supervisor.diagnose.bundle_files import files_of
from supervisor.diagnose.changed import choose, compared, environment, told
from supervisor.diagnose.changed_line import in_words
from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.hunks import hunks_between, parse_diff
from supervisor.model.software import Git, Hunk, Software
from supervisor.model.verdict import Changed, Class

_OLD, _NEW = "1a2b3c4d" * 5, "4d5e6f70" * 5


def _line(old: str, new: str, *, path: str = "train.py", line: int = 212) -> Hunk:
    return Hunk(path=path, line=line, old=(old,) if old else (), new=(new,) if new else ())


def _git(*hunks: Hunk, commit: str = _OLD, **more: object) -> Git:
    dirty = tuple(hunk.path for hunk in hunks)
    return Git(**{"root": "/r", "commit": commit, "branch": "main", "dirty": dirty, "hunks": hunks, **more})  # type: ignore[arg-type]  # a maker of tests


def _what(now: Software, good: Software, *between: Hunk) -> tuple[str, ...]:
    return compared(now, good, since="job 79990 (completed)", between=between).what


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    eval_batch = 4", "    eval_batch = 8", "eval_batch 4 -> 8"),
        ("srun train.py --lr 3e-4 --tp 8", "srun train.py --lr 6e-4 --tp 8", "lr 3e-4 -> 6e-4"),
        ("opt = Adam(lr=3e-4, eps=1e-8)", "opt = AdamW(lr=3e-4, eps=1e-8)", "opt Adam -> AdamW"),
        ("x = f(a)", "y = g(b)", '"x = f(a)" -> "y = g(b)"'),
        ("def f(a):", "def f(a, b):", '"def f(a):" -> "def f(a, b):"'),
        ("", "import os", 'added: "import os"'),
        ("import os", "", 'removed: "import os"'),
        ("key = ***", "key = ***", "changed, not in what is shown"),
    ],
)
def test_a_changed_line_is_named_by_what_differs(old: str, new: str, words: str) -> None:
    """The name before it, then old and new; where no name stands before it, both lines."""
    assert in_words(_line(old, new)) == f"train.py:212 {words}"


def test_each_kind_of_change_is_told_the_most_telling_first() -> None:
    """Lines of code before commits, versions and modules."""
    good = Software(
        arguments=("--lr", "3e-4"),
        modules=("cuda/12.4", "gcc/12"),
        packages={"torch": "2.6.0", "tqdm": "1"},
        container="a.sif",
        driver="550.1",
        git=_git(),
    )
    now = Software(
        arguments=("--lr", "6e-4"),
        modules=("cuda/12.6", "nccl/2.22"),
        packages={"torch": "2.7.1", "tqdm": "2"},
        container="b.sif",
        driver="570.1",
        git=_git(_line("eval_batch = 4", "eval_batch = 8"), commit=_NEW),
    )
    assert _what(now, good) == (
        "train.py:212 eval_batch 4 -> 8",
        "arguments lr 3e-4 -> 6e-4",
        "commit 1a2b3c4 -> 4d5e6f7 (dirty)",
        "torch 2.6.0 -> 2.7.1",
        "tqdm 1 -> 2",
        "module cuda/12.4 -> cuda/12.6",
        "module (none) -> nccl/2.22",
        "module gcc/12 -> (none)",
        "container a.sif -> b.sif",
        "driver 550.1 -> 570.1",
    )


def test_what_was_dirty_and_is_committed_now_is_no_change() -> None:
    """The good run had these lines already."""
    hunk = _line("eval_batch = 4", "eval_batch = 8")
    good = Software(git=_git(hunk))
    now = Software(git=_git(commit=_NEW))
    assert _what(now, good, hunk) == ("commit 1a2b3c4 (dirty) -> 4d5e6f7",)


def test_a_change_that_was_taken_back_is_one() -> None:
    """The good run had it, this one has not."""
    good = Software(git=_git(_line("eval_batch = 8", "eval_batch = 4")))
    assert _what(Software(git=_git()), good) == ("train.py:212 eval_batch 4 -> 8",)


def test_a_change_too_long_to_keep_names_its_files() -> None:
    """`is_cut`: the lines are not known, the files are."""
    now = Software(git=_git(dirty=("big.py",), is_cut=True))
    assert _what(now, Software(git=_git())) == ("uncommitted changes in big.py",)
    assert _what(now, now) == ()


def test_a_script_is_compared_line_by_line() -> None:
    """Also one that lies in no repository; a line that git names already is not told twice."""
    old, new = "#!/bin/sh\nsrun train --tp 4\n", "#!/bin/sh\nsrun train --tp 8\n"
    good = Software(script_name="train.sh", script=old, script_sha256="1")
    now = Software(script_name="train.sh", script=new, script_sha256="2")
    assert _what(now, good) == ("train.sh:2 tp 4 -> 8",)
    hunk = _line("srun train --tp 4", "srun train --tp 8", path="jobs/train.sh", line=2)
    in_git = Software(script_name="train.sh", script=new, script_sha256="2", git=_git(hunk))
    with_git = Software(script_name="train.sh", script=old, script_sha256="1", git=_git())
    assert _what(in_git, with_git) == ("jobs/train.sh:2 tp 4 -> 8",)
    assert _what(Software(script_name="a", script_sha256="2"), good) == ("script a",)


def test_what_is_not_known_is_no_change() -> None:
    """An empty record beside a full one tells nothing."""
    full = Software(packages={"torch": "2"}, python="/p", container="c", driver="1", git=_git(), script_sha256="1")
    assert _what(Software(), full) == _what(full, Software()) == ()


def test_the_first_comparison_with_a_change_is_told() -> None:
    """Else that nothing changed since the nearest good run."""
    none, some = Changed(since="attempt 1"), Changed(since="job 7", what=("x",))
    assert choose([none, some]) is some
    assert choose([none]) is none
    assert choose([]) is None
    assert none.text == "nothing that is known since attempt 1"
    assert Changed(since="job 7", what=("x", "y"), more=2).text == "since job 7: x; y; and 2 more"


def test_a_software_verdict_names_it_and_no_other() -> None:
    """From the bundle's `environment.json`, whoever judges it."""
    changed = Changed(since="job 7 (completed)", what=("train.py:212 eval_batch 4 -> 8",))
    told_by = environment(Software(git=_git()), changed)
    oom = Log(name="job.log", lines=("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.",))
    verdict = diagnose(Bundle(logs=(oom,), environment=told_by))
    assert (verdict.cls, verdict.changed) == (Class.SOFTWARE, changed)
    assert b'"changed"' in files_of(Bundle(logs=(oom,), environment=told_by))["environment.json"]
    timeout = Log(name="slurm.log", lines=("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***",))
    assert diagnose(Bundle(logs=(timeout,), environment=told_by)).changed is None


@pytest.mark.parametrize("value", [None, [], "x", 7, {"since": 1}, {"what": ["a"]}, {"since": "a", "what": "b"}])
def test_another_form_of_environment_is_no_change(value: object) -> None:
    """Other people's bundles have an `environment.json` of their own kind."""
    assert told({"changed": value}) is None
    assert told({}) is None


def test_a_diff_of_git_is_read_by_its_counts() -> None:
    """A removed line that begins with `-- ` is no header; a new and a deleted file have their names."""
    text = (
        "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -3 +3 @@ ctx\n--- old\n+++ new\n"
        "\\ No newline at end of file\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        "--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    assert parse_diff(text) == (
        Hunk(path="q.sql", line=3, old=("-- old",), new=("++ new",)),
        Hunk(path="n.py", line=1, new=("a", "b")),
        Hunk(path="gone.py", line=0, old=("x",)),
    )


_TEXT = st.text(max_size=30)
_LINES = st.lists(st.text(alphabet="ab =4\t", max_size=6), max_size=8)
_HUNKS = st.builds(
    Hunk,
    path=st.sampled_from(["a.py", "b.py"]),
    line=st.integers(0, 9),
    old=st.lists(_TEXT, max_size=4).map(tuple),
    new=st.lists(_TEXT, max_size=4).map(tuple),
)
_GITS = st.builds(
    Git,
    root=st.sampled_from(["/r", "/s"]),
    commit=st.sampled_from([_OLD, _NEW, ""]),
    branch=_TEXT,
    dirty=st.lists(st.sampled_from(["a.py", "c.py"]), max_size=3).map(tuple),
    hunks=st.lists(_HUNKS, max_size=3).map(tuple),
    is_cut=st.booleans(),
)
_SOFTWARE = st.builds(
    Software,
    script_name=st.sampled_from(["a.sh", "b.sh"]),
    script_sha256=st.sampled_from(["", "1", "2"]),
    script=_LINES.map("\n".join),
    arguments=st.lists(_TEXT, max_size=3).map(tuple),
    modules=st.lists(st.sampled_from(["cuda/12.4", "cuda/12.6", "gcc"]), max_size=3).map(tuple),
    packages=st.dictionaries(st.sampled_from(["torch", "nvidia-nccl", "x"]), _TEXT),
    container=_TEXT,
    driver=_TEXT,
    git=st.none() | _GITS,
)


@given(_SOFTWARE, _SOFTWARE, st.lists(_HUNKS, max_size=3))
def test_any_two_can_be_compared(now: Software, good: Software, between: list[Hunk]) -> None:
    """Never raises, each change once, bounded; and the record goes through JSON unharmed."""
    found = compared(now, good, since="x", between=between)
    assert len(found.what) == len(set(found.what)) <= 12
    assert all(found.what)
    assert not found.more or len(found.what) == 12
    assert told(environment(now, found)) == found


@given(_SOFTWARE)
def test_nothing_changed_against_itself(software: Software) -> None:
    """The same twice has no change."""
    assert _what(software, software) == ()


@given(_SOFTWARE, _SOFTWARE)
def test_a_change_shows_both_ways(now: Software, good: Software) -> None:
    """What differs from the one differs from the other: both say something, or neither."""
    one, other = (
        [text for text in _what(*pair) if not text.startswith("uncommitted")] for pair in ((now, good), (good, now))
    )
    is_cut = any(one.git and one.git.is_cut for one in (now, good))
    assert is_cut or bool(one) == bool(other)


@given(_LINES, _LINES)
def test_hunks_lead_from_the_old_text_to_the_new(old: list[str], new: list[str]) -> None:
    """All that differs is in them, and nothing that does not."""
    before, after = "\n".join(old).splitlines(), "\n".join(new).splitlines()
    hunks = hunks_between("a", "\n".join(old), "\n".join(new)) or ()
    rebuilt = list(after)
    for hunk in reversed(hunks):
        at = hunk.line - 1
        assert tuple(after[at : at + len(hunk.new)]) == hunk.new
        rebuilt[at : at + len(hunk.new)] = hunk.old
    assert rebuilt == before


@given(st.text())
def test_any_text_is_read_as_a_diff(text: str) -> None:
    """What is no diff has no hunks, and nothing raises."""
    assert isinstance(parse_diff(text), tuple)
    assert isinstance(parse_diff(f"+++ b/x\n@@ -1 +1,9 @@\n{text}"), tuple)


def test_a_very_long_script_is_not_compared() -> None:
    """The comparison of two long texts takes minutes."""
    assert hunks_between("a", "x\n" * 5000, "y\n" * 5000) is None
