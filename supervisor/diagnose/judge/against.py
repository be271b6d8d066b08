"""What two runs have in common in spite of other hosts, addresses and times."""

import re
from collections.abc import Iterable
from typing import Final

from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.scan.labels import split_label

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+|\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}\b")
_NUMBER: Final = re.compile(r"\d+")


def without_chance(text: str, nodes: Iterable[str] = ()) -> str:
    """The text without what differs between two equal failures: labels, hosts, addresses, pids, times."""
    text = split_label(text)[1]
    for node in sorted(nodes, key=len, reverse=True):
        text = text.replace(node, "@")
    return _NUMBER.sub("#", _ADDRESS.sub("#", text)).strip()


def leave_out(case: Case, good: Case) -> None:
    """Leave out what a good run says too: it is no reason to fail."""
    harmless = {(one.signature, without_chance(one.text, good.nodes)) for one in good.findings if one.is_line}
    case.findings = [
        one
        for one in case.findings
        if not one.is_line or (one.signature, without_chance(one.text, case.nodes)) not in harmless
    ]
