"""What an attempt ran with: `attempts/NNN/software.json`, and part of a bundle's `environment.json`."""

from supervisor.model.base import Fact


class Hunk(Fact, frozen=True, kw_only=True):
    """Lines of one file that differ, without secrets."""

    path: str
    line: int
    """The first one, as the file is now."""
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


class Git(Fact, frozen=True, kw_only=True):
    """The repository that the script, or the working folder, lies in."""

    root: str
    commit: str
    branch: str = ""
    """`HEAD` where none is checked out."""
    dirty: tuple[str, ...] = ()
    """Files that differ from the commit; untracked ones are not looked for."""
    hunks: tuple[Hunk, ...] = ()
    """How they differ, as far as that is little."""
    is_cut: bool = False
    """Not every difference is in `hunks`."""


class Software(Fact, frozen=True, kw_only=True):
    """Code and surroundings of one attempt; what could not be found out is empty. Holds no environment values."""

    schema: int = 1
    script_name: str = ""
    script_sha256: str = ""
    """Of the text as the user wrote it; empty for a command."""
    script: str = ""
    """That text without secrets; empty where it is long."""
    arguments: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Loaded when the job began, or by the script."""
    python: str = ""
    """The folder of the Python installation: venv, conda or the system's."""
    packages: dict[str, str] = {}  # noqa: RUF012  # msgspec copies mutable defaults
    """Name to version."""
    packages_sha256: str = ""
    container: str = ""
    """Image as it was named, with size and time where it is a file."""
    driver: str = ""
    git: Git | None = None
