"""Ranks that others waited for or lost: what they say that they did instead is the program's doing."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.against import without_chance
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import last_lines
from supervisor.diagnose.scan.labels import writer_of
from supervisor.diagnose.scan.progress import progress_of
from supervisor.model.ids import Rank

IN_VAIN: Final = frozenset(
    {"rendezvous_unreachable", "nccl_timeout_unattributed", "fabric_undeliverable", "link_fault", "switch_failure"}
    | {"rdma_stall", "fabric_peer_address_stale"}
)
"""What a rank sees of the network when its peer is not there."""
OF_OTHERS: Final = re.compile(
    r"NCCL|gloo|[Cc]onnect|endezvous|Store\b|\bstore(?:->| based)|[Tt]imed? ?out|Timeout|[Ss]ocket|\bMPI_|UCX|"
    r"\b[Pp]eer|[Rr]emote|barrier|[Ww]atchdog|collective(?! var)|aborted|broken pipe|DistBackend|[Ss]ignal|[Kk]illed|"
    r"[Tt]erminated|exited|[Ii]nterrupt",
)
"""Words of a failure that may itself follow from another rank's."""
OTHERWISE: Final = "did_otherwise"
"""No word says what the rank did: only that it is the one that did something else."""
_NO_WORD: Final = re.compile(
    r"^\W*$|^Exception ignored|^wandb: |\bWarning: |\[W |^W (?:tensorflow|external|torch)/|^warnings\.warn\(|\bLmod\b|"
    r"\bFAILED$|^Failures:$|^Root Cause|<\w+>$|^(?:time|host|rank|traceback) {1,6}: |"
    r"\w(?:Warning|Error|Exception)\b|^frame #|\bGPUs?\b|\bECC\b|\bXid|\bib\d|mlx\d|\blinks?\b|\bports?\b|\bnodes?\b|"
    r"\bhosts?\b|\bping|packet|network|\bNFS\b|lustre|\bdisk\b|I/O|\bslow|temperature|throttl|\b\d{2,4} ?W\b|\bnan\b",
    re.IGNORECASE,
)
"""Of machines and networks: what such a line means is not told by who wrote it last."""
_DEVICES: Final = ("kernel/", "nvml/", "rdma/")
_TOLD: Final = 0.75
"""Above this a network's trouble is told and not guessed."""
_POINTS: Final = 0.4
"""An echo of this weight tells where to look."""
_WEIGHT: Final = 0.56
_SURER: Final = 0.64
_OTHERWISE: Final = 0.5
"""A rank did not come, and its last word is no step: it did something else, whatever that means."""
_SHORT_MS: Final = 10_000
MOST_LINES: Final = 2000
"""Of a job with thousands of ranks a few hundred tell as much."""
_MOST_OF_IT: Final = 0.8
"""Work that took so much of the time that the others waited explains why."""
_STUCK: Final = re.compile(
    r"(?<!avoid )(?<!avoid potential )\bdeadlock(?:ed)?\b|\bstuck (?:in|at|on|since)\b|\bstill busy\b|"
    r"\b(?:still|blocked|hung|hangs|hanging) (?:in|on|inside) [`'\"(\w]|\bwaiting (?:for|on) (?:the |a )?(?:\w{1,12} )?"
    r"(?:lock|mutex|semaphore|user input|next batch|batch \d)|\(Pdb\)|\bset_trace\b|\block\.acquire\b|\bqueue\.get\b"
)
_LEFT: Final = re.compile(
    r"\b(?:return(?:s|ed|ing)?|leav(?:es?|ing)|left|exit(?:s|ed|ing)?|quit(?:s|ting)?|br(?:ea|o)k(?:e|ing)?)"
    r" (?:from \w|early\b|(?:out of )?(?:the |its )?(?:\w{1,12} )?(?:loop|epoch|evaluation|validation)\b)|"
    r"\bearly[ -]stop\w{0,4}\b|\bnothing (?:to do|left)\b|\bno backward\b|\bnever entered\b|"
    r"\b(?:skip(?:s|ped|ping)?|ignor(?:es?|ed|ing)|swallow\w{0,3}|caught)\b[^\n]{0,60}\b(?:batch|step|backward|barrier|"
    r"all_?reduce|evaluation|exception|\w{3,40}Error)\b|\bon rank \d{1,6} only\b|\bexit(?:ed)? (?:code |status )?0\b",
    re.IGNORECASE,
)
_ROUTINE: Final = re.compile(r"(?i:\bloss.?scal)")
"""All ranks skip a step together where half precision overflows."""
_ENDED_ITSELF: Final = re.compile(
    r"\b(?:os\._|sys\.)exit\(|\bexit(?:s|ed)? without (?:calling )?\W?(?:MPI_)?[Ff]inali[sz]e|"
    r"\bdestroy_process_group\(\) [^\n]{0,20}\bonly\b"
)
"""Who wrote it makes no difference."""
_DISAGREE: Final = re.compile(
    r"\b(?:ranks?|world[_ ]size|worker_count|node_rank|process groups?|collectives?|config|param\w{0,6}|neighbours?|"
    r"peers?|num_processes|ntasks)\b[^\n]{0,90}\b(?:mismatch\w{0,3}|differs?|inconsistent|disagree\w{0,2}|out of range|"
    r"already (?:taken|joined|used)|unequal|not the same|did not call)\b|"
    r"\b(?:mismatch\w{0,3}|inconsistent|unequal|different)\b[^\n]{0,50}\b(?:world[_ ]size|collectives?|num_processes|"
    r"process groups?|number of (?:ranks|batches|steps))\b",
    re.IGNORECASE,
)
_UNSET: Final = re.compile(
    r"\b(?:MASTER_(?:ADDR|PORT)|WORLD_SIZE|NNODES|(?:NODE_|LOCAL_|GROUP_)?RANK|SLURM_(?:PROCID|NODEID|LOCALID))\b"
    r" (?:is |was )?(?:unset|not set|empty|missing|undefined)\b"
)
"""What tells each process who and where it is."""
_LASTED: Final = re.compile(
    r"\b(?:took|(?:done|finished|ready)(?: in| after)?)\b[ ,:=]{1,3}(?P<number>\d{2,6}(?:\.\d{1,3})?) ?"
    r"(?P<unit>s|sec|seconds|m|min|minutes)\b"
)
_WAITED: Final = re.compile(
    r"Timeout\(ms\)=(?P<ms>\d{1,9})|\b(?:[Tt]imed out|[Tt]imeout|[Ww]aiting) (?:waiting |after |of )?"
    r"(?P<number>\d{1,9}) ?(?P<unit>ms|s)\b"
)
_REACHED: Final = frozenset({"rendezvous_clients_missing", "store_based_barrier_timeout"})
"""Who counts those that came was reached by them."""
_WORK: Final = re.compile(r"SeqNum=\d{1,12}, OpType=\w{1,40}")


def said_what_it_did(case: Case) -> None:
    """Others waited for or lost a rank whose own last words say that it left, skipped, was stuck or worked alone."""
    if not is_only_waiting(case):
        return
    told = max(_told(case), key=lambda one: one.weight, default=None)
    if told is not None:
        explain(case, told)


def control_plane_lives(case: Case) -> None:
    """Horovod's coordinator knows who asked for a tensor and who did not: they can talk, and ask for different ones."""
    told = case.known("horovod_stalled", "horovod_stalled_ranks")
    if told and is_only_waiting(case):
        case.change(told[:1], role="root", scope="job", cause="collective_mismatch", weight=_WEIGHT)


def too_short_a_wait(case: Case) -> None:
    """Nobody waited longer than some seconds: a time that a load or a save of a healthy job takes, too."""
    waits = [wait for one in case.marked("timeout") if (wait := _wait_of(one))]
    if waits and max(waits) <= _SHORT_MS and is_only_waiting(case):
        first = case.marked("timeout")[0]
        case.change([first], role="root", scope="job", cause="rank0_long_work_timeout", weight=_WEIGHT)


def explain(case: Case, root: Finding) -> None:
    """This is why: what the others say of the network follows from it."""
    case.change(case.roots(), role="echo")
    case.findings.append(root)


def is_only_waiting(case: Case) -> bool:
    """Somebody waited for, or lost, others; and nothing but that shows a cause."""
    roots = case.roots()
    if any(one.cause not in IN_VAIN or one.source.startswith(_DEVICES) or one.weight > _TOLD for one in roots):
        return False
    points_elsewhere = any(
        one.role == "echo" and one.cause and one.cause not in IN_VAIN and one.weight >= _POINTS for one in case.findings
    )
    return bool(roots or complaints(case)) and not points_elsewhere


def complaints(case: Case) -> list[Finding]:
    """Who waited in vain or lost a peer."""
    return [
        one
        for one in case.findings
        if one.has("timeout", "peer_gone") or (one.role != "context" and one.cause in IN_VAIN)
    ]


def complainers(case: Case) -> set[Rank | None]:
    """Ranks that complain. The rank of such a finding may be the one that it accuses."""
    return {_writer(case, one) for one in complaints(case)}


def _writer(case: Case, one: Finding) -> Rank | None:
    return _rank_of(case, one.order[0], one.text) if one.is_line else writer_of(one.text).rank


def _rank_of(case: Case, index: int, line: str) -> Rank | None:
    rank = writer_of(line).rank
    return case.scanned[index].log.rank if rank is None else rank


def _told(case: Case) -> Iterator[Finding]:
    """The last lines that have a meaning here, each as a root."""
    told = complaints(case)
    ranks, texts = complainers(case), {one.text[:400] for one in told}
    logs = {one.order[0] for one in told}
    wait = min((wait for one in told if (wait := _wait_of(one))), default=0)
    own: dict[Rank, list[Finding]] = defaultdict(list)
    first = {one.order[0]: one.order for one in sorted(told, key=lambda each: each.order, reverse=True)}
    for one in islice(last_lines(case), MOST_LINES):
        if one.text in texts:
            continue
        is_other = one.rank not in ranks if one.rank is not None else one.order[0] not in logs
        cause = _meaning(one.text, is_other=is_other, wait=wait)
        if cause:
            yield replace(one, role="root", cause=cause, weight=_SURER if is_other else _WEIGHT)
        elif one.rank is not None and (is_other or one.order < first.get(one.order[0], one.order)):
            own[one.rank].append(one)
    if not any(_is_unreached(one) for one in told):
        works = {found[0] for one in told if (found := _WORK.search(one.text))}
        yield from _otherwise(own, ranks, (case.heard | set(own)) - ranks, is_apart=len(works) > 1)


def _is_unreached(one: Finding) -> bool:
    """It says that others could not be reached, and not only that they did not come."""
    return one.signature not in _REACHED and (one.role == "root" or one.cause == "rendezvous_unreachable")


def _otherwise(
    own: dict[Rank, list[Finding]], others: set[Rank | None], silent: set[Rank], *, is_apart: bool
) -> Iterator[Finding]:
    """The last word of the rank that did not come, or where all came that of the only one that said something else."""
    words = {rank: told for rank, lines in own.items() if (told := list(_words(lines)))}
    forms = {rank: [without_chance(one.text) for one in lines] for rank, lines in words.items()}
    said = Counter(form for told in forms.values() for form in set(told))
    odd = {rank: lines[-1] for rank, lines in words.items() if said[forms[rank][-1]] == 1}
    if silent:
        odd = {rank: one for rank, one in odd.items() if rank in silent}
    elif not is_apart:
        odd.pop(Rank(0), None)  # the first rank often writes alone
    if len(odd) == 1 and len(silent | set(own) | (others - {None})) > 1:
        rank, one = next(iter(odd.items()))
        cause = "collective_mismatch" if rank else "rank0_long_work_timeout"
        yield replace(one, signature=OTHERWISE, role="root", cause=cause, weight=_OTHERWISE)


def _words(lines: Sequence[Finding]) -> Iterator[Finding]:
    """What a rank says in its own words: no step, no traceback, nothing of machines, networks or data."""
    for one in lines:
        if "Traceback (" in one.text:
            return
        if not (progress_of(0, one.text) or OF_OTHERS.search(one.text) or _NO_WORD.search(one.text)):
            yield one


def _meaning(text: str, *, is_other: bool, wait: int) -> str:
    if _ROUTINE.search(text):
        return ""
    if _DISAGREE.search(text):
        return "library_version_incompat" if "ersion" in text else "collective_mismatch"
    if _UNSET.search(text):
        return "python_exception"
    if _STUCK.search(text):
        return "deadlock"
    if _ENDED_ITSELF.search(text) or (is_other and _LEFT.search(text)):
        return "collective_mismatch"
    return "rank0_long_work_timeout" if wait and _lasted(text) >= _MOST_OF_IT * wait else ""


def _lasted(text: str) -> float:
    """Milliseconds that a piece of work took, as the line tells; 0 where it does not."""
    return max(
        (float(one["number"]) * (60_000 if one["unit"].startswith("m") else 1000) for one in _LASTED.finditer(text)),
        default=0.0,
    )


def _wait_of(one: Finding) -> int:
    match = _WAITED.search(one.text)
    if one.ms or match is None:
        return one.ms or 0
    return int(match["ms"] or match["number"]) * (1000 if match["unit"] == "s" else 1)
