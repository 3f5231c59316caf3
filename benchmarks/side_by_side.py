"""Compare several sites alternately: loads of each URL, and their ratios to a base and to the bare view."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil

COLUMNS = ["Range", "× bare view", "Web, ms", "MongoDB, ms", "Bytes"]


@dataclass
class Series:
    """Results for one call served in one way: a load and its ratios to the base and to the bare view for each round."""

    call: str
    way: str
    server: Any
    path: str
    bytes: int = 0
    loads: list[Any] = field(default_factory=list)
    base_ratios: list[float] = field(default_factory=list)
    bare_ratios: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bytes = len(get_body(self.server, self.path))

    def row(self) -> list[object]:
        """Return the table's row, which contains the call, the way, the rate, the ratio and COLUMNS."""
        rate, web, mongod = (
            statistics.median(getattr(load, name) for load in self.loads) for name in ("rate", "web", "mongod")
        )
        return [
            self.call,
            self.way,
            f"{rate:,.0f}",
            *ratio(self.base_ratios),
            f"{statistics.median(self.bare_ratios):.3f}",
            f"{web:.2f}",
            f"{mongod:.2f}",
            f"{self.bytes:,}",
        ]


def ratio(rounds: Sequence[float]) -> tuple[str, str]:
    """Return the median and the range of a ratio over all rounds, for a table."""
    return f"{statistics.median(rounds):.2f}", f"{min(rounds):.2f}–{max(rounds):.2f}"


def measure(all_series: Sequence[Series], base: str, bare: Any, rounds: int, seconds: int) -> None:
    """Load all series alternately. `base` is the way that the other ways of a call are compared with."""
    for _ in range(rounds):
        for call in dict.fromkeys(series.call for series in all_series):
            bare_rate = bare.load("/", seconds).rate
            by_way = {series.way: series for series in all_series if series.call == call}
            for series in by_way.values():
                series.loads.append(series.server.load(series.path, seconds))
                rate = series.loads[-1].rate
                series.bare_ratios.append(rate / bare_rate)
                # Print results immediately, so that they aren't lost if the machine becomes too busy to continue.
                print(f"{call}, {series.way}: {rate:,.1f}, {series.bare_ratios[-1]:.3f} of the bare view", flush=True)
            for series in by_way.values():
                series.base_ratios.append(series.loads[-1].rate / by_way[base].loads[-1].rate)


def get_body(server: Any, path: str) -> bytes:
    """Return the body of a page.

    Raises:
        RuntimeError: The status isn't 200.
    """
    status, _headers, body = server.get(path)
    if status != 200:
        raise RuntimeError(f"{path}: status {status}: {body[:500]!r}")
    return bytes(body)


class Steal:
    """The share of CPU time that the host of this virtual machine takes, measured from the creation of the object."""

    def __init__(self) -> None:
        self._before = psutil.cpu_times()

    def __str__(self) -> str:
        after = psutil.cpu_times()
        before = self._before
        return f"{(getattr(after, 'steal', 0) - getattr(before, 'steal', 0)) / (sum(after) - sum(before)):.0%}"
