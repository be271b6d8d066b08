"""What a log's last lines say in plain words, where nothing else shows how it ended."""

import re
from dataclasses import replace
from typing import Final

from supervisor.diagnose.evidence.beats import GONE
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.rules.plans import ended_badly
from supervisor.diagnose.scan.labels import split_label
from supervisor.diagnose.scan.one_log import Scanned
from supervisor.diagnose.scan.progress import progress_of
from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class

_WORK: Final = (
    r"(?:job|script|run|program|analysis|simulation|calculation|computation|pipeline|workflow|processing|"
    r"execution|task|benchmark|installation|build|experiment)s?"
)
_CODE: Final = r"\b(?:exit(?:ed)?(?: with)?|return)[ _-]?(?:code|status)\W{1,3}"
_WELL: Final = re.compile(
    rf"\b{_WORK}\b.{{0,60}}\b(?:complet|finish|end|terminat|done|succe)\w{{0,9}}\b.{{0,20}}"
    r"\b(?:successful(?:ly)?|normally|without (?:any )?errors?)\b|"
    r"\bsuccessfully (?:completed|finished)\b|\b(?:completed|finished|ended) successfully\b|"
    r"\bsuccess(?:ful(?:ly)?)?\b.{0,20}\bcomplet|\bnormal (?:end|termination|completion)\b|\bdone\. Elapsed time: \d|"
    rf"{_CODE}0\W{{0,3}}$",
    re.IGNORECASE,
)
_DONE: Final = re.compile(
    r"^End$|\bBUILD SUCCESS\b|^\w{2,40}_DONE$|"
    r"(?:^|:\d\d(?:[.,]\d{1,6})?[\]:,]{0,2} |\] )\W{0,12}(?:all )?(?:done|finished|completed)\W{0,8}$|"
    rf"\b{_WORK}\b.{{0,30}}\b(?:is |has |was )?(?:finished|completed?|done)\b(?! ?[\d(]{{1,4}} ?(?:/|of|%))|"
    r"\b(?:epochs?|steps?|iterations?|iter|tiles?|samples?|chunks?|frames?|files?|batch(?:es)?)\W{1,2}"
    r"(\d{1,9}) ?(?:/|of) ?\1\b(?:\W|$)|\ball \d{1,9} \w{2,20} (?:processed|done|finished|completed|written)\b|"
    r"\b100 ?% (?:complete|done|finished)|^Finished in \d|"
    rf"\b{_WORK} (?:finished|completed|ended)(?: at| on|:? \d)|"
    rf"\b(?:finish|finished|end|ended|completed) (?:of )?(?:\w+ )?{_WORK} (?:at|on)\b|"
    r"\bresults? (?:have been|has been|were|was|are) (?:saved|written|stored)\b|"
    r"^\W{0,6}(?:finished|completed|ended)(?: at| on)?\s{0,8}:\s{0,4}(?:[A-Za-z]{3},? )?.{0,12}\d\d:\d\d|"
    r"(?:^|\] {1,8})[A-Z]\w{2,20} complete\.?$|^Thank you for using \w|^[A-Z]\w{2,20} (?:saved|written)[.!]{0,3}$|"
    r"^\W{0,8}end of (?:the )?(?:simulation|calculation|run|job)\W{0,8}$|"
    r"\ball convergence criteria (?:are |were )?(?:satisfied|met|reached)\b|"
    rf"^[^\w\n]{{3,40}}\b(?:normal )?end of (?:the )?{_WORK}[^\w\n]{{3,40}}$|"
    r"^(?:\[\w{2,20}\] )?\W{0,6}(?:(?:total|program|running|elapsed|run|wall ?clock|"
    r"execution|computation|calculation|finish|real)\s{1,3}){1,3}time\b.{0,40}\d|\btime used: \d",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(
    r"\b(?:0|no|without(?: any)?) (?:errors?|failures?|failed)\b|\b(?:errors?|failures?|failed)\W{1,4}0\b|"
    r"^\W{0,4}(?:errors?|bugs?|failures?|failed)\s{2,40}0\W{0,4}$|\(failed: \d[\d.]{0,12}[;)]|"
    r"\b0 \+ 0 failed\b|floating[- ]point exceptions? (?:are signalling|trapping)|\breads? failed\b|"
    r"\bif (?:the |an? )?\w{2,20} (?:can't|cannot|could not) be\b|"
    r"standard error|std_?err\w*|error_?file|\.err\b|"
    r"\berror[ _](?:rate|norm|model|correction|estimate|bars?|tolerance|profile|probability|summary)s?\b|"
    r"\b(?:max(?:imum)?|mean|rms|rel(?:ative)?|abs(?:olute)?|l[12]|final|continuity|truncation|discreti[sz]ation|"
    r"energy|estimated|squared?|prediction|validation|fit|numerical|global|local)[ _-]errors?\b|"
    r"\b(?:errors?|err)\b ?[=:] ?[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\b",
    re.IGNORECASE,
)
"""Words of measurements, and counts of none."""
_MILD: Final = re.compile(r"\bWARN(?:ING)?\b|warning\b|\[W[:\]]|retry(?:ing)? (?:succeeded|\d)", re.IGNORECASE)
_TROUBLE: Final = re.compile(
    r"error|\bfail|fatal|abort|exception|traceback|killed|denied|cannot|can't|could not|unable|not found|no such|"
    rf"segmentation|cancel|exceeded|core dumped|interrupt|{_CODE}[1-9]",
    re.IGNORECASE,
)
_FINAL: Final = re.compile(
    r"\b(?:final|best|last) (?:model|checkpoint|weights|results?)\b.{0,40}\b(?:saved|written|exported|stored)\b|"
    r"\b(?:saved|wrote|written|exported) (?:the )?final\b|^\W{0,4}(?:run|training|fit) (?:finished|completed?|done)\b",
    re.IGNORECASE,
)
_AT_THE_END: Final = re.compile(
    r"Exception ignored in|can only test a child process|process group has NOT been destroyed|PyGILState_Release|"
    r"terminate called without an active exception|could not acquire lock for|cannot schedule new futures after|"
    r"cannot join current thread|PMIX ERROR: (?:PMIX_ERR_)?LOST|corrupted double-linked list|"
    r"\b(?:interpreter|at) shutdown\b|leaked (?:semaphore|shared_memory)|cq error: flushed|driver shutting down|"
    r"Exception in thread [^\n]{0,60}(?:EOFError|BrokenPipe|ConnectionReset|OSError)|Error while calling W&B API|"
    r"NoneType' object has no attribute '(?:dumps|close|shutdown|join|terminate|_\w{1,20})'"
)
"""What interpreters, threads and libraries say while a process ends."""
_FOLLOWS: Final = re.compile(
    r"^Traceback|^srun: |^slurmstepd: |core dumped|^\s*File \"|Broken ?[Pp]ipe|Connection ?[Rr]eset|"
    r"remote process exited|[Cc]losed by (?:remote )?peer|\bAborted\b"
)
_LAST_STEP: Final = re.compile(
    r"^(?![^\n]*\b(?:epoch|valid|eval|test))[^\n]*?\b(?:steps?|iter(?:ation)?s?|updates?)\W{1,8}"
    r"(\d{2,9}) ?(?:/|of) {0,8}\1\b",
    re.IGNORECASE,
)
"""The last step of all: a loader's last batch has its epoch beside it."""
_BETWEEN_RANKS: Final = re.compile(
    r"NCCL|nccl\w{3,20}Error|ProcessGroup|c10d|TCPStore|[Ww]atchdog|^frame #|^Exception raised from|^Last error|"
    r"terminate called|what\(\)|exitcode|ChildFailedError|DistBackendError"
)
"""What ranks see of each other when some have left."""
_ENDED: Final = 0.8
_REACHED: Final = 0.62
_FIRM: Final = 0.55
_SURE: Final = 0.7
_LIKELY: Final = 0.5


def said_so(case: Case) -> None:
    """Its last words are that the work is done, none of them tells of trouble, and nothing else does: completed."""
    if any(one.cause for one in case.findings if one.role != "context") or ended_badly(case) or case.known(GONE):
        return
    logs = [(index, one) for index, one in enumerate(case.scanned) if one.log.kind != "kernel"]
    if any(_is_trouble(line) for _, one in logs for line in one.end):
        return
    for index, one in logs:
        well = [at for at, line in enumerate(one.end) if _WELL.search(line)]
        if told := well or [at for at, line in enumerate(one.end) if _DONE.search(line)]:
            case.findings.append(replace(_told(index, one, told[-1]), weight=_SURE if well else _LIKELY))


def ended_after_its_work(case: Case) -> None:
    """The work was told as done, and all trouble after it is that of a process that ends: completed."""
    if any(cause(one.cause).cls is Class.PLANNED for one in case.roots()):
        return
    for index, log in enumerate(case.scanned):
        lines = [split_label(line)[1] for line in log.end] if log.log.kind != "kernel" else []
        done = max((at for at, line in enumerate(lines) if is_done(line)), default=len(lines))
        later = [line for line in lines[done + 1 :] if _is_trouble(line) or _AT_THE_END.search(line)]
        number = log.end_at[done] if done < len(lines) else log.lines
        faults = [one for one in case.faults() if one.weight >= _FIRM]
        if not any(_AT_THE_END.search(line) for line in later) or any(one.order <= (index, number) for one in faults):
            continue
        if all(_AT_THE_END.search(line) or _FOLLOWS.search(line) for line in later):
            case.change(faults, role="echo")
            case.findings.append(replace(_told(index, log, done), weight=_ENDED))
            return


def reached_its_last_step(case: Case) -> None:
    """The last of all its steps was made, and nothing came after it but ranks that lost each other: completed."""
    if case.roots():
        return
    for index, log in enumerate(case.scanned):
        lines = [split_label(line)[1] for line in log.end] if log.log.kind != "kernel" else []
        done = max((at for at, line in enumerate(lines) if _LAST_STEP.search(line)), default=len(lines))
        later = lines[done + 1 :]
        is_end = any(_BETWEEN_RANKS.search(line) for line in later) and not any(progress_of(0, line) for line in later)
        if is_end and all(_is_of_an_end(line) for line in later if _is_trouble(line)):
            hang = {"role": "root", "scope": "job", "cause": "post_fit_collective_hang", "weight": _REACHED}
            if not case.change(case.marked("timeout")[:1], **hang, rank=None, node=None):
                case.findings.append(replace(_told(index, log, done), weight=_REACHED))
            return


def _is_of_an_end(line: str) -> bool:
    return any(words.search(line) for words in (_AT_THE_END, _FOLLOWS, _BETWEEN_RANKS))


def is_done(line: str) -> bool:
    """It says that the work is done."""
    return bool(_DONE.search(line) or _WELL.search(line) or _FINAL.search(line))


def _is_trouble(line: str) -> bool:
    return bool(_TROUBLE.search(_HARMLESS.sub("", line))) and not _MILD.search(line)


def _told(index: int, log: Scanned, at: int) -> Finding:
    return Finding(
        signature="said_so",
        role="root",
        cause="completed",
        scope="job",
        source=f"{log.log.name}:{log.end_at[at]}",
        text=log.end[at],
        order=(index, log.lines),
    )
