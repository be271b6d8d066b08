"""Plain exceptions that the data are to blame for: where they were raised, what they tell, and when."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import RAISED, last_words
from supervisor.diagnose.judge.rules.storage import is_cache, is_local_path
from supervisor.diagnose.judge.rules.words import kind_of, names_a_place, tells_of_damage
from supervisor.diagnose.scan.traces import Frame
from supervisor.model.ids import Rank

_Lines = dict[tuple[int, Rank | None], list[Finding]]
"""Findings by who wrote them: the log, and the rank."""

_PLAIN: Final = frozenset({"python_exception", "assertion_failed", "type_error", "division_by_zero"})
_OF_APPLICATIONS: Final = frozenset({"not_converged"})
"""What applications call fatal themselves may be what they read."""
_CODE: Final = re.compile(
    r"module '|'(?!NoneType)[A-Z]\w{0,80}' object has no attribute|unexpected keyword|positional arguments?\b|"
    r"not callable|NameError|UnboundLocalError|NotImplementedError|RecursionError|SyntaxError|(?i:pickle)|CUDA|NCCL|"
    r"Connection|[Tt]imed? ?out|Timeout|unreachable|SSL|HTTP|resolve|omegaconf|hydra|argparse|error: argument|"
    r"environment variable|start method|bootstrapping phase|grad|optimizer|state_dict"
)
"""Words of faults that no record causes."""
_FUNCTION: Final = re.compile(
    r"__getitems?__|__iter__|__next__|\w{0,40}collate\w{0,40}|_{0,2}(?:read|unpack|deserialize|tokenize)(?:_\w{1,60})?|"
    r"_{0,2}(?:parse|decode)_(?!args|known|config|cfg|opt|env|flags)\w{1,60}|parse|"
    r"_{0,2}(?:load|get|fetch|open|next|iter|crop|extract|augment)_(?:\w{1,40}_)?(?:sample|record|shard|example|item|"
    r"batch|image|img|audio|wav|video|frame|clip|mask|label|target|ann|annotation|document|doc|text|tile|row|chunk|"
    r"block|feature|spectrogram|mel|utterance|window|patch|volume|series|event|graph|molecule|structure|field|pair|"
    r"caption|token|conversation|trajectory|point|scene|granule)s?"
)
_FILE: Final = re.compile(
    r"(?:\w{0,40}_)?(?:data|dataset|datasets|dataloader|dataloaders|datamodule|datapipe|dataio|reader|readers|"
    r"loader|loaders|loading|shards?|streams?|streaming|collat\w{1,8}|records?|corpus|jsonl|parquet|webdataset|wds|"
    r"hdf5|zarr|tfrecord|lmdb|feeder|batcher|ingest|labels?|annotations?|manifests?|samples?|captions?|transcripts?|"
    r"tokenize\w{0,4})(?:_\w{0,40})?\.py"
)
_FOLDER: Final = re.compile(r"datasets?|data|dataio|dataloaders?|loaders|readers")
_MAIN: Final = re.compile(r"(?:train|main|run|model|test|eval|launch|finetune|pretrain)\w{0,40}\.py")
_OF_PROGRAM: Final = re.compile(r"\w{0,40}collate\w{0,40}|parse|(?:get|next|fetch)_batch(?:es)?")
"""In the training script itself these put together what it made up: a key that is not there is its own slip."""
_WRITES: Final = re.compile(
    r"\w{0,40}(?:write|save|dump|init|setup|config|main|forward|backward|build|download)\w{0,40}"
)
_ABOVE: Final = 4
"""Lines within which one complaint goes on."""
_BESIDE: Final = 40
"""Lines between a frame of a library that reads and the exception."""
_SEVERAL: Final = 2
_SURE: Final = 0.86
_LIKELY: Final = 0.8


def reader_failed(case: Case) -> None:
    """A reader of data failed on few ranks of a job that had made steps: what it read is wrong, not its code."""
    if not case.made_progress:
        return
    frames = _by_writer(case.known("frame_of_reader"))
    # Of a job with one rank the name of a function alone is too little: its code may meet there what it always meets.
    is_alone = len(case.ranks) < _SEVERAL
    told = [
        one
        for one in case.roots()
        if _is_plain(one) and (_above(one, frames, _BESIDE) if is_alone else _is_reading(one, frames))
    ]
    if not _is_everywhere(told, case):
        _blame_data(case, {one: kind_of(one.text) for one in told}, _LIKELY)


def told_in_words(case: Case) -> None:
    """An exception says itself what is wrong with which file or sample, also where its traceback is not at hand."""
    alone = [one for one in last_words(case) if not _CODE.search(one.text)]
    plain = [one for one in case.roots() if _is_plain(one)]
    called_fatal = case.of(*_OF_APPLICATIONS)
    is_midway = case.made_progress and not _is_everywhere([*plain, *alone], case)
    lines = _by_writer(alone)
    says = {one: _with_what_stands_above(one, lines) for one in (*plain, *called_fatal, *alone)}
    named = {one for one in says if one.cause in _PLAIN or one.signature == RAISED} if is_midway else set()
    sure = {
        one: kind_of(text)
        for one, text in says.items()
        if tells_of_damage(text) or (one in named and names_a_place(text))
    }
    _blame_data(case, {one: kind for one, kind in sure.items() if one.role == "root"}, _SURE)
    case.findings += [
        replace(one, role="root", cause=kind, weight=_LIKELY) for one, kind in sure.items() if one.role != "root"
    ]


def sample_is_gone(case: Case) -> None:
    """A reader misses one file in the middle of a run: the list of samples names what is not there."""
    frames = _by_writer(case.known("frame_of_reader"))
    told = [
        one
        for one in case.of("file_not_found")
        if one.file and not is_cache(one.file) and not is_local_path(one.file) and _is_reading(one, frames)
    ]
    if case.made_progress and not case.of("shared_fs_outage") and not _is_everywhere(told, case):
        _blame_data(case, dict.fromkeys(told, "missing_samples"), _LIKELY)
    # Frames are for these rules only: they are no evidence for a person.
    case.findings = [one for one in case.findings if one.signature != "frame_of_reader"]


def _blame_data(case: Case, kinds: dict[Finding, str], weight: float) -> None:
    for kind in sorted(set(kinds.values())):
        told = [one for one, each in kinds.items() if each == kind]
        case.change(told, role="root", cause=kind, weight=weight)


def _by_writer(findings: Iterable[Finding]) -> _Lines:
    """The findings by log and rank."""
    lines: _Lines = defaultdict(list)
    for one in findings:
        lines[one.order[0], one.rank].append(one)
    return lines


def _above(one: Finding, lines: _Lines, most: int) -> list[Finding]:
    """Those of the same writer that stand so many lines above it at most."""
    return [each for each in lines.get((one.order[0], one.rank), ()) if 0 < one.order[1] - each.order[1] <= most]


def _with_what_stands_above(one: Finding, lines: _Lines) -> str:
    """Its text, and complaints just above it: programs name the file first, and then what is wrong with it."""
    return " ".join(each.text for each in (*_above(one, lines, _ABOVE), one))


def _is_reading(one: Finding, frames: _Lines) -> bool:
    """Its innermost own frame is a reader's, or frames of a library that reads stand just above it."""
    return (one.frame is not None and _is_reader(one.frame)) or bool(_above(one, frames, _BESIDE))


def _is_reader(frame: Frame) -> bool:
    folder, _, name = frame.file.rpartition("/")
    is_programs_own = bool(_MAIN.fullmatch(name) and _OF_PROGRAM.fullmatch(frame.function))
    if is_programs_own or _WRITES.fullmatch(frame.function):
        return False
    return bool(
        _FUNCTION.fullmatch(frame.function)
        or _FILE.fullmatch(name)
        or (_FOLDER.fullmatch(folder.rpartition("/")[2]) and not _MAIN.fullmatch(name))
    )


def _is_plain(one: Finding) -> bool:
    return one.cause in _PLAIN and one.is_line and _may_be_data(one)


def _may_be_data(one: Finding) -> bool:
    return not one.went_on and not _CODE.search(one.text)


def _is_everywhere(told: list[Finding], case: Case) -> bool:
    """Most ranks fail alike: it is no single sample that does it."""
    ranks = {one.rank for one in told if one.rank is not None}
    return len(ranks) >= _SEVERAL and len(ranks) >= len(case.ranks) // _SEVERAL + 1
