"""Checkpoints: shards of other nodes that are not there."""

import re
from dataclasses import replace
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.last_words import last_words
from supervisor.diagnose.judge.rules.storage import is_local_path
from supervisor.diagnose.judge.rules.words import names_a_place, tells_of_damage

_MISSING: Final = frozenset(
    {"file_not_found", "checkpoint_incomplete", "checkpoint_config_mismatch", "checkpoint_not_shared"}
)
_SHARD: Final = re.compile(r"(?:zero_pp_rank_|mp_rank_|__|rank[_-]?|distrib_optim|model_optim_rng|shard[_-])(\d{1,6})")
_CHECKPOINT: Final = re.compile(
    r"checkpoint|ckpts?\b|/cks?\b|global_step|iter_\d|snapshot|autoresume|latest|\.distcp|\.safetensors", re.IGNORECASE
)
_SEVERAL: Final = 2
_OF_BYTES: Final = frozenset(
    {"corrupt_shard", "corrupt_sample", "malformed_record", "dataset_bin_truncated", "missing_samples", "empty_batch"}
    | {"dataset_index_inconsistent"}
)
_PLAIN: Final = frozenset({"python_exception", "assertion_failed"})
_SURE: Final = 0.84
_HASH: Final = re.compile(r"\bsha\d{1,3}\b|\bmd5\b|check ?sum|\bcrc\b|\bdigest\b|\bcorrupt|\btruncat", re.IGNORECASE)
_LAYOUT: Final = re.compile(
    r"\bshapes?\b|size mismatch|world[ _]size|\blayout\b|\bkeys?\b|\bparallel|\bdtype\b|\bversion\b", re.IGNORECASE
)
_RESTORES: Final = re.compile(
    r"\w{0,40}(?:restore|resume|load_(?:checkpoint|ckpt|state|snapshot)|read_restart)\w{0,40}"
)
_NAMED: Final = re.compile(r"checkpoint|ckpt|global_?step\d|\biter_\d|snapshot|restart|\brst\b", re.IGNORECASE)
_LACKS: Final = re.compile(
    r"\bmissing\b|\bincomplete\b|\babsent\b|\bnot (?:found|there|present)\b|\b\d{1,9} of \d{1,9}\b|\bpartial\w{0,2}\b",
    re.IGNORECASE,
)
_BELOW: Final = 4
"""Lines between what a reader says of its file and what it says of its failure."""


def other_nodes_shards(case: Case) -> None:
    """Ranks of different nodes each miss the others' shards on a local path: each node saved for itself."""
    missing = [one for one in case.findings if _is_missing_shard(one)]
    local = [one for one in missing if is_local_path(one.file or one.text)]
    nodes = {case.node_of(one) or one.rank for one in local}
    different = {tuple(_SHARD.findall(one.text)) for one in local}
    if len(nodes) >= _SEVERAL and len(different) >= _SEVERAL:
        case.change(local, role="root", cause="checkpoint_not_shared", weight=0.9)


def other_layout(case: Case) -> None:
    """Each rank misses its own shard and nothing tells of an interrupted save: written with another layout or stage."""
    missing = [one for one in case.of("checkpoint_incomplete", "file_not_found") if _is_missing_shard(one)]
    own = [one for one in missing if one.rank is not None and _is_own(one)]
    if len({one.rank for one in own}) >= _SEVERAL and not case.earlier and not case.marked("saving"):
        case.change(missing, cause="checkpoint_config_mismatch", weight=0.8)


def one_part_lacks(case: Case) -> None:
    """Few ranks miss their part of a checkpoint that all share, and the others found theirs: it is not complete."""
    missing = [one for one in case.of("file_not_found") if _is_missing_shard(one) and not is_local_path(one.file or "")]
    ranks = {one.rank for one in missing if one.rank is not None}
    if missing and 2 * len(ranks) <= len(case.ranks) and len(case.ranks) >= _SEVERAL:
        case.change(missing, cause="checkpoint_incomplete", weight=_SURE)


def restore_failed(case: Case) -> None:
    """A plain exception about a checkpoint whose words are of bytes or of parts that lack, not of another layout."""
    read = _restarts(case)
    told = [one for one in case.roots() if one.cause in _PLAIN and _is_of_bytes(one) and _is_of_checkpoint(one, read)]
    alone = [one for one in last_words(case) if _is_of_bytes(one) and _NAMED.search(one.text)]
    case.findings += [replace(one, role="root") for one in alone]
    _roll_back(case, [*told, *(replace(one, role="root") for one in alone)], weight=_SURE)


def _is_of_bytes(one: Finding) -> bool:
    is_told = tells_of_damage(one.text) or _LACKS.search(one.text) or _HASH.search(one.text)
    return bool(is_told) and not _LAYOUT.search(one.text)


def read_wrongly(case: Case) -> None:
    """What looks like damaged data was read from a checkpoint: by its path, the reader's name, or the line before."""
    read = _restarts(case)
    _roll_back(case, [one for one in case.of(*_OF_BYTES) if _is_of_checkpoint(one, read)])


def _roll_back(case: Case, told: list[Finding], **changes: float) -> None:
    lacks = {one for one in told if _LACKS.search(one.text)}
    case.change([one for one in told if one not in lacks], cause="checkpoint_corrupt", **changes)
    case.change(lacks, cause="checkpoint_incomplete", **changes)


def _restarts(case: Case) -> set[tuple[int, int]]:
    """The lines below those that say that a restart file is read."""
    said = [
        one
        for one in case.known("restart_loading", "gfortran_place")
        if one.signature == "restart_loading" or _NAMED.search(one.file or one.text)
    ]
    return {(one.order[0], one.order[1] + n) for one in said for n in range(1, _BELOW + 1)}


def _is_of_checkpoint(one: Finding, read: set[tuple[int, int]]) -> bool:
    if _NAMED.search(one.file or one.text) or (one.frame and _RESTORES.fullmatch(one.frame.function)):
        return True
    return one.order in read and not names_a_place(one.text)


def _is_own(one: Finding) -> bool:
    """The first number in the shard's name is the rank's own."""
    return str(one.rank) in _SHARD.findall(one.text)[:1]


def _is_missing_shard(one: Finding) -> bool:
    return (one.cause in _MISSING or "missing" in one.text) and bool(_SHARD.search(one.text)) and _is_checkpoint(one)


def _is_checkpoint(one: Finding) -> bool:
    return bool(_CHECKPOINT.search(one.text)) or "_states.pt" in one.text
