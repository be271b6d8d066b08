"""Starts a module of ours from one file: `python -I boot.py SOURCE MODULE ARGUMENTS...`. Standard library only.

SOURCE is a tar, or a run folder, whose `run.json` names the tar of the version that the run was submitted with: a
package that is replaced while a job runs for weeks is never mixed with what the job has loaded of it already.
2,048 agents that import their modules from a shared filesystem at the same moment bring it to its knees. So each
reads three files there (this one, the tar, its configuration), unpacks once per node, job and content into a folder
on the node, and runs from that. Where no folder on the node will do, or the tar cannot be used, the installed package
runs instead.
"""

import atexit
import contextlib
import gzip
import hashlib
import io
import json
import os
import runpy
import shutil
import stat
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import NoReturn

PYTHON = f"{sys.implementation.cache_tag}-{os.uname().machine}"
"""What a tar with libraries in it is made for."""
PREFIX = f"supervise-{os.getuid()}-"
"""How the name of what is unpacked begins."""
_SHARED_TYPES = frozenset(
    {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "9p", "afs", "orangefs", "panfs", "wekafs"}
)
"""Filesystems that are another machine's: unpacking there would be the very thing to avoid."""
_GONE = ".gone"
_GZIP = b"\x1f\x8b"


def main(arguments: list[str]) -> None:
    """Run the module as `python -m` would, from what the first argument names."""
    source, module, *rest = arguments
    root = _root(Path(source), module)
    if root is None:
        _run_installed(module, rest)
    sys.path.insert(0, str(root))
    sys.argv = [module, *rest]
    atexit.register(_remove, root)  # not before a traceback is printed, whose lines are read from there
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def unpack(content: bytes, environment: "os._Environ[str] | dict[str, str]", source: Path) -> "Path | None":
    """Folder on this node with the tar's files, made or found; None where none can be had.

    One for each job, and without Slurm for each source: whoever ends takes his own away and nobody else's.
    """
    job = environment.get("SLURM_JOB_ID", "0")
    key = hashlib.sha256(os.fsencode(source) + content).hexdigest()[:16]
    members = _members(content)
    for base in (environment.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108 - see _is_fit, _is_ours
        if base and _is_fit(Path(base)):
            with contextlib.suppress(OSError):
                return _placed(Path(base), f"{PREFIX}{job}-{key}", members)
    return None


def _root(source: Path, module: str) -> "Path | None":
    """Where to run from; None: the installed package, with the reason where a tar was to be had."""
    try:
        content = _kept(source) if source.is_dir() else source.read_bytes()
        if content is None:
            return None
        root = unpack(content, os.environ, source)
        why = "no folder on this node is usable"
    except (OSError, EOFError, ValueError, tarfile.TarError, zlib.error) as exc:
        root, why = None, str(exc)
    if root is None:
        print(f"supervise: {module} runs from the installed package: {why}", file=sys.stderr)  # noqa: T201
    return root


def _kept(run_folder: Path) -> "bytes | None":
    """The version that the run was submitted with; None: an older one has submitted it, and kept none."""
    try:
        name = json.loads((run_folder / "run.json").read_bytes()).get("runtime", "")
    except (OSError, ValueError):  # whoever runs next says what is wrong with the folder
        return None
    if not name:
        return None
    if f"-{PYTHON}-" not in name:
        raise ValueError(f"{name} was kept for another Python than {PYTHON}")
    path = run_folder.parent / str(name)
    with path.open("rb") as file:
        facts = os.fstat(file.fileno())
        if facts.st_uid != os.getuid() or facts.st_mode & 0o022:
            raise ValueError(f"others can write to {path}")
        return file.read()


def _run_installed(module: str, rest: "list[str]") -> NoReturn:
    os.execv(sys.executable, [sys.executable, "-I", "-m", module, *rest])  # noqa: S606 - itself


def _placed(base: Path, name: str, members: "dict[str, tuple[bytes, int]]") -> Path:
    root = base / name
    if _is_ours(root) and _is_whole(root, members):
        return root
    fresh = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=base))
    try:
        _write(fresh, members)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    try:
        fresh.rename(root)
    except OSError:
        # Somebody else's folder has the name, or another agent of ours was quicker: the fresh one does as well.
        return fresh
    return root


def _members(content: bytes) -> "dict[str, tuple[bytes, int]]":
    """Content and time of each file in the tar by its name. Names that lead out of the folder are left out."""
    found = {}
    whole = gzip.decompress(content) if content.startswith(_GZIP) else content  # with its checksum
    with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as tar:
        for member in tar:
            if member.isfile() and not member.name.startswith("/") and ".." not in member.name.split("/"):
                begin = member.offset_data
                found[member.name] = (whole[begin : begin + member.size], int(member.mtime))
    return found


def _write(root: Path, members: "dict[str, tuple[bytes, int]]") -> None:
    for folder in {(root / name).parent for name in members}:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, (text, at) in members.items():
        path = root / name
        path.write_bytes(text)
        os.utime(path, (at, at))  # compiled files are believed only beside a source of their time


def _is_ours(root: Path) -> bool:
    """Only what is ours alone is run: /tmp belongs to everybody, and the name can be guessed."""
    try:
        facts = root.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077


def _is_whole(root: Path, members: "dict[str, tuple[bytes, int]]") -> bool:
    """Cleaners of /tmp take single files that were not read for days."""
    try:
        return all((root / name).lstat().st_size == len(text) for name, (text, _) in members.items())
    except OSError:
        return False


def _is_fit(base: Path) -> bool:
    """A folder of this node, where libraries can be mapped and where nobody can swap what we made."""
    try:
        facts = base.stat()
        is_executable = not os.statvfs(base).f_flag & os.ST_NOEXEC
    except OSError:
        return False
    is_safe = facts.st_uid in (0, os.getuid()) and (not facts.st_mode & 0o022 or bool(facts.st_mode & stat.S_ISVTX))
    return is_safe and is_executable and os.access(base, os.W_OK) and _filesystem(base) not in _SHARED_TYPES


def _filesystem(base: Path) -> str:
    """Type of the filesystem that the folder lies on; empty when unknown."""
    real = os.path.realpath(base)
    best, kind = "", ""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines():
            words = line.split()
            point = words[1].rstrip("/")
            # The last of equal points is the one on top.
            if (real == point or real.startswith(f"{point}/")) and len(point) >= len(best):
                best, kind = point, words[2]
    return kind


def _remove(root: Path) -> None:
    """Leave nothing behind. Under another name first: the next agent must find all of it or nothing.

    What another one of ours was killed over goes along.
    """
    with contextlib.suppress(OSError):
        root.rename(root.with_name(f"{root.name}.{os.getpid()}{_GONE}"))
    for going in root.parent.glob(f"{PREFIX}*{_GONE}"):
        shutil.rmtree(going, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
