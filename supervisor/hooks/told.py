"""What two other health checks of a site say of this node: LBNL's NHC and Meta's gcm. Read as evidence, never run."""

import json
import os
import re
from typing import Any, Final

from supervisor.hooks import trust
from supervisor.hooks.job import clean
from supervisor.hooks.settings import HookSettings
from supervisor.model.node import Told

_TAIL_BYTES: Final = 65536
_MOST: Final = 5
_TEXT: Final = 200
_NHC_FAILED: Final = re.compile(r"^(?:\[\d+\] - )?ERROR: {1,2}\S+: {1,2}Health check failed: {1,2}(.*)$")
_NHC_RESULT: Final = re.compile(r"(\d{1,3})(?: (.*))?")
_GCM_WORDS: Final = {1: "warning", 2: "critical", 3: "unknown"}
"""Its exit codes; 0 is well."""
_GCM_FAILURE: Final = 2


def read_told(settings: HookSettings, *, node: str, now: float) -> tuple[Told, ...]:
    """What they said lately, the newest last."""
    found: list[Told] = []
    for path, told_of in ((settings.nhc_log, nhc_log), (settings.nhc_result, nhc_result), (settings.gcm_results, None)):
        tail, changed_at = _tail(path)
        if not tail or now - changed_at > settings.told_age_s:
            continue
        if told_of is None:
            found += gcm_results(tail, node=node, after=now - settings.told_age_s)
        else:
            found += told_of(tail, changed_at)
    return tuple(found)


def _tail(path: str) -> tuple[str, float]:
    """The end of a file and when it changed; nothing of one that is missing or that others could have written."""
    if not path or trust.complaint(path):
        return "", 0.0
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        piece = os.pread(descriptor, _TAIL_BYTES, max(0, facts.st_size - _TAIL_BYTES))
    finally:
        os.close(descriptor)
    return piece.decode(errors="replace"), facts.st_mtime


def nhc_log(text: str, at: float) -> list[Told]:
    """The last failure of its log, which keeps no times: it is as old as the file's last change."""
    failed = [match[1] for line in text.splitlines() if (match := _NHC_FAILED.match(line))]
    return [Told(by="nhc", text=clean(each, _TEXT), at=at) for each in failed[-1:]]


def nhc_result(text: str, at: float) -> list[Told]:
    """The result file of its detached mode: exit code and message."""
    first = text.split("\n", 1)[0].strip()
    match = _NHC_RESULT.fullmatch(first)
    if match is None or match[1] == "0":
        return []
    return [Told(by="nhc", text=clean(match[2] or f"exit code {match[1]}", _TEXT), at=at)]


def gcm_results(text: str, *, node: str, after: float) -> list[Told]:
    """Lines of its file sink: one object each, with the fields flat or sorted by type (`int`, `double`, `normal`)."""
    latest: dict[str, Told] = {}
    for line in text.splitlines():
        fields = _gcm_fields(line)
        check, result, at = fields.get("health_check"), fields.get("result"), fields.get("end_time")
        if not isinstance(check, str) or not isinstance(result, int) or not isinstance(at, int | float):
            continue
        if str(fields.get("node", node)).partition(".")[0] != node.partition(".")[0] or at < after:
            continue
        # The last word of each check counts: a later "well" takes back what it said before.
        latest.pop(check, None)
        if result in _GCM_WORDS:
            said = clean(f"{check} {_GCM_WORDS[result]}: {fields.get('_msg') or ''}", _TEXT)
            latest[check] = Told(by="gcm", text=said, at=float(at), is_failure=result == _GCM_FAILURE)
    return list(latest.values())[-_MOST:]


def _gcm_fields(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(told, dict):
        return {}
    groups = [told[name] for name in ("int", "double", "normal") if isinstance(told.get(name), dict)]
    return {name: value for group in groups for name, value in group.items()} or told
