"""A verdict for a person: the conclusion first, then the proof."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from supervisor.diagnose.taxonomy import cause
from supervisor.model.verdict import Class, Evidence, Retry, Verdict

_ROWS: Final = 3
_KINDS: Final = 4
_WIDTH: Final = 140
_RERUN: Final = {
    Retry.YES: "A rerun can succeed without a change.",
    Retry.ONCE: "One rerun is worth a try; the same again needs a person.",
    Retry.NO: "A rerun without a change will fail the same way.",
    Retry.SKIP: "A rerun can succeed if it leaves these data out.",
    Retry.NEVER: "Nothing is to be rerun.",
}


def screen(verdict: Verdict, path: Path, *, wrong: str = "") -> str:
    """The lines to print: at most a dozen. `wrong`: what to type where the verdict is not true."""
    end = [f"Wrong? {wrong}   (stays on this site)"] if wrong else []
    return "\n".join([_conclusion(verdict), *_rows(verdict), _row("of", str(path)), *end])


def _conclusion(verdict: Verdict) -> str:
    if verdict.cls is Class.UNKNOWN:
        return "unknown: not enough evidence for a verdict."
    rerun = "Nothing to do." if verdict.cause == "completed" else _RERUN[verdict.retry]
    how = cause(verdict.cause).row.how
    rerun = f"{rerun[:-1]} ({how})." if how else rerun
    return f"{verdict.cls}/{verdict.cause}{_where(verdict)} ({verdict.confidence:.2f}). {rerun}"


def _where(verdict: Verdict) -> str:
    """` on rank 37, node not to blame`, ` on node003`, empty where nobody is named."""
    if verdict.exclude_nodes:
        return f" on {', '.join(verdict.exclude_nodes[:4])}, which should leave the job"
    ranks = verdict.blame.ranks
    rank = f" on rank {ranks[0]}" if ranks else ""
    more = f" and {len(ranks) - 1} more" if len(ranks) > 1 else ""
    return f"{rank}{more}, node not to blame" if rank else ""


def _rows(verdict: Verdict) -> Iterator[str]:
    yield _row("what", verdict.summary)
    roots = [one for one in verdict.evidence if one.role == "root"]
    echoes = [one for one in verdict.evidence if one.role == "echo"]
    for index, one in enumerate(roots[:_ROWS]):
        yield _row("proof" if index == 0 else "", _line(one))
    for index, one in enumerate([one for one in verdict.evidence if one.role == "context"][:_ROWS]):
        yield _row("context" if index == 0 else "", _line(one))
    if echoes:
        kinds = ", ".join(one.signature for one in echoes[:_KINDS])
        count = f"{verdict.echoes:,} lines follow" if verdict.echoes > 1 else "1 line follows"
        yield _row("noise", f"{count} from it: {kinds}")
    if verdict.changed is not None:
        yield _row("changed", verdict.changed.text)
    if verdict.cls is Class.UNKNOWN:
        yield _row(
            "next",
            "look at the end of the log; a folder of *.log, ranks/<rank>.log, kernel/<node>.log says more",
        )
    elif advice := cause(verdict.cause).row.next:
        yield _row("next", advice)


def _line(one: Evidence) -> str:
    return f"{one.source}  {one.text}"


def _row(title: str, text: str) -> str:
    text = " ".join(text.split())
    return f"  {title:<9}  {text if len(text) <= _WIDTH else text[: _WIDTH - 1] + '…'}"
