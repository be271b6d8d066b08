"""Plain exceptions that the data are to blame for: where they were raised, what they tell, and when."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import RAISED, around, last_words
from supervisor.diagnose.judge.rules.inputs import (
    is_about_the_run,
    is_about_values,
    names_what_was_read,
    tells_of_input,
    tells_of_record,
)
from supervisor.diagnose.judge.rules.readers import is_aside, is_of_settings, is_reader, is_script, prepares, sets_up
from supervisor.diagnose.judge.rules.storage import is_cache, is_local_path
from supervisor.diagnose.judge.rules.words import (
    is_of_a_series,
    kind_of,
    names_a_place,
    tells_of_content,
    tells_of_damage,
)
from supervisor.model.ids import Rank

_Lines = dict[tuple[int, Rank | None], list[Finding]]
"""Findings by who wrote them: the log, and the rank."""

PLAIN: Final = frozenset({"python_exception", "assertion_failed", "type_error", "division_by_zero"})
"""Causes that only tell how a program broke."""
_OF_APPLICATIONS: Final = frozenset({"not_converged"})
"""What applications call fatal themselves may be what they read."""
_CODE: Final = re.compile(
    r"module '|'(?!NoneType|FileDataset)[A-Z]\w{0,80}' object has no attribute|"
    r"unexpected keyword|positional arguments?\b|"
    r"not callable|NameError|UnboundLocalError|NotImplementedError|RecursionError|SyntaxError|(?i:pickle)|CUDA|NCCL|"
    r"Connection|[Tt]imed? ?out|Timeout|unreachable|SSL|HTTP|resolve|omegaconf|hydra|argparse|error: argument|"
    r"environment variable|start method|bootstrapping phase|grad|optimizer|state_dict|"
    r"daemonic|StopIteration|\b_?queue\b|\b[Ss]eed\b|\bthread|\bsemaphore|set_epoch|batch_size"
)
"""Words of faults that no record causes."""
_ABOVE: Final = 4
"""Lines within which one complaint goes on."""
_BESIDE: Final = 40
"""Lines between a frame of a library that reads and the exception."""
_OF_EVERY_SAMPLE: Final = frozenset({"sample_shape", "conversation_record"})
_OF_EVERY_LABEL: Final = frozenset({"assert_class_index", "table_index_outside"})
_OF_TEXT: Final = frozenset(
    {"json_record", "unicode_record", "csv_record", "serialized_record", "gfortran_read", "ifort_read"}
)
_OPENED: Final = re.compile(r"\bfile ?=? ?['\"]?([\w./-]{1,200})")
_OF_STATE: Final = frozenset({"pickle_damaged", "checkpoint_unreadable", "tensorstore_data_loss"})
_SHARD: Final = re.compile(r"array_record|\.tar\b|shard|\bpart-|-of-\d", re.IGNORECASE)
_OF_KEYS: Final = frozenset({"hdf5_damaged", "lmdb_damaged"})
_KEY: Final = re.compile(r"\b[Kk]ey (?:was |is |= ?|: )?['\"]?[\w/.-]{3,}")
_STATE: Final = re.compile(r"checkpoint|ckpt|\.pth?\b|safetensors|\bstate|optimizer|snapshot|restart", re.IGNORECASE)
_CLOSELY: Final = 200
"""Complaints beside which each line is looked at: of a job with thousands of ranks the first ones say it, too."""
_READS: Final = ("frame_of_reader", "line_of_pipeline")
_SEVERAL: Final = 2
_SURE: Final = 0.86
_LIKELY: Final = 0.8
_GUESS: Final = 0.66


def before_any_step(case: Case) -> None:
    """What a single sample may cause in the middle of a run is the program's where no step was made (edge rule 3)."""
    if case.made_progress:
        return
    case.change(
        lambda one: one.role == "root" and one.signature in _OF_EVERY_SAMPLE and not names_a_place(one.text),
        cause="python_exception",
    )
    case.change(lambda one: one.role == "root" and one.signature in _OF_EVERY_LABEL, cause="device_side_assert")


def shape_elsewhere(case: Case) -> None:
    """Tensors of different shapes in code that no reader is: it stacks what it made itself."""
    told = [one for one in case.roots() if one.signature == "sample_shape" and one.frame and is_aside(one.frame)]
    case.change(told, cause="python_exception")


def settings_are_no_data(case: Case) -> None:
    """A record that cannot be read in a file of settings is the program's."""
    told = [one for one in case.roots() if one.signature in _OF_TEXT]
    case.change([one for one in told if _reads_settings(one, case)], cause="python_exception")


def _reads_settings(one: Finding, case: Case) -> bool:
    """By the file that it or the lines beside it name, or by who reads: before any step a script reads its settings."""
    if is_of_settings(one.file or "") or any(is_of_settings(name) for name in _OPENED.findall(_in_full(one, case))):
        return True
    return one.frame is not None and (sets_up(one.frame) or (is_script(one.frame) and not case.made_progress))


def reader_failed(case: Case) -> None:
    """A reader of data failed on few ranks of a job that had made steps: what it read is wrong, not its code."""
    frames = _by_writer(case.known(*_READS))
    told = [one for one in case.roots() if _is_plain(one) and _is_reading(one, frames)]
    if not _is_midway(told, case):
        return
    # Of a job with one rank a name alone says less: its code may meet there what it always meets.
    named = [one for one in told if len(case.ranks) < _SEVERAL and not _beside_library(one, frames)]
    _blame_data(case, {one: _kind(one, case) for one in told if one not in named}, _LIKELY)
    _blame_data(case, {one: _kind(one, case) for one in named}, _GUESS)


def told_in_words(case: Case) -> None:
    """An exception says itself what is wrong with which file or sample, also where its traceback is not at hand."""
    alone = [one for one in last_words(case) if not _CODE.search(one.text)]
    plain = [one for one in case.roots() if _is_plain(one)]
    called_fatal = case.of(*_OF_APPLICATIONS)
    is_midway = _is_midway([*plain, *alone], case)
    lines = _by_writer(alone)
    says = {one: _with_what_stands_above(one, lines) for one in (*plain, *called_fatal, *alone)}
    sure = {
        one: kind_of(text)
        for one, text in says.items()
        if not is_of_settings(text) and (tells_of_damage(text) or (is_midway and _tells_midway(one, text)))
    }
    told = {one.order[0] for one in case.roots()}
    inputs = {
        one: _in_full(one, case)
        for one in (*called_fatal, *(each for each in alone if each.order[0] not in told))
        if one not in sure and not is_about_the_run(one.text)
    }
    closely = frozenset(islice(inputs, _CLOSELY))
    sure |= {
        one: kind_of(one.text, text)
        for one, text in inputs.items()
        if tells_of_input(text)
        or (one in called_fatal and (tells_of_record(text) or names_what_was_read(one.text)))
        or any(is_about_values(line) for line in (one.text, *(around(case, one) if one in closely else ())))
    }
    _blame_data(case, {one: kind for one, kind in sure.items() if one.role == "root"}, _SURE)
    case.findings += [
        replace(one, role="root", cause=kind, weight=_LIKELY) for one, kind in sure.items() if one.role != "root"
    ]


def _tells_midway(one: Finding, text: str) -> bool:
    """In the middle of a run, when its code is known to work, it names a sample or says what is wrong with one."""
    if one.cause not in PLAIN and one.signature != RAISED:
        return False
    return (names_a_place(text) or tells_of_content(text)) and not (one.frame and is_aside(one.frame))


def sample_is_gone(case: Case) -> None:
    """A reader misses one file in the middle of a run: the list of samples names what is not there."""
    frames = _by_writer(case.known(*_READS))
    told = [
        one
        for one in case.of("file_not_found")
        if _may_be_sample(one.file or one.text) and (_is_reading(one, frames) or is_of_a_series(one.file or ""))
    ]
    if not case.of("shared_fs_outage") and _is_midway(told, case):
        _blame_data(case, dict.fromkeys(told, "missing_samples"), _LIKELY)
    # Frames are for these rules only: they are no evidence for a person.
    case.findings = [one for one in case.findings if one.signature not in _READS]


def _may_be_sample(name: str) -> bool:
    return names_a_place(name) and not is_cache(name) and not is_local_path(name) and not _STATE.search(name)


def samples_are_no_checkpoints(case: Case) -> None:
    """What a reader of data opens in the middle of a run is a sample, though its bytes are those of a checkpoint."""
    frames = _by_writer(case.known(*_READS))
    told = [
        one
        for one in case.roots()
        if one.signature in _OF_STATE
        and not _STATE.search(one.file or one.text.partition(": ")[2])
        and _is_reading(one, frames)
    ]
    if _is_midway(told, case):
        for one in told:
            is_shard = bool(_SHARD.search(one.text))
            case.change([one], cause="corrupt_shard" if is_shard else "corrupt_sample")


def one_key_of_a_shard(case: Case) -> None:
    """The lines beside it name the one key whose bytes are wrong: the rest of the shard can be read."""
    told = [one for one in case.roots() if one.signature in _OF_KEYS and _KEY.search(_in_full(one, case))]
    case.change(told, cause="corrupt_sample")


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


def _in_full(one: Finding, case: Case) -> str:
    """Its text, and the lines beside it."""
    return " ".join((one.text, *around(case, one)))


def _kind(one: Finding, case: Case) -> str:
    return kind_of(one.text, _in_full(one, case))


def _is_reading(one: Finding, frames: _Lines) -> bool:
    """Its innermost own frame is a reader's, or lines of a library that reads stand just above it, or below."""
    if one.frame is not None and prepares(one.frame):
        return False
    if one.frame is not None and is_reader(one.frame) and not is_aside(one.frame):
        return True
    return _beside_library(one, frames)


def _beside_library(one: Finding, frames: _Lines) -> bool:
    return bool(_above(one, frames, _BESIDE) or _below(one, frames))


def _below(one: Finding, lines: _Lines) -> bool:
    """TensorFlow names the operation below, or in the same line."""
    return any(0 <= each.order[1] - one.order[1] <= _ABOVE for each in lines.get((one.order[0], one.rank), ()))


def _is_plain(one: Finding) -> bool:
    return one.cause in PLAIN and one.is_line and _may_be_data(one)


def _may_be_data(one: Finding) -> bool:
    return not one.went_on and not _CODE.search(one.text)


def _is_midway(told: list[Finding], case: Case) -> bool:
    """The code is known to work: steps were made, or one rank fails, and no first one, while others had no trouble."""
    if case.made_progress:
        return not _is_everywhere(told, case)
    ranks = {one.rank for one in told}
    return len(ranks) == 1 and not ranks & {0, None} and bool(case.heard - ranks)


def _is_everywhere(told: list[Finding], case: Case) -> bool:
    """Most ranks fail alike: it is no single sample that does it."""
    ranks = {one.rank for one in told if one.rank is not None}
    return len(ranks) >= _SEVERAL and len(ranks) >= len(case.ranks) // _SEVERAL + 1
