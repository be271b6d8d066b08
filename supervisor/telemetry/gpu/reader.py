"""What every reader of accelerators answers, whoever made them."""

from typing import Protocol

from supervisor.model.base import Fact


class GpuFacts(Fact, frozen=True, kw_only=True):
    """What stands still about this node's devices while a job runs."""

    driver_version: str
    device_count: int
    """Devices that this process may open: inside a device cgroup, the job's own."""


class GpuReader(Protocol):
    """One maker's devices. Calls may block for as long as a broken driver likes: make them aside."""

    def facts(self) -> GpuFacts | None:
        """The facts; None where there is no driver or it gives no answer."""
