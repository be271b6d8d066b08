"""Checks of folders: PyTorch's distributed checkpoints, sharded weights, and any other."""

import json
import re
from typing import Final

from supervisor.checkpoint.formats import check_file, is_checkable
from supervisor.checkpoint.names import is_unfinished
from supervisor.checkpoint.store import Broken, Deadline, Entry, Store
from supervisor.errors import CheckpointsUnreadable

_ENTRIES: Final = 20_000
"""More than this in one checkpoint is none that we can check."""
_DEPTH: Final = 4
_METADATA_BYTES: Final = 64 << 20
_DCP_NAME: Final = re.compile(rb"__\d{1,7}_\d{1,7}\.distcp")


def check_folder(store: Store, path: str, deadline: Deadline) -> tuple[str, list[Entry]]:
    """The kind (dcp, safetensors, torch or folder) and all files in it. Raises `Broken` where it is not whole."""
    files = files_under(store, path, deadline)
    if not files:
        raise Broken("incomplete", "the folder is empty")
    for file in files:
        if is_unfinished(file.name) and file.name != ".metadata":
            raise Broken("incomplete", f"{file.name} was being written")
    if any(file.name == ".metadata" or file.name.endswith(".distcp") for file in files):
        _check_dcp(store, files, deadline)
        return "dcp", files
    for file in files:
        if file.name.endswith(".index.json"):
            _check_index(store, file, files)
    kinds = {check_file(store, file, deadline)[0] for file in files if is_checkable(file.name)}
    return next((kind for kind in ("safetensors", "torch") if kind in kinds), "folder"), files


def files_under(store: Store, path: str, deadline: Deadline) -> list[Entry]:
    """All files below a folder, at most four levels deep."""
    files: list[Entry] = []
    folders = [(path, 0)]
    while folders:
        deadline()
        folder, depth = folders.pop()
        entries = store.entries(folder)
        files += [entry for entry in entries if not entry.is_folder]
        if depth < _DEPTH:
            folders += [(entry.path, depth + 1) for entry in entries if entry.is_folder]
        if len(files) > _ENTRIES:
            raise CheckpointsUnreadable(f"{path}: more than {_ENTRIES} files; name the folder that holds checkpoints")
    return files


def _check_dcp(store: Store, files: list[Entry], deadline: Deadline) -> None:
    """`.metadata` is written last. The names of the files stand in it; it is a pickle, so they are only looked for."""
    by_name = {file.name: file for file in files}
    metadata = by_name.get(".metadata")
    if metadata is None or metadata.size == 0:
        raise Broken("incomplete", ".metadata, which is written last, is not there")
    deadline()
    with store.open(metadata.path) as file:
        content = file.read(_METADATA_BYTES)
    if not content.endswith(b".") and metadata.size <= _METADATA_BYTES:  # a pickle ends with its stop code
        raise Broken("incomplete", ".metadata ends too early")
    wanted = {name.decode() for name in _DCP_NAME.findall(content)}
    missing = sorted(name for name in wanted if name not in by_name or by_name[name].size == 0)
    if missing:
        raise Broken("incomplete", f"{missing[0]} is empty or missing ({len(missing)} of {len(wanted)} files)")
    empty = [file.name for file in files if file.name.endswith(".distcp") and file.size == 0]
    if empty or not any(name.endswith(".distcp") for name in by_name):
        raise Broken("incomplete", f"{empty[0]} is empty" if empty else "there is no .distcp file")


def _check_index(store: Store, index: Entry, files: list[Entry]) -> None:
    """Each shard that the index of sharded weights names is there. The shards themselves are checked like all files."""
    try:
        with store.open(index.path) as file:
            shards = set(json.loads(file.read(_METADATA_BYTES))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise Broken("corrupt", f"{index.name} is no index of shards") from exc
    missing = sorted(shards - {file.name for file in files if file.size})
    if missing:
        raise Broken("incomplete", f"{missing[0]} is empty or missing ({len(missing)} of {len(shards)} shards)")
