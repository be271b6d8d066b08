"""Starts an agent from one tar: `python -I -S boot.py TAR CONFIG`. Standard library only.

2,048 agents that import their modules from a shared filesystem at the same moment bring it to its knees. So each
reads three files there (this one, the tar, the configuration), unpacks once per node, job and content into a folder
on the node, and runs from that. Where no folder on the node will do, it runs the installed package instead.
"""

import contextlib
import hashlib
import io
import os
import shutil
import stat
import sys
import tarfile
import tempfile
from pathlib import Path

_SHARED_TYPES = frozenset(
    {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "9p", "afs", "orangefs", "panfs", "wekafs"}
)
"""Filesystems that are another machine's: unpacking there would be the very thing to avoid."""


def main(arguments: list[str]) -> int:
    """Unpack what the first argument names and run the agent with the rest; the agent's exit code."""
    tar, *rest = arguments
    root = unpack(Path(tar).read_bytes(), os.environ)
    if root is None:
        print("supervise agent: no usable folder on this node, running the installed package", file=sys.stderr)  # noqa: T201
        os.execv(sys.executable, [sys.executable, "-I", "-m", "supervisor.agent", *rest])  # noqa: S606 - itself
    sys.path.insert(0, str(root))
    try:
        from supervisor.agent.main import main as agent  # only now is there something to import

        return agent(rest)
    finally:
        _remove(root)


def unpack(content: bytes, environment: "os._Environ[str] | dict[str, str]") -> "Path | None":
    """Folder on this node with the tar's files, made or found; None where none can be had."""
    job = environment.get("SLURM_JOB_ID", "0")
    name = f"supervise-{os.getuid()}-{job}-{hashlib.sha256(content).hexdigest()[:16]}"
    members = _members(content)
    for base in (environment.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108 - see _is_fit, _is_ours
        if base and _is_fit(Path(base)):
            with contextlib.suppress(OSError):
                return _placed(Path(base), name, members)
    return None


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
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if file is not None and not member.name.startswith("/") and ".." not in member.name.split("/"):
                found[member.name] = (file.read(), int(member.mtime))
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
    """Leave nothing behind. Under another name first: the next agent must find all of it or nothing."""
    with contextlib.suppress(OSError):
        going = root.with_name(f"{root.name}.{os.getpid()}.gone")
        root.rename(going)
        shutil.rmtree(going, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
