"""What of `supervise` lies on this machine beside the package, and how it is removed. Reads, and changes nothing."""

import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from supervisor.hooks import placed
from supervisor.ledger.find_run import index_path
from supervisor.ledger.run_folder import FOLDER
from supervisor.settings_resolve import user_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One thing that is there."""

    what: str
    place: str
    goes: bool = False
    """The package manager takes it along."""
    remove: tuple[str, ...]
    """What to type, in this order."""


def package() -> Thing:
    """The package, by the Python that it runs in."""
    command = f"{shlex.quote(sys.executable)} -m pip uninstall slurm-supervise"
    return Thing(what="the package", place=sys.prefix, goes=True, remove=(command,))


def of_user(env: Mapping[str, str], run_folders: Mapping[Path, int]) -> Iterator[Thing]:
    """What is the user's own; `run_folders`: folders of run folders, with how many lie in each."""
    for base, number in run_folders.items():
        what = f"{number} run folder{'s' * (number != 1)}, with what `supervise why` tells"
        # SUPERVISE_HOME may be a folder with much else in it: only what is called as we do is ours as a whole.
        place = shlex.quote(str(base))
        remove = f"rm -r {place}" if base.name == FOLDER else f"supervise gc --older 1d {place}"
        yield Thing(what=what, place=str(base), remove=(remove,))
    for what, path in (("your settings", user_file(env)), ("the list of your runs", index_path(env))):
        if path.exists():
            yield Thing(what=what, place=str(path), remove=(f"rm {shlex.quote(str(path))}",))


def of_site(ledger: str) -> Iterator[Thing]:
    """What admins have set up."""
    yield from _units()
    yield from _hooks()
    for what, name in (
        ("the site's settings, signatures and off-switch", "etc/supervise"),
        ("records of the hooks on this node", "var/spool/supervise"),
        ("weekly reports", "var/lib/supervise"),
    ):
        if (placed.ROOT / name).exists():
            yield Thing(what=what, place=str(placed.ROOT / name), remove=(f"rm -r {placed.ROOT / name}",))
    if ledger and Path(ledger).exists():
        what = "the site's ledger: the history of all users' interruptions"
        yield Thing(what=what, place=ledger, remove=(f"rm -r {shlex.quote(ledger)}",))


def _units() -> Iterator[Thing]:
    """Timers first, or they would start what is being removed."""
    found = placed.units()
    if not found:
        return
    timers = " ".join(path.name for path in found if path.suffix == ".timer")
    commands = (f"systemctl disable --now {timers}",) if timers else ()
    files = " ".join(str(path) for path in found)
    remove = (*commands, f"rm {files}", "systemctl daemon-reload")
    yield Thing(what="systemd units", place=files, remove=remove)


def _hooks() -> Iterator[Thing]:
    """Without the package they end at once and well, so nothing breaks before they are removed."""
    if found := " ".join(map(str, placed.hooks())):
        first = "take them out of Prolog, Epilog and HealthCheckProgram in slurm.conf, then: scontrol reconfigure"
        yield Thing(what="Slurm's hooks", place=found, remove=(first, f"rm {found}"))
