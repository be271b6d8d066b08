"""What two runs have in common in spite of other hosts, addresses and times."""

import re
from collections.abc import Iterable
from typing import Final

from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.scan.labels import split_label

_TEMPORARY: Final = re.compile(
    r"(?P<base>/(?:var/)?tmp/|/dev/shm/|/run/user/\d{1,9}/)[^\s'\":;,)\]]{1,300}"  # a name that nobody gives twice
    r"|(?P<name>\b(?:tmp|pymp-|torchelastic_|ray_)[a-z0-9_]{6,32}\b)"
)
_UUID: Final = re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|0x[0-9a-fA-F]+")
_UNIQUE: Final = re.compile(
    r"\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?\b"  # PCI
    r"|(?<![\w:])(?=[0-9a-fA-F:.]*\d)(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?:\.\d+){0,4}(?![\w:])"  # IPv6, MAC
    r"|\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{6,}\b"  # hashes and addresses
)
_DATE: Final = re.compile(
    r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} "
    r"{1,2}\d{1,2}\b"
)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MANY: Final = re.compile(r"#(?:(?:, ?|-| )#)+")
"""A list of ranks, a range of tasks."""
_UNIT: Final = re.compile(r"# ?(?:[KMGT]i?B|bytes|[mun]s|ms|s|sec|seconds|minutes|hours)\b")
_OF_RANK: Final = re.compile(r"(?i)(rank|job|worker|pid|host|task|proc(?:ess)?)([-_ .=]?)\d+")


def without_chance(text: str, nodes: Iterable[str] = ()) -> str:
    """The text without what differs between two equal failures: labels, hosts, addresses, pids, ranks, times."""
    text = _DATE.sub("#", _UNIQUE.sub("#", _nameless(split_label(text)[1], nodes)))
    text = _UNIT.sub("#", _NUMBER.sub("#", text))
    return _MANY.sub("#", text).strip()


def place_of(path: str, nodes: Iterable[str] = ()) -> str:
    """A file or frame without hosts, ranks, pids and temporary names. Other numbers and hashes tell places apart."""
    return _OF_RANK.sub(r"\1\2#", _nameless(path, nodes))


def _nameless(text: str, nodes: Iterable[str]) -> str:
    """Without names that only one job has: of hosts, temporary files, objects."""
    text = _TEMPORARY.sub(lambda found: f"{found['base'] or ''}#", text)
    for node in sorted(nodes, key=len, reverse=True):
        # Not within a longer name: node1 is not meant by node12.
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(node)}(?![A-Za-z0-9])", "@", text)
    return _UUID.sub("#", text)


def leave_out(case: Case, good: Case) -> None:
    """Leave out what a good run says too: it is no reason to fail."""
    harmless = {(one.signature, without_chance(one.text, good.nodes)) for one in good.findings if one.is_line}
    case.findings = [
        one
        for one in case.findings
        if not one.is_line or (one.signature, without_chance(one.text, case.nodes)) not in harmless
    ]
