"""A verdict for a person: the conclusion first, then the proof. Pure."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class, Evidence, Retry, Verdict
from supervisor.report.evidence import each_line_once
from supervisor.report.words import one_line

_ROWS: Final = 3
_KINDS: Final = 4
_WIDTH: Final = 140
_NODES: Final = 4
_EXCLUDED: Final = 16
_PATH: Final = 4096
_GUESS_BELOW: Final = 0.5
"""Below this the engine blames no node either."""
_ASK_SLURM: Final = "`sacct -j JOBID -o JobID,State,ExitCode,MaxRSS,NodeList` says how Slurm saw it end"
_RERUN: Final = {
    Retry.YES: "A rerun can succeed without a change.",
    Retry.ONCE: "One rerun is worth a try; the same again needs a person.",
    Retry.NO: "A rerun without a change will fail the same way.",
    Retry.SKIP: "A rerun can succeed if it leaves these data out.",
    Retry.NEVER: "Not a fault: nothing to rerun.",
}
_OTHER_NODES: Final = "A rerun on other nodes can succeed."
_NODE: Final = "find the node: `sacct -j JOBID -o JobID,State,NodeList`; `sbatch --exclude` leaves it out"
_AGAIN: Final = {
    Retry.YES: "submit it again; if it fails the same way, read the log around the line in the proof",
    Retry.ONCE: "submit it again once; if it fails the same way, read the log around the line in the proof",
}
"""What to do where the table of causes says no more."""
_HOW: Final = {
    "back off": "A rerun after a while can succeed.",
    "roll back": "A rerun from an older checkpoint can succeed.",
}
"""What a rerun must do beside running again, as the table of causes calls it."""


def screen(verdict: Verdict, path: Path, *, is_empty: bool = False, wrong: str = "") -> str:
    """The lines to print: at most a dozen. `is_empty`: there was nothing to read. `wrong`: what to type if it is."""
    lines = each_line_once(verdict.evidence)
    shown = {role: [one for one in lines if one.role == role] for role in ("root", "context", "echo")}
    rows = [
        *_what(verdict, [*shown["root"][:_ROWS], *shown["context"][:_ROWS]]),
        *_proof("proof", shown["root"]),
        *_proof("context", shown["context"]),
        *_noise(verdict, shown["echo"]),
        *([_row("changed", verdict.changed.text)] if verdict.changed is not None else []),
        *_next(verdict, is_empty=is_empty),
    ]
    end = [f"Wrong? {wrong}   (stays on this site)"] if wrong else []
    return "\n".join([_conclusion(verdict), _row("from", str(path), width=_PATH), *rows, *end])


def _conclusion(verdict: Verdict) -> str:
    if verdict.cls is Class.UNKNOWN:
        return f"unknown: not enough evidence for a verdict. {_RERUN[verdict.retry]}"
    guess = ", a guess" if verdict.confidence < _GUESS_BELOW else ""
    sure = f"(confidence {verdict.confidence:.2f}{guess})"
    return f"{verdict.cls}/{verdict.cause}{_where(verdict)} {sure}. {_rerun(verdict)}"


def _rerun(verdict: Verdict) -> str:
    if verdict.cause == "completed":
        return "Nothing to do."
    if verdict.exclude_nodes:
        return f"A rerun without {'it' if len(verdict.exclude_nodes) == 1 else 'them'} can succeed."
    if verdict.cls is Class.PLANNED and verdict.retry is Retry.YES:
        return "Not a fault: submit it again to go on."
    if _is_of_a_node(verdict):
        return _OTHER_NODES
    return _HOW.get(cause(verdict.cause).row.how) or _RERUN[verdict.retry]


def _is_of_a_node(verdict: Verdict) -> bool:
    """Some device or link is broken, and the evidence does not tell on which node."""
    return verdict.cls in {Class.HARDWARE, Class.NETWORK} and cause(verdict.cause).row.exclude


def _where(verdict: Verdict) -> str:
    """` on rank 37, node not to blame`, ` on node003, which should leave the job`, empty where nobody is named."""
    if gone := verdict.exclude_nodes:
        return f" on {_nodes(gone)}, which should leave the job"
    ranks = verdict.blame.ranks
    rank = f" on rank {ranks[0]}" if ranks else ""
    more = f" and {len(ranks) - 1} more" if len(ranks) > 1 else ""
    return f"{rank}{more}, node not to blame" if rank else ""


def _nodes(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - _NODES} more" if len(nodes) > _NODES else ""
    return ", ".join(nodes[:_NODES]) + more


def _what(verdict: Verdict, shown: Sequence[Evidence]) -> Iterator[str]:
    """The summary; its line of the log is left out where a row below shows it."""
    words, _, line = verdict.summary.partition(": ")
    is_shown = bool(line) and any(line in one.text for one in shown)
    if verdict.cls is not Class.UNKNOWN or (line and not is_shown):
        yield _row("what", words if is_shown else verdict.summary)


def _proof(title: str, lines: Sequence[Evidence]) -> Iterator[str]:
    for index, one in enumerate(lines[:_ROWS]):
        yield _row("" if index else title, f"{one.source}  {one.text}")


def _noise(verdict: Verdict, echoes: Sequence[Evidence]) -> Iterator[str]:
    if echoes:
        kinds = ", ".join(one.signature for one in echoes[:_KINDS])
        number = max(verdict.echoes, len(echoes))
        lines = f"{number:,} lines" if number > 1 else "1 line"
        if verdict.cls is Class.UNKNOWN:
            tell = "tells" if number == 1 else "tell"
            yield _row("noise", f"{lines} that {tell} of an end, not of its cause: {kinds}")
        else:
            yield _row("noise", f"{lines} that follow{'s' * (number == 1)} from it: {kinds}")


def _next(verdict: Verdict, *, is_empty: bool) -> Iterator[str]:
    """What to do, to be copied: never cut."""
    if is_empty:
        yield _row("next", f"nothing is in it: is this the job's output? {_ASK_SLURM}", width=_PATH)
    elif verdict.cls is Class.UNKNOWN:
        yield _row("next", f"read the end of the log; {_ASK_SLURM}", width=_PATH)
    else:
        yield from (_row("" if index else "next", each, width=_PATH) for index, each in enumerate(_advice(verdict)))


def _advice(verdict: Verdict) -> list[str]:
    told = [one for one in (_exclude(verdict.exclude_nodes), cause(verdict.cause).row.next) if one]
    if not verdict.exclude_nodes and _is_of_a_node(verdict):
        told.append(_NODE)
    return told or [one for one in [_AGAIN.get(verdict.retry, "")] if one]


def _exclude(nodes: Sequence[str]) -> str:
    if not nodes:
        return ""
    if len(nodes) > _EXCLUDED:
        return (
            f"leave these {len(nodes)} nodes out (`sbatch --exclude`, --json names them), and tell the administrators"
        )
    return f"`sbatch --exclude={','.join(nodes)}`, and tell the administrators"


def _row(title: str, text: str, *, width: int = _WIDTH) -> str:
    return f"  {title:<9}  {one_line(text, width)}"
