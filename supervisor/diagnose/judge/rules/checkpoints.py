"""Checkpoints: shards of other nodes that are not there."""

import re
from typing import Final

from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.rules.storage import is_local_path

_MISSING: Final = frozenset(
    {"file_not_found", "checkpoint_incomplete", "checkpoint_config_mismatch", "checkpoint_not_shared"}
)
_SHARD: Final = re.compile(r"(?:zero_pp_rank_|mp_rank_|__|rank[_-]?|distrib_optim|model_optim_rng|shard[_-])(\d{1,6})")
_CHECKPOINT: Final = re.compile(r"checkpoint|ckpt|global_step|iter_\d|snapshot|autoresume|latest", re.IGNORECASE)
_SEVERAL: Final = 2


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


def _is_own(one: Finding) -> bool:
    """The first number in the shard's name is the rank's own."""
    return str(one.rank) in _SHARD.findall(one.text)[:1]


def _is_missing_shard(one: Finding) -> bool:
    return (one.cause in _MISSING or "missing" in one.text) and bool(_SHARD.search(one.text)) and _is_checkpoint(one)


def _is_checkpoint(one: Finding) -> bool:
    return bool(_CHECKPOINT.search(one.text)) or "_states.pt" in one.text
