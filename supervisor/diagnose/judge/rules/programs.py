"""Programs: signals and asserts mean different things by what stands beside them."""

import re
from dataclasses import replace
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import RAISED, last_words
from supervisor.diagnose.judge.rules.absent import IN_VAIN, OF_OTHERS
from supervisor.diagnose.judge.rules.closing import is_done
from supervisor.diagnose.judge.rules.plans import ended_badly
from supervisor.diagnose.judge.rules.words import names_a_place
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_MEMORY: Final = frozenset({"host_memory_uncorrectable", "host_machine_check"})
_CRASHES: Final = frozenset({"segfault", "illegal_instruction"})
_PROVEN: Final = 0.8
"""What kernel or Slurm say of an OOM kill is surer than this; a bare SIGKILL is not."""
_SHM: Final = "/dev/shm"  # noqa: S108 - looked for, not written to
_SHARED: Final = "shared_memory"
"""Python's module for it: beside a bus error the likeliest thing that was too small."""
_SIGBUS: Final = 7
_SIGKILL: Final = 9
_CLOSE_S: Final = 90.0
_VANISHED: Final = frozenset(
    {
        "file_not_found",
        "checkpoint_save_race",
        "python_exception",
        "cache_lock_race",
        "import_error",
        "shared_fs_outage",
    }
)
_VAGUE: Final = 0.5
_HINT: Final = 0.42
_SAID: Final = 0.75
"""Above this a network's trouble is told and not guessed."""
_OF_IDS: Final = frozenset({"token_beyond_vocabulary", "cpu_embedding_index", "assert_embedding_index"})
_MANY_STEPS: Final = 1000
"""A vocabulary that is too small does not go unnoticed for so long."""
_RAY: Final = "ray_node_dead"
_DEVICES: Final = ("kernel/", "nvml/", "rdma/")
_OWN: Final = 0.6
_AT_ONCE_S: Final = 5.0
_COMPILER: Final = re.compile(
    r"\.triton/|torchinductor|inductor_|torch_extensions|ComputeCache|jax_cache|\.cubin|\.ttgir"
)
_ENDS: Final = re.compile(
    r"\b(?:FATAL|[Ff]atal|SEVERE|CRITICAL|PANIC|panicked|ABORT\w{0,3}|[Aa]bort\w{0,3}|STOP\w{0,4}|[Ss]topping|[Tt]erminating|[Ee]xiting)\b|"
    r"\bwhat\(\): |^Exception in thread \"main\"|^panic: |^Died at |^Plugin error |^make(?:\[\d\])?: \*\*\* |"
    r"\w_ABORT\b|\bprocess didn't exit successfully|^(?:[\w/().-]{1,30} ){0,3}error: (?!\W{0,3}\d)|"
    r"^\W{0,8}[Ii]nput errors?\b|\b(?:run|command|calculation|simulation|analysis|assembly|alignment) failed\b|"
    r"^\W{0,8}(?:[\w().-]{1,24} ){0,3}(?:ERROR|Error)\b(?!\W{0,3}\d*\.\d)|\bERROR in \S{1,200} at line \d"
)
"""A program says that it ends because of it: nobody else has to tell that it ended badly."""
_EMBEDDING: Final = re.compile(r"srcIndex|embedding|vocab|token", re.IGNORECASE)
_INDEX: Final = re.compile(
    r"srcIndex|index out of bounds|< ?(?:n_classes|num_classes|srcSelectDimSize|sizes?\b|vocab)|idx_dim|out of range|"
    r"t >= 0|target|label",
    re.IGNORECASE,
)


def bus_error(case: Case) -> None:
    """SIGBUS: a full /dev/shm where something says so, else what the kernel says of memory; alone it is vague."""
    if not any(one.signal == _SIGBUS or "bus error" in one.text.lower() for one in case.findings):
        return
    if case.of(*_MEMORY):
        case.change(lambda one: one.role == "root" and one.cause == "shm_exhausted", role="echo")
    elif case.of("shm_exhausted"):
        case.change(lambda one: one.role == "root" and one.cause == "no_space_left" and _SHM in one.text, role="echo")
    elif any(_SHARED in line for log in case.scanned for line in log.end):
        case.change(lambda one: one.cause == "segfault" and "us error" in one.text, cause="shm_exhausted", weight=_OWN)


def killed(case: Case) -> None:
    """SIGKILL proves nothing by itself: who sent it, and why, has to be told by a line about memory (edge rule 2)."""
    if any(one.weight > _PROVEN or one.signal != _SIGKILL for one in case.of("host_oom")):
        return
    case.change(lambda one: one.cause == "host_oom" and one.signal == _SIGKILL, role="echo", cause="")


def crash_after(case: Case) -> None:
    """A crash of native code after an earlier failure elsewhere is that failure's echo. A lost peer is none."""
    firm = [one for one in case.faults() if one.cause not in _CRASHES | IN_VAIN and one.weight >= 0.55]  # noqa: PLR2004 - more than vague
    firm += [one for one in case.of(*IN_VAIN) if one.source.startswith(_DEVICES) or one.weight > _SAID]
    if not firm:
        return
    case.change(lambda one: one.role == "root" and one.cause in _CRASHES and _is_after_any(one, firm), role="echo")


def compiler_caches(case: Case) -> None:
    """A file that vanishes or is busy below a compiler's cache: ranks race for it. Not if it does not compile."""
    is_server_lost = any(one.source.startswith("kernel/") for one in case.marked("silent_storage"))
    told = [one for one in case.roots() if one.cause in _VANISHED and _COMPILER.search(one.text) and not is_server_lost]
    if any(not _COMPILER.search(one.text) and "Errno" not in one.text for one in case.of("compile_failure")):
        case.change(lambda one: one in told or (one.role == "root" and one.cause == "jit_cache_race"), role="echo")
    else:
        case.change(lambda one: one in told or _is_refused_write(one), cause="jit_cache_race", weight=0.88)


def _is_refused_write(one: Finding) -> bool:
    """The compiler tells of it as its own failure: `InductorError: OSError: [Errno 16] Device or resource busy`."""
    return one.role == "root" and one.cause == "compile_failure" and "Errno" in one.text


def asserts(case: Case) -> None:
    """One rank's assert about an index in the middle of a run is about one sample: data (edge rule 3)."""
    told = [one for one in case.of("device_side_assert") if one.weight]
    texts = [one for one in case.findings if _is_assertion(one)]
    if not told or not any(_INDEX.search(one.text) for one in texts):
        return
    ranks = {one.rank for one in [*told, *texts]}
    if len(ranks) == 1 and case.made_progress and not case.of("vocab_mismatch"):
        case.change(told, cause="label_or_token_out_of_range", weight=0.8)


def out_of_range_from_the_start(case: Case) -> None:
    """An id out of range on all ranks, or before any step, is the program's: its vocabulary is too small (rule 3)."""
    told = case.of("device_side_assert", "label_or_token_out_of_range")
    texts = [one for one in case.findings if _is_assertion(one)]
    if not told or not any(_EMBEDDING.search(one.text) for one in texts):
        return
    ranks = {one.rank for one in [*told, *texts] if one.rank is not None}
    if not case.made_progress or (len(ranks) > 1 and 2 * len(ranks) >= len(case.ranks)):
        case.change(told, cause="vocab_mismatch", weight=0.8)


def beyond_the_positions(case: Case) -> None:
    """The tokenizer warned of a text longer than the model's positions: one of those lacks, and no id."""
    if case.known("tokenizer_longer_than_model"):
        told = [one for one in case.of("vocab_mismatch") if _is_assertion(one)]
        case.change(told, cause="device_side_assert", weight=0.86)


def last_word(case: Case) -> None:
    """A rank ended with an exception of its own whose traceback is not at hand, and others waited for it at most."""
    roots = case.roots()
    if any(one.cause not in IN_VAIN or one.source.startswith(_DEVICES) or one.weight > _SAID for one in roots):
        return
    told = [one for one in last_words(case) if one.signature == RAISED and not OF_OTHERS.search(one.text)]
    if roots:
        told = [one for one in told if all(_is_elsewhere(one, each) for each in roots)]
    if told:
        case.change(roots, role="echo")
        case.findings.append(replace(told[-1], role="root", cause="python_exception", weight=_VAGUE))


def last_complaint(case: Case) -> None:
    """Nothing tells why a job failed, but a program's last word is an error of its own: hardly more than a hint.

    Where nobody else says that it failed, the program has to say that it ends, and not that its work is done.
    """
    if case.roots() or any(one.cause for one in case.findings if one.role == "echo"):
        return
    told = [one for one in last_words(case) if one.signature != RAISED and not OF_OTHERS.search(one.text)]
    if not ended_badly(case):
        is_well = any(is_done(line) for log in case.scanned for line in log.end)
        told = [] if is_well else [one for one in told if _ENDS.search(one.text)]
    case.findings += [replace(one, role="root", cause="not_converged", weight=_HINT) for one in told[-1:]]


def beyond_in_one_sample(case: Case) -> None:
    """An id beyond the vocabulary on one of several ranks in the middle of a run is in one sample (edge rule 3)."""
    told = [one for one in case.of("vocab_mismatch") if one.signature in _OF_IDS]
    ranks = {one.rank for one in told}
    steps = max((each.step for one in case.scanned for each in one.progress), default=0)
    is_late = len(case.ranks) > 1 or steps >= _MANY_STEPS or any(names_a_place(one.text) for one in told)
    if case.made_progress and len(ranks) == 1 and is_late:
        told += [one for one in case.of("device_side_assert") if one.rank in ranks]  # the assert that it tells of
        case.change(told, cause="label_or_token_out_of_range", weight=0.8)


def peer_failed(case: Case) -> None:
    """A rank that failed by itself is why others could not reach it, or waited for it in vain."""
    waited = [one for one in case.of(*IN_VAIN) if not one.source.startswith(_DEVICES)] + case.known(_RAY)
    alone = [
        one
        for one in case.faults()
        if one.scope == "own" and one.weight >= _OWN and one.is_line and not one.source.startswith(_DEVICES)
        if cause(one.cause).cls in {Class.SOFTWARE, Class.DATA} and not OF_OTHERS.search(one.text)
    ]
    explained = [one for one in waited if any(_is_elsewhere(each, one) and _is_no_later(each, one) for each in alone)]
    case.change(explained, role="echo")


def _is_elsewhere(one: Finding, other: Finding) -> bool:
    if one.order[0] == other.order[0] and other.signature == _RAY:
        return one.order < other.order  # Ray's own process tells of all nodes
    if one.rank is None and other.rank is not None and one.order[0] == other.order[0]:
        return one.order < other.order  # nobody's label is on it, and a rank complains afterwards
    return one.order[0] != other.order[0] or (one.rank is not None and one.rank != other.rank)


def _is_no_later(one: Finding, other: Finding) -> bool:
    return one.time is None or other.time is None or one.time <= other.time + _AT_ONCE_S


def labels_everywhere(case: Case) -> None:
    """A label out of range on most ranks is no single sample's: the number of classes is set too small (rule 3)."""
    told = case.of("label_or_token_out_of_range")
    ranks = {one.rank for one in told if one.rank is not None}
    if len(ranks) > 1 and 2 * len(ranks) >= len(ranks | case.heard):
        case.change(told, cause="device_side_assert", weight=0.8)


def _is_assertion(one: Finding) -> bool:
    return "Assert" in one.text or "assert" in one.text or "IndexError" in one.text


def _is_after_any(one: Finding, firm: list[Finding]) -> bool:
    for other in firm:
        if one.time is None or other.time is None:
            if one.order[0] != other.order[0] or other.order < one.order:
                return True
        elif other.time <= one.time + _CLOSE_S:
            return True
    return False
