"""The run folder's filesystem, and where this installation lies."""

from typing import Final

from supervisor.doctor.checks.slurm import short
from supervisor.doctor.finding import Finding, fail, ok, unknown, warn
from supervisor.doctor.mounts import LOCAL
from supervisor.doctor.place import Place

_NEEDED_BYTES: Final = 200_000_000
"""Four run folders of the size that they may have."""
_NEEDED_FILES: Final = 500
_SKEW_S: Final = 2.0


def writable(place: Place) -> Finding | None:
    """A run folder can be made here."""
    seen = place.folder
    if not seen.complaint:
        return ok(f"run folders in {_end(seen.path)} ({seen.filesystem})")
    return fail(
        "the run folder cannot be made",
        short(seen.complaint),
        "go to a folder on a shared filesystem, or set SUPERVISE_HOME to one",
    )


def executable(place: Place) -> Finding | None:
    """The keeper is started from the run folder."""
    if place.folder.complaint or place.folder.can_execute:
        return None
    return fail(
        "the run folder is mounted noexec",
        "the keeper cannot start there: jobs would run without supervision",
        "set SUPERVISE_HOME to a folder on another filesystem",
    )


def locks(place: Place) -> Finding | None:
    """link(), and for others flock."""
    seen = place.folder
    if seen.complaint:
        return None
    if seen.link:
        return fail(
            f"link() does not work in the run folder ({seen.link})",
            "two jobs could work on one run",
            "set SUPERVISE_HOME to a folder on another filesystem",
        )
    if seen.flock:
        return warn(
            f"{seen.filesystem} without flock ({seen.flock}): using link() locks",
            "nothing for supervise; your own tools may want it",
            "for your admin: mount with -o flock",
        )
    return ok("flock and link() work")


def room(place: Place) -> Finding | None:
    """Space and files that are free; a full quota shows in `writable`."""
    seen = place.folder
    if seen.complaint:
        return None
    files = seen.free_files
    if seen.free_bytes < _NEEDED_BYTES or (files is not None and files < _NEEDED_FILES):
        left = "" if files is None else f", {files} files"
        return warn(
            f"{seen.free_bytes // 1_000_000} MB{left} left for run folders",
            "evidence of incidents is lost when it is full; training goes on",
            "remove old folders below .supervise, or set SUPERVISE_HOME",
        )
    return ok(f"{seen.free_bytes // 1_000_000_000} GB free")


def shared(place: Place) -> Finding | None:
    """Whether nodes see run folder and installation."""
    local = [
        name
        for name, kind in (("the run folder", place.folder.filesystem), ("this Python", place.own.prefix_filesystem))
        if kind in LOCAL
    ]
    if not local:
        return ok("run folder and installation are on shared filesystems")
    return unknown(
        f"do compute nodes see {' and '.join(local)}?",
        "it is local here, and what nodes do not see runs without supervision",
        "`supervise doctor --job` tests it",
    )


def clock(place: Place) -> Finding | None:
    """The file server's and ours."""
    if place.folder.complaint or abs(place.folder.skew_s) <= _SKEW_S:
        return None
    return warn(
        f"the file server's clock differs by {place.folder.skew_s:.1f} s",
        "times in an incident's evidence do not fit together",
        "for your admin: chrony or NTP on both",
    )


def _end(path: str) -> str:
    return path if len(path) <= 40 else f"…{path[-39:]}"  # noqa: PLR2004  # a length for people
