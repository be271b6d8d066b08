"""Keeps a run folder within its bounds: what goes first when there is too much. A plan, and the one who does it."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from supervisor.ledger.packing import PACKED, pack
from supervisor.ledger.records import COMPACTED, FEEDBACK, FOLDER, VERDICT
from supervisor.model.ids import JobId

_PACKED_BYTES: Final = 8_000_000
"""Larger bundles stay as they are: what is packed is read whole."""
_KEPT: Final = frozenset({VERDICT, FEEDBACK, PACKED})
_DEPTH: Final = 2
"""`incidents/003/job.log`"""
_LEFTOVER_S: Final = 3600.0
"""A file that was half written this long ago was left by a supervisor that was killed."""
_DRAFT: Final = re.compile(r"\..+\.\d+")
_NUMBERED: Final = re.compile(r"(incidents|attempts)/(\d+)/")
_OLDER_PART: Final = re.compile(r"[^/]+\.(?:log|jsonl)\.1")
_AGENT_FILE: Final = re.compile(r"agent-(.+)\.json")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may take."""

    files: int = 30
    size_bytes: int = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of the run folder."""

    path: str
    """Relative to the run folder."""
    size_bytes: int
    age_s: float = 0.0

    @property
    def name(self) -> str:
        """File name."""
        return self.path.rpartition("/")[2]

    @property
    def number(self) -> int:
        """Of the incident or attempt that it belongs to; 0: to none."""
        match = _NUMBERED.match(self.path)
        return int(match[2]) if match else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What goes, in this order."""

    pack: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Parts of a bundle that become one file, by the folder of their incident."""
    remove: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()
    """Verdicts that become lines of `incidents.jsonl`."""


def plan(entries: Iterable[Entry], job_id: JobId, limits: Limits = Limits()) -> Plan:
    """What must go so that the folder is within its limits: the least, the least useful first. Pure.

    First what nobody reads any more; then bundles of the oldest incidents are packed, one file each, and go if that is
    not enough; then the oldest attempts' files, then the older parts of logs; then verdicts move into one file. The
    newest incident and the newest attempt stay whole; nothing else is ever touched.
    """
    known = list(entries)
    packs = _packs(known, job_id, limits)
    known = _packed(known, packs)
    excess = _Excess(known, limits)
    remove = [entry.path for stage in _stages(known, job_id) for entry in stage if excess.take(entry)]
    verdicts = [entry for entry in _below(known, FOLDER) if entry.name == VERDICT]
    if all(entry.path != COMPACTED for entry in known):
        excess.expect_file()
    merge = [entry.path for entry in verdicts if excess.is_over_files and excess.take(entry)]
    return Plan(pack=packs, remove=tuple(remove), merge=tuple(merge))


def enforce(run_folder: Path, job_id: JobId, *, now: float, limits: Limits = Limits()) -> None:
    """Bring the folder within its limits. For the writer's thread: it blocks. `job_id`: SLURM_JOB_ID of the living job.

    Raises `OSError` where a merged verdict cannot be written; no verdict is lost by that.
    """
    todo = plan(_walk(run_folder, now), job_id, limits)
    _pack(run_folder, todo)
    _merge(run_folder, todo.merge)
    for name in (*todo.remove, *todo.merge):
        path = run_folder / name
        path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            path.parent.rmdir()


class _Excess:
    """How much is still too much."""

    def __init__(self, entries: Iterable[Entry], limits: Limits) -> None:
        known = list(entries)
        self._files = len(known) - limits.files
        self._bytes = sum(entry.size_bytes for entry in known) - limits.size_bytes

    @property
    def is_over_files(self) -> bool:
        """Merging helps against too many files only."""
        return self._files > 0

    def expect_file(self) -> None:
        """The file that verdicts are merged into, where there is none yet."""
        self._files += self._files > 0

    def take(self, entry: Entry) -> bool:
        """Whether this one has to go."""
        if self._files <= 0 and self._bytes <= 0:
            return False
        self._files -= 1
        self._bytes -= entry.size_bytes
        return True


def _packs(known: list[Entry], job_id: JobId, limits: Limits) -> dict[str, tuple[str, ...]]:
    """The parts of the oldest bundles, as many as are needed: their incident's folder and their names."""
    over = len(known) - limits.files - sum(_is_useless(entry, job_id) for entry in known)
    by_folder: dict[str, list[Entry]] = {}
    for entry in _below(known, FOLDER):
        if entry.path.count("/") == _DEPTH and entry.name not in _KEPT:
            by_folder.setdefault(entry.path.rpartition("/")[0], []).append(entry)
    begun = {entry.path.rpartition("/")[0] for entry in known if entry.name == PACKED}
    found: dict[str, tuple[str, ...]] = {}
    for folder, parts in by_folder.items():
        saved = len(parts) - (folder not in begun)
        if over > 0 and saved > 0 and sum(part.size_bytes for part in parts) < _PACKED_BYTES:
            found[folder] = tuple(part.name for part in parts)
            over -= saved
    return found


def _packed(known: list[Entry], packs: dict[str, tuple[str, ...]]) -> list[Entry]:
    """The files as they will be."""
    sizes = {entry.path: entry.size_bytes for entry in known}
    # One that a supervisor was killed over is there already, and takes up the parts that were left.
    into = {folder: [f"{folder}/{name}" for name in (*names, PACKED)] for folder, names in packs.items()}
    gone = {path for paths in into.values() for path in paths}
    made = [
        Entry(path=f"{folder}/{PACKED}", size_bytes=sum(sizes.get(path, 0) for path in paths))
        for folder, paths in into.items()
    ]
    return [entry for entry in known if entry.path not in gone] + made


def _pack(run_folder: Path, todo: Plan) -> None:
    """A bundle that would have to go at once goes as it is; one that a full disk does not take stays as it is."""
    for folder, names in todo.pack.items():
        if f"{folder}/{PACKED}" in todo.remove:
            for name in names:
                (run_folder / folder / name).unlink(missing_ok=True)
        else:
            with suppress(OSError):
                pack(run_folder / folder, names)


def _stages(entries: list[Entry], job_id: JobId) -> Iterator[list[Entry]]:
    yield [entry for entry in entries if _is_useless(entry, job_id)]
    bundles = [entry for entry in _below(entries, FOLDER) if entry.name not in {VERDICT, FEEDBACK}]
    # What a person has corrected is judged again after each change of the rules: its evidence goes last.
    corrected = {entry.number for entry in entries if entry.name == FEEDBACK}
    yield sorted(bundles, key=lambda entry: entry.number in corrected)
    yield _below(entries, "attempts")
    yield [entry for entry in entries if _OLDER_PART.fullmatch(entry.path)]


def _is_useless(entry: Entry, job_id: JobId) -> bool:
    """Half-written files of killed processes, and what agents of earlier jobs were told."""
    agent_of = _AGENT_FILE.fullmatch(entry.path)
    is_half_written = _DRAFT.fullmatch(entry.name) is not None and entry.age_s > _LEFTOVER_S
    return is_half_written or (agent_of is not None and agent_of[1] != job_id)


def _below(entries: list[Entry], folder: str) -> list[Entry]:
    """Files of numbered folders, the lowest number first, without the highest."""
    found = [entry for entry in entries if entry.number and entry.path.startswith(f"{folder}/")]
    newest = max((entry.number for entry in found), default=0)
    return sorted((entry for entry in found if entry.number < newest), key=lambda entry: entry.number)


def _walk(run_folder: Path, now: float) -> Iterator[Entry]:
    for folder, _, names in os.walk(run_folder):
        for name in names:
            path = Path(folder, name)
            with suppress(OSError):  # gone at this moment
                seen = path.lstat()
                relative = str(path.relative_to(run_folder))
                yield Entry(path=relative, size_bytes=seen.st_size, age_s=now - seen.st_mtime)


def _merge(run_folder: Path, verdicts: tuple[str, ...]) -> None:
    """On disk before the first of them goes; as they are, so that nothing of a newer version is lost."""
    if not verdicts:
        return
    lines = [(run_folder / name).read_bytes().replace(b"\n", b" ") for name in verdicts]
    with (run_folder / COMPACTED).open("ab") as file:
        file.write(b"".join(b"\n" + line for line in lines) + b"\n")  # in front too: an earlier line may be torn
        file.flush()
        os.fsync(file.fileno())
