"""An evidence bundle, a run folder, a folder of logs or one log file, as a bundle."""

import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from supervisor.diagnose import rank_tails
from supervisor.diagnose.bundle import Bundle, Facts, Log, Place
from supervisor.diagnose.evidence.flight import Dump
from supervisor.diagnose.evidence.stacks import main_thread
from supervisor.diagnose.numbers import number_in
from supervisor.diagnose.reading import packed
from supervisor.diagnose.reading.dumps import read_dump
from supervisor.diagnose.reading.files import Pieces, check_readable, check_regular, is_within, read_json
from supervisor.diagnose.signatures import Kind
from supervisor.errors import PayloadRefused
from supervisor.model.ids import NodeName, Rank
from supervisor.slurm.hostlist import expand

_FILES: Final = 20_000
_KINDS: Final[dict[str, Kind]] = {"ranks": "ranks", "kernel": "kernel"}
_LOGS: Final = re.compile(
    r"(?:\.(?:log|out|err|txt|[oe]\d+(?:[.-]\d+)?|stdout|stderr)|"
    r"^(?:log|out|err|error|stdout|stderr|slurm|rsl\.(?:out|error))\.(?:\d{1,12}|[A-Za-z]\w{3,40})|"
    r"^(?:stdout|stderr|CRASH|OUTCAR|ocean\.output))(?:\.(?:gz|zst))?$"
)
"""Also as solvers name theirs: `log.simpleFoam`, `out.81234`, `rsl.error.0000`."""
_NO_LOGS: Final = re.compile(r"\.(?:json|toml|ya?ml|html|conf|hdf5|parquet|sqlite|pickle)$")
_BESIDE: Final = ((".out", ".err"), (".o", ".e"), (".stdout", ".stderr"), (".log", ".err"), ("out.", "err."))
_OTHERS: Final = frozenset({"facts.json", "slurm.json", "job.json", "topology.json", "environment.json", "beats.json"})
_NODES: Final = 20_000
_RANK: Final = re.compile(r"(\d{1,7})(?:\.\w{1,8})?$")
_TAILS_BYTES: Final = 16 << 20
DUMPS_S: Final = 300.0
"""For all flight-recorder dumps together: a real one takes a tenth of a second, a hostile one up to half a minute."""


def read_bundle(path: Path) -> Bundle:
    """The evidence in this folder, or in this file and the error file beside it.

    Raises `PayloadRefused` for what is no evidence at all, `OSError` for what cannot be read. A part of a folder that
    cannot be read is named in `unread`, and the others still count.
    """
    check_regular(path)
    if path.is_dir():
        return _read_folder(_inner(path))
    logs = [_log(file, name=file.name, kind="any") for file in (path, *_beside(path))]
    return Bundle(logs=tuple(logs))


def _read_folder(folder: Path) -> Bundle:
    parts, unread = _packed(folder / packed.FILE, folder)
    if not parts:
        return _Folder(folder, unread).read()
    with packed.unpacked(parts) as place:
        return packed.held(_Folder(place).read())


def _packed(file: Path, folder: Path) -> tuple[dict[str, str], list[str]]:
    """The parts in `bundle.json`, and why there are none: others write files of this name, too."""
    if not file.is_file() or not is_within(file, folder):
        return {}, []
    try:
        return packed.parts_of(file), []
    except (OSError, PayloadRefused) as exc:
        return {}, [str(exc)]


def _inner(path: Path) -> Path:
    """Of a run folder the last incident."""
    incidents = sorted(one for one in (path / "incidents").glob("*") if one.is_dir())
    return incidents[-1] if incidents else path


def _beside(path: Path) -> list[Path]:
    """`slurm-1.err` beside `slurm-1.out`: both are one job's words."""
    for out, err in _BESIDE:
        head, sep, tail = path.name.rpartition(out)
        if sep and (tail == "" or tail.isdigit()):
            other = path.with_name(f"{head}{err}{tail}")
            if other != path and other.is_file():
                return [other]
    return []


class _Folder:
    """Reads one folder; what cannot be read is noted."""

    def __init__(self, path: Path, unread: Iterable[str] = ()) -> None:
        self._path = path
        self._unread = list(unread)

    def read(self) -> Bundle:
        logs = [*self._tails(), *self._logs_in("ranks"), *self._logs_in("kernel"), *self._plain_logs()]
        job = self._json("job.json")
        bundle = Bundle(
            logs=tuple(logs),
            facts=self._facts(),
            nodes=_nodes(job.get("nodes")),
            places=_places(job),
            layout=_layout(job),
            nvml=self._of_nodes("nvml"),
            rdma=self._of_nodes("rdma"),
            topology=self._json("topology.json"),
            environment=self._json("environment.json"),
            beats=self._beats(),
            flight=tuple(self._dumps()),
            stacks=dict(self._stacks()),
            unread=tuple(self._unread),
        )
        if not logs and bundle == Bundle(facts=bundle.facts, unread=bundle.unread) and bundle.facts == Facts():
            why = f" ({'; '.join(self._unread[:3])})" if self._unread else ""
            raise PayloadRefused(
                f"{self._path} holds no evidence{why}: expected are *.log, *.out, ranks/<rank>.log, "
                "kernel/<node>.log or slurm.json"
            )
        return bundle

    def _tails(self) -> tuple[Log, ...]:
        """The ranks' last lines in one file, as the supervisor keeps them."""
        file = self._path / rank_tails.FILE
        if not _has_tails(file) or not self._is_ours(file):
            return ()
        return rank_tails.parted(file.read_text(errors="replace").removesuffix("\n").split("\n"))

    def _plain_logs(self) -> Iterator[Log]:
        for file in sorted(self._path.iterdir()):
            if file.is_dir() or file.name in _OTHERS or not _is_log(file.name):
                continue
            if file.name == rank_tails.FILE and _has_tails(file):
                continue
            kind: Kind = "slurm" if file.name == "slurm.log" else "any"
            if self._is_ours(file):
                yield _log(file, name=file.name, kind=kind)

    def _logs_in(self, folder: str) -> Iterator[Log]:
        files = sorted((self._path / folder).glob("*"), key=lambda one: (len(one.name), one.name))
        for file in islice(files, _FILES):
            if file.is_dir() or not self._is_ours(file):
                continue
            stem = file.name.split(".")[0] if _LOGS.search(file.name) else file.name
            stem = (
                file.name.removesuffix(".zst").removesuffix(".gz").removesuffix(".log") if folder == "kernel" else stem
            )
            number = number_in(stem) if folder == "ranks" else None
            rank = Rank(number) if number is not None else None
            node = NodeName(stem) if folder == "kernel" else None
            yield _log(file, name=f"{folder}/{file.name}", kind=_KINDS[folder], rank=rank, node=node)

    def _is_ours(self, file: Path) -> bool:
        if not is_within(file, self._path):
            self._unread.append(f"{file.name} leads out of the folder")
            return False
        try:
            check_regular(file)
            check_readable(file)
        except (OSError, PayloadRefused) as exc:
            self._unread.append(f"{file.name}: {getattr(exc, 'strerror', None) or exc}")
            return False
        return True

    def _of_nodes(self, folder: str) -> dict[NodeName, dict[str, Any]]:
        found = {}
        for file in islice(sorted((self._path / folder).glob("*.json")), _FILES):
            if told := self._json(f"{folder}/{file.name}"):
                found[NodeName(file.stem)] = told
        return found

    def _beats(self) -> tuple[dict[str, Any], ...]:
        told = self._json("beats.json", list[Any] | dict[str, Any])
        return tuple(one for one in (told if isinstance(told, list) else [told]) if isinstance(one, dict) and one)

    def _dumps(self) -> Iterator[Dump]:
        deadline = time.monotonic() + DUMPS_S
        files = sorted((self._path / "flight").glob("*"))[:_FILES]
        for index, file in enumerate(files):
            if time.monotonic() > deadline:
                self._unread.append(f"flight: {len(files) - index} files not read within {DUMPS_S:g} s")
                return
            if file.is_dir() or not self._is_ours(file):
                continue
            try:
                yield read_dump(file)
            except (OSError, PayloadRefused) as exc:
                self._unread.append(str(exc))

    def _stacks(self) -> Iterator[tuple[Rank, tuple[str, ...]]]:
        for file in islice(sorted((self._path / "stacks").glob("*")), _FILES):
            named = _RANK.search(file.name)
            if named and not file.is_dir() and self._is_ours(file):
                text = b"".join(islice(Pieces(file)(), 4)).decode(errors="replace")
                if frames := main_thread(text.splitlines()):
                    yield Rank(int(named[1])), frames

    def _facts(self) -> Facts:
        """`facts.json`, completed by `slurm.json`."""
        facts = self._json("facts.json", Facts) or Facts()
        slurm = self._json("slurm.json")
        code, signal = _exit(str(slurm.get("exit_code", "")))
        if facts.exit_code is None and facts.exit_signal is None:
            facts = msgspec.structs.replace(facts, exit_code=code, exit_signal=signal)
        return msgspec.structs.replace(
            facts,
            job_state=facts.job_state or str(slurm.get("state") or ""),
            job_reason=facts.job_reason or str(slurm.get("reason") or ""),
        )

    def _json(self, name: str, shape: Any = dict[str, Any]) -> Any:  # whatever the part holds
        path = self._path / name
        if path.exists() and not is_within(path, self._path):  # the file, or the folder that it lies in
            self._unread.append(f"{name} leads out of the folder")
            return {}
        try:
            return read_json(path, shape) or {}
        except (OSError, PayloadRefused) as exc:
            self._unread.append(str(exc))
            return {}


def _is_log(name: str) -> bool:
    return bool(_LOGS.search(name)) and not _NO_LOGS.search(name)


def _has_tails(file: Path) -> bool:
    """Ours, by name and size: a larger one is a log like any other."""
    return file.is_file() and file.stat().st_size <= _TAILS_BYTES


def _log(path: Path, *, name: str, kind: Kind, rank: Rank | None = None, node: NodeName | None = None) -> Log:
    with path.open("rb"):  # raises here and not in the middle of the scan
        written_at = path.stat().st_mtime
    return Log(name=name, pieces=Pieces(path), kind=kind, rank=rank, node=node, written_at=written_at)


def _exit(text: str) -> tuple[int | None, int | None]:
    """Slurm's `code:signal`; a signal makes the code meaningless."""
    code, colon, signal = text.partition(":")
    number = number_in(signal) if colon else 0
    if number is None:
        return None, None  # half of it is no exit code
    return (None, number) if number else (number_in(code), None)


def _nodes(told: Any) -> tuple[NodeName, ...]:  # a list of names, or Slurm's short form
    if isinstance(told, str):
        try:
            return expand(told, cap=_NODES)
        except PayloadRefused:
            return ()
    return tuple(NodeName(one) for one in told if isinstance(one, str)) if isinstance(told, list) else ()


def _places(job: dict[str, Any]) -> dict[Rank, Place]:
    ranks = job.get("ranks")
    found: dict[Rank, Place] = {}
    for rank, told in ranks.items() if isinstance(ranks, dict) else ():
        number = number_in(rank)
        if number is None:
            continue
        if isinstance(told, str):
            found[Rank(number)] = Place(node=NodeName(told))
        elif isinstance(told, dict):
            found[Rank(number)] = _place(told)
    return found


def _place(told: dict[str, Any]) -> Place:
    def number(*names: str) -> int | None:
        values = (number_in(told.get(name)) for name in names)
        return next((one for one in values if one is not None), None)

    node = told.get("node")
    return Place(
        node=NodeName(node) if isinstance(node, str) else None,
        local_rank=number("local_rank", "local"),
        gpu=number("gpu") if "gpu" in told else number("local_rank"),  # null: it is known that nobody knows
    )


def _layout(job: dict[str, Any]) -> dict[Rank, dict[str, int]]:
    layout = job.get("layout")
    found = {}
    for rank, dims in layout.items() if isinstance(layout, dict) else ():
        number = number_in(rank)
        if number is not None and isinstance(dims, dict):
            found[Rank(number)] = {str(name): int(at) for name, at in dims.items() if isinstance(at, int)}
    return found
