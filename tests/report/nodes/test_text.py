"""The screens."""

from supervisor.ledger.site.history import JobHistory, SiteHistory, UnseenFailure
from supervisor.model.ids import JobId, NodeName
from supervisor.model.node import SeenXid
from supervisor.model.verdict import Class
from supervisor.redact.text import redacted
from supervisor.report.nodes.make import nodes_report
from supervisor.report.nodes.model import NodesReport
from supervisor.report.nodes.telemetry import by_node
from supervisor.report.nodes.text import node_text, nodes_text
from supervisor.report.nodes.ticket import ticket_text
from tests.report.nodes.fleets import DAY_S, HOUR_S, LOOK, SINCE, UNTIL, incident, job, names, record

_AT = SINCE + 2 * DAY_S
_FLEET = names(64)
_RECORDS = (
    record(
        _AT + DAY_S,
        "fatal",
        "remap_failure",
        node="n000",
        gpu="GPU-5f9c1e",
        text="GPU 3: remapping failed",
        xids=(SeenXid(xid=64, pci="0000:3b:00", gpu="GPU-5f9c1e", count=2),),
        gpus={"GPU-5f9c1e": {"ecc_unc_dram": 2, "remapped_rows": 1}},
        drain="suggested",
    ),
    record(_AT, node="n000"),
)


def _jobs(owners: str) -> tuple[JobHistory, ...]:
    """Jobs of secret users that n000 interrupts and that end well without it, and one with a program fault."""
    found = [
        job(
            incident(_AT + at * 2 * HOUR_S, "n000", excluded=("n000",)),
            nodes=_FLEET,
            at=_AT - HOUR_S,
            hours=80,
            run=f"secret-run-{at}",
            job=f"9{at}",
            owner=f"secret-{who}",
            end="completed",
        )
        for at, who in enumerate(owners)
    ]
    fault = incident(_AT + 5 * DAY_S, "n000", cls=Class.SOFTWARE)
    return (*found, job(fault, nodes=_FLEET, at=_AT + 4 * DAY_S, hours=40, job="99", run="secret-run-9"))


def _report(owners: str = "abc", records: bool = True) -> NodesReport:  # noqa: FBT001, FBT002  # with them or not
    return nodes_report(SiteHistory(jobs=_jobs(owners)), _RECORDS if records else (), LOOK, redacted)


def test_the_first_line_decides() -> None:
    """How many of how many, corrected for what, and which."""
    assert _report().conclusion == "1 of 64 nodes is suspect (corrected for 64 looks): n000."
    quiet = nodes_report(SiteHistory(jobs=(job(nodes=_FLEET),)), (), LOOK, redacted)
    assert quiet.conclusion == "None of 64 nodes is suspect (corrected for 64 looks)."
    assert nodes_report(SiteHistory(), (), LOOK, redacted).conclusion.startswith("Nothing is known of any node")


def test_nodes_that_are_ok_are_counted_unless_all_are_asked_for() -> None:
    """A table of a thousand lines hides the two that matter."""
    assert "63 nodes more, all ok: --all shows them" in nodes_text(_report(), is_all=False)
    assert nodes_text(_report(), is_all=True).count("  ok ") == 63


def test_the_screen_of_a_suspect() -> None:
    """Verdict, numbers, what the hooks say, the command, the timeline."""
    report = _report()
    lines = node_text(report.nodes[0], report, now=UNTIL).splitlines()
    assert lines[0] == "SUSPECT, drain suggested (not done: a person decides)."
    assert lines[1].startswith(
        "  took part in 4 jobs in 14 d, 3 interrupted by a machine, 3 blaming it (3 users); 3 incidents in 45 node-h"
    )
    assert lines[2] == "  remap_failure on GPU-5f9c1e: GPU 3: remapping failed"
    assert "2 records of its hooks; remap_failure since" in lines[4]
    assert lines[5].startswith('  to drain:   scontrol update NodeName=n000 State=DRAIN Reason="[supervise] ')
    assert "Xid 64 at 0000:3b:00" in lines[-1]


def test_the_screen_of_a_node_that_is_well() -> None:
    """It says so, and offers no command."""
    report = _report()
    said = node_text(report.nodes[-1], report, now=UNTIL)
    assert said.startswith("OK: nothing speaks against it.")
    assert "scontrol" not in said


def test_a_small_fleet_is_not_told_in_zeros() -> None:
    """Nor a node on which only Slurm has seen something in words about jobs that there were none of."""
    unseen = UnseenFailure(at=UNTIL - 60, job=JobId("9"), state="NODE_FAIL", failed=(NodeName("n009"),))
    brief = job(incident(SINCE + DAY_S + 60, "n000"), hours=0.05, nodes=("n000",))
    report = nodes_report(SiteHistory(jobs=(brief,), unseen=(unseen,)), (), LOOK, redacted)
    said = nodes_text(report, is_all=True)
    assert "In 14 d: 1 incident blaming a node, in 0.05 node-h of 1 job, one per 0.05 node-h" in said
    alone = next(each for each in report.nodes if each.node == "n009")
    assert node_text(alone, report, now=UNTIL).splitlines()[1] == "  no job of supervise ran on it in 14 d"


def test_a_suspect_beyond_the_cap_is_told_why_no_command_stands_there() -> None:
    """Else one would type it from memory."""
    records = [record(_AT, "fatal", "gpu_lost", node=node) for node in names(3)]
    report = nodes_report(SiteHistory(), records, LOOK, redacted)
    assert "drain not suggested now: 1 node before it" in node_text(report.nodes[1], report, now=UNTIL)


def test_a_ticket_has_what_a_vendor_asks_for() -> None:
    """Devices, Xids, counters, timeline, what was ruled out, how often, with what it was made."""
    report = _report()
    records = by_node(_RECORDS, LOOK)["n000"]
    said = ticket_text(report.nodes[0], report, records, version="9.9", commands=["supervise ticket n000"])
    for part in (
        "GPU-5f9c1e  PCI 0000:3b:00",
        "Xid 64  PCI 0000:3b:00  GPU-5f9c1e, 2 times",
        "GPU-5f9c1e  ecc_unc_dram +2",
        "GPU-5f9c1e  remap_failure",
        "hardware/gpu_lost  -> relaunch_on_spare",
        "came to their end without it, on other nodes: 3",
        "interruptions by program or data in jobs on this node, none of them counted here: 1",
        "jobs that came to their end on it in the same time: 0 of 4",
        "looks of its hooks that found nothing: 1, the last one 20",
        "corrected for 64 nodes looked at (Holm)",
        "supervise 9.9",
        "supervise ticket n000",
        "serials: nvidia-smi",
    ):
        assert part in said, part


def test_no_screen_names_users_or_runs() -> None:
    """Neither those of the site nor the ticket that leaves it."""
    report = _report()
    ticket = ticket_text(report.nodes[0], report, by_node(_RECORDS, LOOK)["n000"], version="1", commands=())
    screens = (nodes_text(report, is_all=True), node_text(report.nodes[0], report, now=UNTIL), ticket)
    assert not any("secret" in screen for screen in screens)


def test_hostile_words_do_not_steer_the_terminal() -> None:
    """Nor break the lines."""
    evil = "\x1b]0;x\x07\x1b[2J\nOK: all well\u202e"
    jobs = (job(incident(_AT, "n000", cause=evil, action=evil), nodes=("n000", evil)),)
    records = [record(_AT, "fatal", evil, gpu=evil, text=evil, drain=evil, xids=(SeenXid(xid=79, pci=evil, gpu=evil),))]
    report = nodes_report(SiteHistory(jobs=jobs), records, LOOK, redacted)
    each = report.nodes[0]
    for said in (
        nodes_text(report, is_all=True),
        node_text(each, report, now=UNTIL),
        ticket_text(each, report, records, version="1", commands=[evil]),
    ):
        assert all(line.isprintable() for line in said.splitlines())
        assert not any(line.startswith("OK: all") for line in said.splitlines())
