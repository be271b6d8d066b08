"""Checkpoints: shards of other nodes that are not there, and ranks that got into each other's way."""

import re
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.rules.storage import is_local_path

_MISSING: Final = frozenset(
    {"file_not_found", "checkpoint_incomplete", "checkpoint_config_mismatch", "checkpoint_not_shared"}
)
_SHARD: Final = re.compile(r"(?:zero_pp_rank_|mp_rank_|__|rank[_-]?|distrib_optim|model_optim_rng|shard[_-])(\d{1,6})")
_STAGING: Final = re.compile(r"(?:tmp-?|\.tmp|staging|_temp|temp-)[\w-]{0,32}|rename", re.IGNORECASE)
_CHECKPOINT: Final = re.compile(r"checkpoint|ckpt|global_step|iter_\d|snapshot|autoresume|latest", re.IGNORECASE)
_LATEST: Final = re.compile(r"autoresume|latest|symlink|last\.ckpt", re.IGNORECASE)
_SEVERAL: Final = 2


def other_nodes_shards(case: Case) -> None:
    """Ranks of different nodes each miss the others' shards on a local path: each node saved for itself."""
    missing = [one for one in case.findings if _is_missing_shard(one)]
    local = [one for one in missing if is_local_path(one.file or one.text)]
    nodes = {case.node_of(one) or one.rank for one in local}
    different = {tuple(_SHARD.findall(one.text)) for one in local}
    if len(nodes) >= _SEVERAL and len(different) >= _SEVERAL:
        case.change(lambda one: one in local, role="root", cause="checkpoint_not_shared", weight=0.9)


def races(case: Case) -> None:
    """A file of a checkpoint that vanished between two ranks: renamed by another while saving, or a link that moved."""
    gone = [one for one in case.of("file_not_found", "python_exception", "checkpoint_incomplete") if _is_gone(one)]
    for one in gone:
        if _STAGING.search(one.text):
            what = "checkpoint_save_race"
        elif _LATEST.search(one.text) and len(case.ranks) > 1:
            what = "checkpoint_load_race"
        else:
            continue
        case.change(lambda each, one=one: each is one, cause=what, weight=0.88)  # type: ignore[misc]


def _is_missing_shard(one: Finding) -> bool:
    return (one.cause in _MISSING or "missing" in one.text) and bool(_SHARD.search(one.text)) and _is_checkpoint(one)


def _is_gone(one: Finding) -> bool:
    return ("No such file" in one.text or "FileNotFound" in one.text or "File exists" in one.text) and _is_checkpoint(
        one
    )


def _is_checkpoint(one: Finding) -> bool:
    return bool(_CHECKPOINT.search(one.text)) or "_states.pt" in one.text
