"""The rooms of docs/architecture.md are what the code does."""

import ast
import re
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| (?P<rooms>`[^|]*) \| (?P<what>[^|]*) \| (?P<may>[^|]*) \|$", re.MULTILINE)


def _allowed() -> dict[str, set[str] | None]:
    """Room to rooms it may import; None where the table makes an exception in words."""
    table: dict[str, set[str] | None] = {}
    for row in _ROW.finditer((_CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")):
        may = set(re.findall(r"`(\w+)`", row["may"]))
        for room in re.findall(r"`(\w+)`", row["rooms"]):
            table[room] = None if row["may"].startswith("everything") else may
    return table


def _rooms_imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("supervisor.")}


def _modules() -> list[Path]:
    return sorted(
        path for path in (_CHECKOUT / "supervisor").rglob("*.py") if len(path.parts) > len(_CHECKOUT.parts) + 1
    )


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(_CHECKOUT)))
def test_a_room_imports_what_the_table_lets_it(path: Path) -> None:
    """A module imports its own room and those that its row of the table names."""
    room = path.relative_to(_CHECKOUT / "supervisor").parts[0].removesuffix(".py")
    if room == "__init__":
        return
    table = _allowed()
    assert room in table, f"docs/architecture.md has no row for {room}"
    may = table[room]
    if may is not None:
        assert _rooms_imported(path) <= may | {room}


def test_the_core_touches_nothing() -> None:
    """Decisions know no clock, no file, no process, no loop."""
    forbidden = {"time", "os", "asyncio", "subprocess", "pathlib", "socket", "threading", "random"}
    for path in (_CHECKOUT / "supervisor" / "core").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & forbidden, path


@pytest.mark.parametrize(
    ("inner", "forbidden"),
    [("scan", {"judge", "reading"}), ("evidence", {"judge", "reading"}), ("judge", {"reading"}), ("*.py", {"reading"})],
)
def test_inside_diagnose_nobody_looks_up(inner: str, forbidden: set[str]) -> None:
    """Findings know no judge, and what decides knows no files."""
    folder = _CHECKOUT / "supervisor" / "diagnose"
    for path in folder.glob(inner) if inner == "*.py" else (folder / inner).rglob("*.py"):
        modules = re.findall(r"^\s*(?:from|import) supervisor\.diagnose\.(\w+)", path.read_text("utf-8"), re.MULTILINE)
        assert not set(modules) & forbidden, path
