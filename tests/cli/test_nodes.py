"""`supervise nodes`, `node` and `ticket`: as an admin types them."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from supervisor.cli import node_records
from supervisor.cli.main import cli
from supervisor.errors import UsageError
from supervisor.ledger.site.history import SiteHistory, UnseenFailure
from supervisor.model.base import encode
from supervisor.model.ids import JobId, NodeName
from supervisor.model.node import NodeFinding, NodeRecord
from supervisor.model.site import SiteIncident, SiteJob, SiteUse
from supervisor.report.nodes.marks import Returned
from tests.ledger.site.made import ALICE, BOB, as_root, as_user, incident, job, lay, open_to_all, use

_Type = Callable[..., Result]
_NOW = time.time()
_HOUR = 3600.0
_NODES = tuple(NodeName(f"gpu{index:03d}") for index in range(64))
_MONTH = time.strftime("%Y-%m", time.gmtime(_NOW - 80 * _HOUR))


@pytest.fixture
def type_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Type:
    """Runs `supervise WORDS` with no settings, and no records, but those of the test."""
    monkeypatch.setattr("supervisor.settings_resolve.SITE_FILE", tmp_path / "none.toml")
    monkeypatch.setattr(node_records, "SPOOL", tmp_path / "spool")
    for name in [name for name in os.environ if name.startswith("SUPERVISE")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, list(words))

    return run


def _said(result: Result) -> str:
    assert result.exception is None, result.exception
    return result.stdout


def _lines(number: int, user: str, node: str, cluster: str = "c1") -> tuple[SiteJob | SiteIncident | SiteUse, ...]:
    """One job on all nodes, interrupted by one."""
    at, run = _NOW - 80 * _HOUR + number * 2 * _HOUR, f"{number:012d}"
    gone = incident(of=number, run=run, at=at + 600, evidence_at=at + 599, nodes=(NodeName(node),))
    return (
        job(number, at=at, run=run, user=user, nodes=_NODES, cluster=cluster),
        gone,
        use(64 * _HOUR, of=number, run=run, at=at + _HOUR),
    )


def _ledger(tmp_path: Path, owners: tuple[int, ...] = (ALICE, BOB, ALICE + 7), **names: str) -> Path:
    """Three jobs of three users whom gpu017 interrupts."""
    root = tmp_path / "ledger"
    for number, owner in enumerate(owners, start=1):
        user = names.get("user", str(owner))
        lay(root, f"c1/{_MONTH}/{number}-{number:012d}.jsonl", *_lines(number, user, "gpu017"), owner=owner)
    open_to_all(root)
    return root


def _record(node: str = "gpu044", at: float = _NOW - _HOUR) -> NodeRecord:
    finding = NodeFinding(level="fatal", rule="remap_failure", gpu="GPU-5f9c1e", text="GPU 3: remapping a row failed")
    return NodeRecord(
        schema=1, at=at, hook="epilog", node=node, level="fatal", rule="remap_failure", findings=(finding,)
    )


def _lay_record(path: Path, *records: NodeRecord) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(encode(record) + b"\n" for record in records))
    path.chmod(0o600)
    return path


@as_root
def test_the_first_line_names_the_suspects(type_in: _Type, tmp_path: Path) -> None:
    """Of numbers and of hooks, corrected for all looks, with the commands."""
    records = _lay_record(tmp_path / "node.jsonl", _record())
    said = _said(type_in("nodes", "--ledger", str(_ledger(tmp_path)), "--records", str(records)))
    assert said.startswith("2 of 64 nodes are suspect (corrected for 64 looks): gpu044, gpu017.\n")
    assert "scontrol update NodeName=gpu044 State=DRAIN" in said
    assert "62 nodes more, all ok" in said


@as_root
def test_one_user_makes_no_suspect_and_a_forger_counts_in_nothing(type_in: _Type, tmp_path: Path) -> None:
    """Whatever he writes into his files."""
    root = str(_ledger(tmp_path, owners=(ALICE,) * 5))
    assert _said(type_in("nodes", "--ledger", root)).startswith("None of 64 nodes is suspect")


@as_root
def test_jobs_in_the_name_of_another_user_are_told_of(type_in: _Type, tmp_path: Path) -> None:
    """On stderr, and they are in no number."""
    told = type_in("nodes", "--ledger", str(_ledger(tmp_path, user="root")))
    assert _said(told).startswith("Nothing is known of any node")
    assert "3 jobs in the name of another user: counted in nothing" in told.stderr


@as_root
def test_json_of_all(type_in: _Type, tmp_path: Path) -> None:
    """For scripts, without users."""
    root = str(_ledger(tmp_path))
    answer = json.loads(_said(type_in("nodes", "--ledger", root, "--json", "--all")))
    assert answer["conclusion"].startswith("1 of 64 nodes is suspect")
    assert (answer["looks"], answer["jobs"], answer["incidents"], len(answer["nodes"])) == (64, 3, 3, 64)
    assert answer["nodes"][0]["level"] == "suspect"
    assert str(ALICE) not in json.dumps(answer)
    assert len(json.loads(_said(type_in("--json", "nodes", "--ledger", root)))["nodes"]) == 1


@as_root
def test_one_node(type_in: _Type, tmp_path: Path) -> None:
    """As a person and as a script."""
    root = str(_ledger(tmp_path))
    said = _said(type_in("node", "gpu017", "--ledger", root))
    assert said.startswith("SUSPECT, drain suggested (not done")
    assert "3 blaming it (3 users)" in said
    answer = json.loads(_said(type_in("node", "gpu017", "--ledger", root, "--json")))
    assert answer["node"]["jobs"]["users"] == 3
    assert answer["suggestions"][0]["command"].startswith("scontrol update NodeName=gpu017 ")
    assert _said(type_in("node", "gpu001", "--ledger", root)).startswith("OK: nothing speaks against it.")


def test_a_node_of_which_nothing_is_known(type_in: _Type, tmp_path: Path) -> None:
    """Exit code 4, and nothing on stdout that could be taken for an answer."""
    (tmp_path / "ledger").mkdir()
    for words in (("node", "gpu099"), ("ticket", "gpu099")):
        told = type_in(*words, "--ledger", str(tmp_path / "ledger"))
        assert (told.exit_code, told.stdout) == (4, "")
        assert "nothing is known of gpu099" in told.stderr


@pytest.mark.parametrize("name", ["$(reboot)", "a b", "\x1b[2J", "-", "x" * 64])
def test_what_is_no_name_of_a_node(type_in: _Type, tmp_path: Path, name: str) -> None:
    """Is refused before anything is read, and printed clean."""
    told = type_in("node", "--ledger", str(tmp_path), "--", name)
    assert isinstance(told.exception, UsageError)
    assert str(told.exception).isprintable()


@as_root
def test_a_ticket_without_secrets_unless_asked_for(type_in: _Type, tmp_path: Path) -> None:
    """Nothing that looks like one leaves the site by default."""
    secret = NodeFinding(level="fatal", rule="mce", text="password=hunter2hunter2")
    told = NodeRecord(schema=1, at=_NOW - _HOUR, hook="health", node="gpu017", level="fatal", findings=(secret,))
    records = _lay_record(tmp_path / "node.jsonl", told)
    words = ("ticket", "gpu017", "--ledger", str(_ledger(tmp_path)), "--records", str(records))
    assert "hunter2" not in _said(type_in(*words))
    assert "hunter2" in _said(type_in(*words, "--no-redact"))
    assert "supervise ticket gpu017 --from ledger --since 20" in _said(type_in(*words))


@as_root
def test_records_are_read_on_the_node_and_in_the_ledger(type_in: _Type, tmp_path: Path) -> None:
    """The older part of a file, too; torn lines and newer versions are told of."""
    root = _ledger(tmp_path)
    _lay_record(tmp_path / "spool" / "node.jsonl", _record("gpu001"))
    _lay_record(tmp_path / "spool" / "node.jsonl.1", _record("gpu002", at=_NOW - 2 * _HOUR))
    kept = _lay_record(root / ".nodes" / "gpu003.jsonl", _record("gpu003"))
    kept.write_bytes(kept.read_bytes() + b'{"schema":9,"at":1,"hook":"epilog","node":"x","level":"ok"}\n{"torn')
    told = type_in("nodes", "--ledger", str(root))
    assert "4 of 64 nodes are suspect" in _said(told)
    assert "2 lines left out" in told.stderr
    _lay_record(tmp_path / "more" / "gpu004.jsonl", _record("gpu004"))
    assert "2 of 64 nodes are suspect" in _said(
        type_in("nodes", "--ledger", str(root), "--records", f"{tmp_path}/more")
    )


@as_root
@pytest.mark.parametrize("hostile", ["owner", "mode", "link", "folder"])
def test_records_that_others_could_have_written_are_not_believed(type_in: _Type, tmp_path: Path, hostile: str) -> None:
    """In a ledger where everybody may make files, this decides about nodes."""
    root = _ledger(tmp_path)
    path = _lay_record(root / ".nodes" / "x.jsonl", _record())
    if hostile == "owner":
        os.chown(path, ALICE, -1)
    elif hostile == "mode":
        path.chmod(0o666)
    elif hostile == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.chown(path.parent, ALICE, -1)
    told = type_in("nodes", "--ledger", str(root))
    assert _said(told).startswith("1 of 64 nodes is suspect (corrected for 64 looks): gpu017.")
    assert ".nodes" in told.stderr


@as_root
def test_who_is_not_root_reads_what_is_his_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder on the node is root's alone, and nobody has asked for it; what was named must be readable."""
    spool, closed = tmp_path / "spool", tmp_path / "ledger" / ".nodes"
    monkeypatch.setattr(node_records, "SPOOL", spool)
    _lay_record(spool / "node.jsonl", _record())
    _lay_record(closed / "a.jsonl", _record())
    open_to_all(tmp_path)
    spool.chmod(0o700)
    closed.chmod(0o700)
    with as_user(ALICE):
        files = node_records.NodeFiles(tmp_path / "ledger")
        assert files.records(None) == []
        assert files.problems == [f"{closed}: Permission denied"]
        with pytest.raises(UsageError, match="Permission denied"):
            files.records(spool / "node.jsonl")


@as_root
def test_a_node_that_was_repaired_begins_anew(type_in: _Type, tmp_path: Path) -> None:
    """The mark voids what was before; a dry run writes none."""
    root = _ledger(tmp_path)
    records = _lay_record(tmp_path / "node.jsonl", _record("gpu017"))
    words = ("--ledger", str(root), "--records", str(records))
    assert "would be marked" in _said(type_in("--dry-run", "node", "gpu017", "--returned", "--ledger", str(root)))
    assert "SUSPECT" in _said(type_in("node", "gpu017", *words))
    assert "marked as returned" in _said(type_in("node", "gpu017", "--returned", "--ledger", str(root)))
    assert _said(type_in("nodes", *words)).startswith("None of 63 nodes is suspect")
    assert type_in("nodes", "--ledger", str(root)).stderr == ""


@as_root
def test_only_the_owner_of_the_ledger_marks_a_repair(
    type_in: _Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mark of somebody else would not be believed, and one that lies there is not."""
    root = _ledger(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: ALICE)
    assert isinstance(type_in("node", "gpu017", "--returned", "--ledger", str(root)).exception, UsageError)
    monkeypatch.undo()
    lay(root, ".nodes/returned.jsonl", encode(Returned(node=NodeName("gpu017"), at=_NOW)), owner=ALICE)
    assert _said(type_in("nodes", "--ledger", str(root), "--records", str(tmp_path))).startswith("1 of 64 nodes is")


@as_root
def test_two_clusters_are_not_mixed(type_in: _Type, tmp_path: Path) -> None:
    """They may call different nodes the same."""
    root = _ledger(tmp_path)
    lay(root, f"c2/{_MONTH}/9-{9:012d}.jsonl", *_lines(9, str(ALICE), "gpu017", "c2"), owner=ALICE)
    told = type_in("nodes", "--ledger", str(root))
    assert isinstance(told.exception, UsageError)
    assert "--cluster c1 or c2" in str(told.exception)
    assert "1 of 64 nodes is suspect" in _said(type_in("nodes", "--ledger", str(root), "--cluster", "c1"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--from", "ledger"), "no ledger is set"),
        (("--since", "2199-01-01"), "--since must be in the past"),
        (("--from", "runs", "--records", "/nowhere"), "--records /nowhere: No such file"),
    ],
)
def test_what_cannot_be_done_as_written(type_in: _Type, words: tuple[str, ...], says: str) -> None:
    """With what to type instead."""
    assert says in str(type_in("nodes", *words).exception)


def test_failures_that_accounting_alone_knows(type_in: _Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of Slurm for the window alone; shown, and no ground to drain."""
    asked: list[float] = []

    def accounts(since: float, until: float, clusters: object) -> SiteHistory:
        asked.append(until - since)
        node = NodeName("gpu017")
        failures = (
            UnseenFailure(at=_NOW - at, job=JobId(f"{at}"), state="NODE_FAIL", failed=(node,)) for at in (9, 99)
        )
        return SiteHistory(unseen=tuple(failures), problems=("a \x1b[2J problem",) * 9)

    monkeypatch.setattr("supervisor.cli.node_source.history_from_sacct", accounts)
    told = type_in("node", "gpu017", "--from", "sacct")
    assert _said(told).startswith("WATCH: worth knowing, no ground to drain it.")
    assert "2 failures of it in Slurm's accounting" in _said(told)
    assert asked == [pytest.approx(14 * 24 * _HOUR + 300)]
    assert told.stderr.count("problem") == 6
    assert "\x1b" not in told.stderr


def test_own_runs_where_there_is_no_ledger(type_in: _Type, work: Path) -> None:
    """A user without a site's ledger asks about his own runs."""
    assert _said(type_in("nodes")).startswith("Nothing is known of any node")
