"""`doctor --security`: what listens, which files with which modes, what root runs, what leaves this host. Pure."""

from typing import Final

from supervisor.doctor.finding import Finding, warn
from supervisor.model.base import Fact

_WITH_HOST: Final = frozenset({"mailto", "http", "https"})
"""Of other URLs a token may stand where the host stands in these."""


class FileSeen(Fact, frozen=True, kw_only=True):
    """One file or folder of ours."""

    what: str
    path: str
    mode: int | None = None
    """None: it is not there."""
    owner: str = ""
    distrust: str = ""
    """Who else could change it or put another in its place; empty: nobody but its owner and root."""


class Component(Fact, frozen=True, kw_only=True):
    """One installed distribution that we load code from."""

    name: str
    version: str
    licence: str


class SecuritySeen(Fact, frozen=True, kw_only=True):
    """All that an evaluator asks for."""

    ports: tuple[int, int] | None = None
    """SrunPortRange; None: not set, or not asked for want of Slurm."""
    transport: str = "auto"
    brokers: tuple[str, ...] = ()
    files: tuple[FileSeen, ...] = ()
    root_runs: tuple[FileSeen, ...] = ()
    """Hooks and units that are installed here."""
    leaves: tuple[str, ...] = ()
    """What is configured to send something off this site, each with where it is set."""
    components: tuple[Component, ...] = ()


def findings(seen: SecuritySeen) -> list[Finding]:
    """Each file of ours that others could change, with what to do."""
    return [
        warn(
            f"{file.what}: {file.distrust}",
            "whoever can write it can change what your jobs do",
            f"chmod go-w, or chown, what is named; then look again at {file.path}",
        )
        for file in (*seen.files, *seen.root_runs)
        if file.distrust
    ]


def conclusion(seen: SecuritySeen) -> str:
    """First line."""
    wrong = len(findings(seen))
    files = (
        f"{wrong} of our files can be changed by others." if wrong else "None of our files can be changed by others."
    )
    root = f"root runs {len(seen.root_runs)} files of ours" if seen.root_runs else "nothing of ours runs as root"
    sent = f"{len(seen.leaves)} ways out are configured" if seen.leaves else "nothing leaves this host"
    return f"{files} Nothing listens outside a job; {root}; {sent}."


def lines(seen: SecuritySeen) -> list[str]:
    """The screen below the conclusion."""
    return [
        "listens   " + listening(seen),
        *("file      " + _told(file) for file in seen.files),
        *(["root      nothing: no hook and no unit of ours is installed here"] if not seen.root_runs else []),
        *("root      " + _told(file) for file in seen.root_runs),
        *("leaves    " + way for way in seen.leaves or ("nothing: no notifier is configured",)),
        f"contains  {len(seen.components)} distributions; `supervise doctor --security --json` lists them (CycloneDX)",
        *(f"          {one.name} {one.version}  {one.licence}" for one in seen.components),
    ]


def listening(seen: SecuritySeen) -> str:
    """Which port, where, and when."""
    if seen.transport == "stdout":
        return "nothing (transport is set to stdout)"
    span = f"{seen.ports[0]}-{seen.ports[1]} (SrunPortRange)" if seen.ports else "any free one (no SrunPortRange)"
    return f"in a job only: one TLS port on the first node's Slurm address, {span}; user and password of the run"


def ways_out(urls: str, origin: str) -> tuple[str, ...]:
    """The notifiers that are set, without what may be a secret in their URLs."""
    return tuple(f"{_host(url)} (notify, {origin})" for url in urls.split())


def _host(url: str) -> str:
    scheme, _, rest = url.partition(":")
    if scheme not in _WITH_HOST:
        return scheme
    return f"{scheme} to {rest.lstrip('/').partition('/')[0].partition('?')[0].rpartition('@')[2]}"


def _told(file: FileSeen) -> str:
    if file.mode is None:
        return f"{file.what}: {file.path} is not there"
    note = f"  CAN BE CHANGED BY OTHERS: {file.distrust}" if file.distrust else ""
    return f"{file.what}: {file.path} {file.mode:04o} {file.owner}{note}"
