"""The same asked of several sites in turns: loads of each address, and their parts of two others' rates a round."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil

COLUMNS = ["Least–most", "× bare view", "Web, ms", "MongoDB, ms", "Bytes"]


@dataclass
class Series:
    """What was measured of one call, answered in one way: a load and its part of two others' rates a round."""

    call: str
    way: str
    server: Any
    path: str
    bytes: int = 0
    loads: list[Any] = field(default_factory=list)
    of_base: list[float] = field(default_factory=list)
    of_bare: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bytes = len(answer(self.server, self.path))

    def row(self) -> list[object]:
        """Return the line of the table: call, way, rate, ratio, COLUMNS."""
        rate, web, mongod = (
            statistics.median(getattr(load, name) for load in self.loads) for name in ("rate", "web", "mongod")
        )
        return [
            self.call,
            self.way,
            f"{rate:,.0f}",
            *ratio(self.of_base),
            f"{statistics.median(self.of_bare):.3f}",
            f"{web:.2f}",
            f"{mongod:.2f}",
            f"{self.bytes:,}",
        ]


def ratio(rounds: Sequence[float]) -> tuple[str, str]:
    """Return the median of a ratio's rounds and how far they lie apart, as tables say them."""
    return f"{statistics.median(rounds):.2f}", f"{min(rounds):.2f}–{max(rounds):.2f}"


def measure(every: Sequence[Series], base: str, bare: Any, rounds: int, seconds: int) -> None:
    """Load each in its turn, so often and for so long; `base` is the way that others of the same call are compared with."""
    for _ in range(rounds):
        for call in dict.fromkeys(one.call for one in every):
            usual = bare.loaded("/", seconds).rate
            turn = {one.way: one for one in every if one.call == call}
            for one in turn.values():
                one.loads.append(one.server.loaded(one.path, seconds))
                one.of_bare.append(one.loads[-1].rate / usual)
                # Should the machine become too busy to go on, this is what was found.
                print(f"{call}, {one.way}: {one.loads[-1].rate:,.1f}, {one.of_bare[-1]:.3f} of bare", flush=True)
            for one in turn.values():
                one.of_base.append(one.loads[-1].rate / turn[base].loads[-1].rate)


def answer(server: Any, path: str) -> bytes:
    """Return what is answered at an address. Raises RuntimeError unless it is found."""
    status, _headers, body = server.get(path)
    if status != 200:
        raise RuntimeError(f"{path}: status {status}: {body[:500]!r}")
    return bytes(body)


class Steal:
    """Which part of the processors' time the machine's host takes, from now on."""

    def __init__(self) -> None:
        self._before = psutil.cpu_times()

    def __str__(self) -> str:
        after = psutil.cpu_times()
        before = self._before
        return f"{(getattr(after, 'steal', 0) - getattr(before, 'steal', 0)) / (sum(after) - sum(before)):.0%}"
