"""Findings of everything beside the logs."""

from collections.abc import Iterator

from supervisor.diagnose.bundle import Bundle
from supervisor.diagnose.evidence import beats, hang, nvml, rdma, states
from supervisor.diagnose.findings import Finding


def find(bundle: Bundle) -> Iterator[Finding]:
    """All of them."""
    yield from states.find(bundle.facts)
    yield from nvml.find(bundle.nvml)
    yield from rdma.find(bundle.rdma)
    yield from hang.find(bundle.flight, frozenset(bundle.places))
    yield from beats.find(bundle.beats)
