"""The findings for a person: the conclusion first, then a row for each thing that is not well. Pure."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from supervisor.doctor.finding import Finding, Level, of_level

WIDTH: Final = 100
_LABELS: Final = {
    Level.OK: "ok",
    Level.LIMIT: "LIMIT",
    Level.WARN: "warn",
    Level.FAIL: "FAIL",
    Level.UNKNOWN: "?",
}
_INDENT: Final = " " * 7


def conclusion(findings: Sequence[Finding]) -> str:
    """`USABLE.`, `USABLE with 2 limits.`, `NOT USABLE: …`: something to act on."""
    fails = of_level(findings, Level.FAIL)
    if fails:
        more = f" ({len(fails) - 1} more)" if len(fails) > 1 else ""
        return f"NOT USABLE: {fails[0].text}{more}. To mend it: {fails[0].remedy}."
    limits = len(of_level(findings, Level.LIMIT))
    return "USABLE." if not limits else f"USABLE with {limits} limit{'s' if limits > 1 else ''}."


def blockers(findings: Sequence[Finding]) -> list[str]:
    """What stands in the way, each with its remedy."""
    return [f"{finding.text}: {finding.remedy}" for finding in of_level(findings, Level.FAIL)]


def rows(findings: Sequence[Finding]) -> list[str]:
    """Topic by topic; within one, what is well shares a row and stands first."""
    topics = dict.fromkeys(finding.topic for finding in findings)
    return [line for topic in topics for line in _topic([each for each in findings if each.topic == topic])]


def _topic(findings: Sequence[Finding]) -> Iterator[str]:
    well = [finding.text for finding in findings if finding.level is Level.OK]
    if well:
        # Where a text is a list itself, nobody could see where the next one begins.
        between = "; " if any("," in text for text in well) else ", "
        yield from _wrapped(Level.OK, between.join(well))
    for finding in findings:
        if finding.level is not Level.OK:
            yield from _wrapped(finding.level, _with_cost(finding))
            yield from textwrap.wrap(f"-> {finding.remedy}", WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _with_cost(finding: Finding) -> str:
    if not finding.cost:
        return finding.text
    return f"{finding.text}{'' if finding.text.endswith('?') else ':'} {finding.cost}"


def _wrapped(level: Level, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f" {_LABELS[level]:<6}",
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
