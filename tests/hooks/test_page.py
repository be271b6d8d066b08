"""docs/hooks.md tells what the code does."""

import re

import msgspec

from supervisor.hooks import judge_gpus, kernel_signs
from supervisor.model.node import Leftovers, NodeFinding, NodeRecord, SeenXid
from tests.docs.pages import CHECKOUT, rows, section

_PAGE = "docs/hooks.md"
_RULE = re.compile(r"\brule=\"(\w+)\"|yield (?:\"\w+\"|level), \"(\w+)\"")


def _rules_of_code() -> set[str]:
    """By the literals of the modules that judge."""
    found = {rule for _, rule, _, _ in kernel_signs._RULES} | set(judge_gpus._BY_COUNTER)
    for name in ("judge_gpus", "leftovers", "verdict", "kernel_signs"):
        text = (CHECKOUT / "supervisor" / "hooks" / f"{name}.py").read_text("utf-8")
        found |= {one or other for one, other in _RULE.findall(text)}
    return found


def test_every_rule_has_its_level_on_the_page() -> None:
    """Who sees one in a record finds it there."""
    told = set(re.findall(r"`(\w+)`", section(_PAGE, "Rules")))
    assert "gpu_lost" in _rules_of_code()
    assert _rules_of_code() <= told


def test_every_xid_stands_with_its_level() -> None:
    """Ranges written out."""
    table = {level: text for level, text in rows(section(_PAGE, "Rules")) if "Xid" in text}
    for xid, (level, _) in kernel_signs._BY_XID.items():
        assert xid in _numbers(table[level]), (xid, level)


def _numbers(text: str) -> set[int]:
    found = set()
    for first, last in re.findall(r"(\d+)(?:\u2013(\d+))?", text.partition("Xid")[2]):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def test_every_field_of_a_record_is_told() -> None:
    """And the parts of those that have parts."""
    told = section(_PAGE, "Record")
    for kind in (NodeRecord, NodeFinding, SeenXid, Leftovers):
        assert [field.name for field in msgspec.structs.fields(kind) if f"`{field.name}`" not in told] == []
