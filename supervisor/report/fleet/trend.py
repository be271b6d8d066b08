"""Node time by windows of a trend. Pure."""

from dataclasses import dataclass, field

from supervisor.model.site import SiteUse
from supervisor.report.fleet.sums import Use
from supervisor.report.fleet.window import MOST_WINDOWS, Asked, overlap


@dataclass(slots=True)
class Trend:
    """By index, counted back from the newest window, 0."""

    asked: Asked
    windows: dict[int, Use] = field(default_factory=dict)

    def add(self, begin: float, use: SiteUse) -> None:
        """A job that began then. Its use is spread evenly over its time: its record keeps no course of it."""
        asked = self.asked
        if begin >= asked.until:
            return
        computing_s = min(use.held_node_s, use.computing_node_s)
        end = use.at
        newest, oldest = max(0, asked.index(max(begin, end))), asked.index(begin)
        if newest == oldest and end <= asked.until:  # nearly every job: it lies in one window
            self._add_share(newest, use.held_node_s, computing_s, 1.0)
            return
        for index in range(newest, min(oldest + 1, MOST_WINDOWS)):
            until = asked.until if index == 0 else asked.begins_at(index - 1)
            share = overlap(begin, end, asked.begins_at(index), until)
            self._add_share(index, use.held_node_s, computing_s, share)

    def merge(self, other: "Trend") -> None:
        """Both together."""
        for index, use in other.windows.items():
            self.windows.setdefault(index, Use()).add(use)

    def _add_share(self, index: int, held_s: float, computing_s: float, share: float) -> None:
        if index >= MOST_WINDOWS:
            return
        window = self.windows.get(index)
        if window is None:
            window = self.windows[index] = Use()
        window.held_s += held_s * share
        window.computing_s += computing_s * share
