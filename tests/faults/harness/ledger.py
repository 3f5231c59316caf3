"""What the traffic asked for and was told, and when something was broken on purpose."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """A request: its kind, when it began and ended (monotonic seconds), its status, 0 if no answer came."""

    kind: str
    path: str
    began: float
    ended: float
    status: int

    @property
    def failed(self) -> bool:
        """Whether the site did not answer, or with an error of its own."""
        return self.status == 0 or self.status >= 500


@dataclass
class Window:
    """The time in which a fault may be felt: from its cause until the site was seen to be well again."""

    fault: str
    began: float
    ended: float = float("inf")


@dataclass(frozen=True)
class Picture:
    """A picture that was sent: from its seed its pixels can be made again."""

    seed: int
    acknowledged: bool


@dataclass
class Ledger:
    """One run's book. Lists grow by append alone, which threads may do at once."""

    asked: list[Asked] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    # Sentences about what must never be: each fails the run.
    wrong: list[str] = field(default_factory=list)
    # How many of them the traffic noted itself.
    before_audit: int = 0
    # What was acknowledged, by kind of traffic.
    done: Counter[str] = field(default_factory=Counter)
    # Editors: (page, who) → the last number that was acknowledged, and the last that was sent.
    saved: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    typed: dict[tuple[str, str], int] = field(default_factory=dict)
    # When each numbered thing was acknowledged, by what says its number on a page.
    acknowledged: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    tags: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    # Comments: every text that was ever sent; of those acknowledged the discussion and the addresses that were told.
    written: set[str] = field(default_factory=set)
    posted: dict[str, tuple[str, set[str]]] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    approved: dict[str, str] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    # Photos: id → the pictures sent for it, in order. Seeds of uploads whose answer never came.
    photos: dict[str, list[Picture]] = field(default_factory=dict)
    unanswered: list[int] = field(default_factory=list)
    converted: dict[str, str] = field(default_factory=dict)
    # Discussions that began embedded and outgrow that soon: whether conversions meddle with each.
    short: dict[str, bool] = field(default_factory=dict)
    # Facts measured during the run, for the report: name → seconds.
    measured: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def did(self, kind: str, count: int = 1) -> None:
        """Count what was acknowledged."""
        with self._lock:
            self.done[kind] += count

    def acknowledge(self, what: str, number: int) -> None:
        """Note that a number was acknowledged just now."""
        self.acknowledged[what][number] = time.monotonic()

    @contextmanager
    def fault(self, name: str) -> Iterator[Window]:
        """Announce a fault: until the end of the block errors are its doing."""
        window = Window(name, time.monotonic())
        self.windows.append(window)
        yield window
        window.ended = time.monotonic()
        self.measured[name].append(window.ended - window.began)

    def broken(self, began: float, ended: float) -> bool:
        """Return whether something was broken at some time between the two."""
        return any(window.began <= ended and began <= window.ended for window in list(self.windows))

    def during(self, window: Window) -> list[Asked]:
        """Return the requests of which a part fell into a window."""
        return [one for one in list(self.asked) if window.began <= one.ended and one.began <= window.ended]

    def unexcused(self) -> list[Asked]:
        """Return the requests that failed while nothing was broken."""
        return [one for one in list(self.asked) if one.failed and not self.broken(one.began, one.ended)]

    def report(self) -> list[str]:
        """Return lines that say what was done: a fault, a kind of traffic each."""
        lines = []
        for name, seconds in sorted(self.measured.items()):
            lines.append(f"{name}: {len(seconds)} times, felt for at most {max(seconds):.1f} s")
        failed = Counter((one.kind, one.status or "no answer") for one in self.asked if one.failed)
        slowest = max((one.ended - one.began for one in self.asked), default=0)
        lines.append(f"requests: {len(self.asked)}, the slowest {slowest:.1f} s; failed: {sum(failed.values())}")
        for (kind, status), count in sorted(failed.items(), key=str):
            lines.append(f"  {kind} {status}: {count}")
        lines.append("acknowledged: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.done.items())))
        return lines
