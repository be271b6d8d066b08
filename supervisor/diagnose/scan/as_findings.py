"""A line's hit, and a traceback, as findings of the log in which they stand."""

from typing import Final

from supervisor.diagnose.bundle import Log
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.scan.hit import Hit
from supervisor.diagnose.scan.stamps import Stamp
from supervisor.diagnose.scan.traces import Trace

_FIRST: Final = 0.72
_FOLLOW_UP: Final = 0.62
"""An exception raised while another one was handled: that one came first."""


def of_hit(log: Log, index: int, number: int, hit: Hit, *, stamp: Stamp | None, trace: Trace | None) -> Finding:
    """The hit on this line; with the frame of the traceback that ends there."""
    return Finding(
        signature=hit.signature,
        role="context" if trace and trace.is_ignored else hit.role,
        cause=hit.cause,
        weight=hit.weight,
        scope=hit.scope,
        marks=hit.marks,
        source=f"{log.name}:{number}",
        text=hit.text.strip(),
        order=(index, number),
        stamp=stamp,
        rank=hit.rank if hit.rank is not None else log.rank,
        local_rank=hit.local_rank,
        node=hit.node or log.node,
        gpu=hit.gpu,
        pid=hit.pid,
        pci=hit.pci,
        code=hit.code,
        signal=hit.signal,
        frame=trace.top if trace else None,
        exception=trace.exception if trace else "",
        file=hit.file,
        peer=hit.peer,
        errno=hit.errno,
        ms=hit.ms,
        step=hit.step,
        number=hit.number,
        names=hit.names,
    )


def of_trace(log: Log, index: int, trace: Trace, stamp: Stamp | None) -> Finding:
    """An exception that no signature knows better."""
    return Finding(
        signature="python_traceback",
        role="context" if trace.is_ignored else "echo" if trace.is_echo else "root",
        cause="" if trace.is_echo else "python_exception",
        weight=0.0 if trace.is_echo else _FOLLOW_UP if trace.is_follow_up else _FIRST,
        source=f"{log.name}:{trace.number}",
        text=trace.text.strip(),
        order=(index, trace.number),
        stamp=stamp,
        rank=trace.rank,
        node=log.node,
        frame=trace.top,
        exception=trace.exception,
    )
